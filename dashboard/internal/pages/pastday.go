package pages

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/svg"
)

const (
	pastDays    = 35     // of which a schedule counts what became of its occurrences
	maxInstants = 20_000 // of the past and of what is to come, each, that a page computes
	maxFates    = 200    // of a day that are listed
)

// A PastDay is how a day of a schedule went.
type PastDay struct {
	Day     time.Time // its beginning, in the zone that is shown
	Date    string    // as the address of the page has it
	Planned string    // occurrences; empty: too many to be counted
	Became  []Became  // what became of them, the worst first
	UTC     bool      // they are counts of the day of this date in UTC, of which single runs are not kept
	First   *Fate     // the worst of them, of which more can be said; nil: there is none
}

// Became is how many occurrences became what.
type Became struct {
	Word string
	N    int
	tone svg.Tone
}

// dayFormat is how a query names a day.
const dayFormat = "2006-01-02"

// dayBegin is when the day of an instant begins in a zone, and when the one begins that is so many days later.
func dayBegin(at time.Time, zone *time.Location, later int) time.Time {
	at = at.In(zone)
	return time.Date(at.Year(), at.Month(), at.Day()+later, 0, 0, 0, 0, zone)
}

// pastDays are the last days on which not all went well, the newest first, and how many others there are on which something was planned.
func (p *past) pastDays(zone *time.Location) (days []PastDay, well int) {
	left := maxInstants
	for back := range pastDays {
		begin, end := dayBegin(p.now, zone, -back), dayBegin(p.now, zone, 1-back)
		if end.Before(p.of.Created) {
			break
		}
		instants, whole := p.instants(begin, end, left)
		left -= len(instants)
		day, any := p.day(begin, end, instants, whole)
		switch {
		case any && !day.well():
			days = append(days, day)
		case any:
			well++
		}
	}
	return days, well
}

// well reports whether all ended well, or goes on.
func (d *PastDay) well() bool {
	return !slices.ContainsFunc(d.Became, func(b Became) bool { return b.tone > svg.Run || b.Word == notKept })
}

// day sums up a day. any is false if nothing was planned or ran.
func (p *past) day(begin, end time.Time, instants []time.Time, whole bool) (d PastDay, any bool) {
	d = PastDay{Day: begin, Date: begin.Format(dayFormat)}
	if whole {
		d.Planned = fmt.Sprint(len(instants))
	}
	forgotten := !whole || len(instants) > 0 && instants[0].Before(p.kept)
	if counted := p.countedOn(d.Date); forgotten && counted != nil {
		p.fillCounted(&d, counted)
		d.First = p.worstOf(instants)
		return d, true
	}
	n := map[string]*Became{}
	for _, at := range instants {
		fate := p.fate(at)
		b := n[fate.State.Word]
		if b == nil {
			b = &Became{Word: fate.State.Word, tone: fate.tone}
			n[b.Word] = b
		}
		b.N++
		if fate.tone > svg.OK && (d.First == nil || fate.tone > d.First.tone) {
			d.First = &fate
		}
	}
	for _, b := range n {
		d.Became = append(d.Became, *b)
	}
	slices.SortFunc(d.Became, func(a, b Became) int {
		if a.tone != b.tone {
			return int(b.tone) - int(a.tone)
		}
		return strings.Compare(a.Word, b.Word)
	})
	return d, len(instants) > 0 || !whole
}

// fillCounted fills in what was counted on a day of UTC. What was planned then and is not counted did not run.
func (p *past) fillCounted(d *PastDay, counted []Became) {
	d.UTC, d.Became, d.Planned = true, counted, ""
	begin, err := time.Parse(dayFormat, d.Date)
	if err != nil {
		return
	}
	instants, whole := p.instants(begin, begin.Add(24*time.Hour), maxInstants)
	if !whole {
		return
	}
	d.Planned = fmt.Sprint(len(instants))
	left := len(instants)
	for _, b := range counted {
		left -= b.N // of those that failed each attempt is counted: then more may be left than is said
	}
	if left > 0 {
		d.Became = append([]Became{{noRecord, left, svg.Missed}}, counted...)
	}
}

// worstOf is the worst fate of those instants of which runs are kept; nil: there is none.
func (p *past) worstOf(instants []time.Time) (worst *Fate) {
	for _, at := range instants {
		if len(p.ran[at.Unix()]) == 0 {
			continue
		}
		if fate := p.fate(at); fate.tone > svg.OK && (worst == nil || fate.tone > worst.tone) {
			worst = &fate
		}
	}
	return worst
}

// countedOn is what the schedule has counted on a day in UTC; nil: nothing.
func (p *past) countedOn(date string) (all []Became) {
	for _, day := range p.days {
		if day.Day.UTC().Format(dayFormat) != date {
			continue
		}
		for _, b := range becameOf(day) {
			if b.N > 0 {
				all = append(all, b)
			}
		}
	}
	return all
}

// becameOf is a day's counts, the worst first.
func becameOf(day chime.RunDay) []Became {
	return []Became{
		{string(chime.RunFailed), day.Failed, svg.Fail}, {string(chime.RunMissed), day.Missed, svg.Missed}, {string(chime.RunSkipped), day.Skipped, svg.Off},
		{string(chime.RunDone), day.Done, svg.OK},
	}
}

// An AskedDay is the day that somebody asked for, occurrence by occurrence.
type AskedDay struct {
	Day     time.Time
	Date    string
	Fates   []Fate    // of what was planned until now
	Coming  []Coming  // what is planned from now on
	More    bool      // there are more than are listed
	Counted PastDay   // what the schedule has counted on the day of this date in UTC
	Before  time.Time // when it was planned last before the day; zero: never
	After   time.Time // when it is planned first after it; zero: never
	Why     string    // nothing is planned on it, because of this; empty: something is
}

// askedDay says all about a day.
func (p *past) askedDay(day time.Time) *AskedDay {
	end := dayBegin(day, day.Location(), 1)
	a := &AskedDay{Day: day, Date: day.Format(dayFormat), Counted: PastDay{Date: day.Format(dayFormat)}}
	if counted := p.countedOn(a.Date); counted != nil {
		p.fillCounted(&a.Counted, counted)
	}
	instants, whole := p.instants(day, end, maxFates)
	a.More = !whole
	for _, at := range instants {
		a.Fates = append(a.Fates, p.fate(at))
	}
	from := p.now.Add(time.Second)
	if day.After(from) {
		from = day
	}
	if p.of.State == chime.StateLive {
		for at := range p.series.Between(from, end) {
			if len(a.Coming) == maxFates {
				a.More = true
				break
			}
			a.Coming = append(a.Coming, Coming{at, at.Add(p.of.Offset)})
		}
	}
	if at, ok := p.series.Prev(day); ok && !at.Before(p.of.Created.Truncate(time.Second)) {
		a.Before = at
	}
	a.After, _ = p.series.Next(end.Add(-time.Nanosecond))
	switch {
	case len(a.Fates) > 0 || len(a.Coming) > 0:
	case !end.After(p.of.Created):
		a.Why = "The schedule was not there yet."
	case p.of.State != chime.StateLive && end.After(p.now):
		a.Why = "The schedule is " + string(p.of.State) + ": nothing is planned."
	default:
		a.Why = "The rule plans nothing on this day."
	}
	return a
}
