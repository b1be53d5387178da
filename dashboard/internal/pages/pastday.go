package pages

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/shape"
	"github.com/chimejobs/chime/internal/svg"
)

const (
	pastDays    = 35     // number of days for which a schedule counts the outcomes of its occurrences
	maxInstants = 20_000 // number of past and of future instants that a page computes
	maxFates    = 200    // number of listed occurrences of a day
)

// A PastDay summarizes a day of a schedule.
type PastDay struct {
	Day     time.Time // its beginning, in the time zone of the page
	Date    string    // in the form of the page's address
	Planned string    // number of occurrences; empty: too many to count
	Became  []Became  // their outcomes, worst first
	UTC     bool      // the counts are those of the same date in UTC, because single runs are not kept
	First   *Fate     // the worst occurrence with details; nil: none
	Same    []PastDay // the days before it with the same problem, newest first
}

// A DayCell is one of the last days in a row of small cells.
type DayCell struct {
	Day  time.Time
	Date string
	Tone string // ok, run, late, fail or off
	Mark string // a sign for those who do not see the colour; empty: all is well
	Text string // what has become of its occurrences
}

// Became is the number of occurrences with an outcome, or of failed attempts.
type Became struct {
	Word     string
	N        int
	tone     svg.Tone
	attempts bool // N counts attempts, of which an occurrence may have several
}

// Text returns the number and what it counts.
func (b Became) Text() string {
	if b.attempts {
		return format.Plural(b.N, "failed attempt", "failed attempts")
	}
	return format.Count(b.N) + " " + b.Word
}

// dayFormat is the format of a day in a query.
const dayFormat = "2006-01-02"

// dayBegin returns the beginning of the day that is the given number of days after the day of an instant, in a zone.
func dayBegin(at time.Time, zone *time.Location, later int) time.Time {
	at = at.In(zone)
	return time.Date(at.Year(), at.Month(), at.Day()+later, 0, 0, 0, 0, zone)
}

// pastDays returns the last days with problems, newest first; the number of other days with planned occurrences; and a cell for each day, oldest first.
func (p *past) pastDays(zone *time.Location) (days []PastDay, well int, cells []DayCell) {
	left := maxInstants
	for back := range pastDays {
		begin, end := dayBegin(p.now, zone, -back), dayBegin(p.now, zone, 1-back)
		if end.Before(p.of.Created) {
			break
		}
		instants, whole := p.instants(begin, end, left)
		left -= len(instants)
		day, any := p.day(begin, end, instants, whole)
		cells = append(cells, day.cell(any))
		switch {
		case any && !day.well():
			days = append(days, day)
		case any:
			well++
		}
	}
	slices.Reverse(cells)
	return folded(days), well, cells
}

// cell returns the cell of a day. any: something was planned or ran.
func (d *PastDay) cell(any bool) DayCell {
	c := DayCell{Day: d.Day, Date: d.Date, Tone: "off", Text: "nothing was planned"}
	if !any {
		return c
	}
	c.Tone, c.Text = "ok", ""
	worst := svg.OK
	for i, b := range d.Became {
		if i > 0 {
			c.Text += ", "
		}
		c.Text += b.Text()
		worst = max(worst, b.tone)
	}
	switch {
	case worst == svg.Fail:
		c.Tone, c.Mark = "fail", "✕"
	case !d.well():
		c.Tone, c.Mark = "late", "!"
	}
	return c
}

// folded merges days with the same problem that follow each other: a schedule that fails each day in the same way has one row.
func folded(days []PastDay) (all []PastDay) {
	for _, day := range days {
		if n := len(all); n > 0 && all[n-1].problem() == day.problem() {
			all[n-1].Same = append(all[n-1].Same, day)
			continue
		}
		all = append(all, day)
	}
	return all
}

// problem returns what days with the same problem have in common: the outcomes, and the error of the worst occurrence.
func (d *PastDay) problem() string {
	var parts []string
	for _, b := range d.Became {
		parts = append(parts, b.Word)
	}
	slices.Sort(parts)
	if d.First != nil && d.First.Run != nil {
		parts = append(parts, shape.Of(d.First.Run.Error))
	}
	return strings.Join(parts, "\n")
}

// well reports whether all occurrences ended well or are still running.
func (d *PastDay) well() bool {
	return !slices.ContainsFunc(d.Became, func(b Became) bool { return b.tone > svg.Run || b.Word == notKept })
}

// day sums up a day. any is false if nothing was planned or ran.
func (p *past) day(begin, end time.Time, instants []time.Time, whole bool) (d PastDay, any bool) {
	d = PastDay{Day: begin, Date: begin.Format(dayFormat)}
	switch {
	case whole && p.changedAfter(begin):
		d.Planned = fmt.Sprintf("at least %d", len(instants))
	case whole:
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

// fillCounted fills in the counts of a day in UTC. Occurrences that were planned on that day but not counted did not run.
func (p *past) fillCounted(d *PastDay, counted []Became) {
	d.UTC, d.Became, d.Planned = true, counted, ""
	begin, err := time.Parse(dayFormat, d.Date)
	if err != nil || p.changedAfter(begin) {
		return // what was planned is not known
	}
	instants, whole := p.instants(begin, begin.Add(24*time.Hour), maxInstants)
	if !whole {
		return
	}
	d.Planned = fmt.Sprint(len(instants))
	left := len(instants)
	for _, b := range counted {
		if b.attempts && p.of.MaxAttempts != 1 {
			return // it is not known how many occurrences had them
		}
		left -= b.N
	}
	if left > 0 {
		d.Became = append([]Became{{Word: noRecord, N: left, tone: svg.Missed}}, counted...)
	}
}

// worstOf returns the worst outcome of the instants with kept runs, or nil.
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

// countedOn returns the schedule's counts of a day in UTC, or nil.
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

// becameOf returns a day's counts, worst first.
func becameOf(day chime.RunDay) []Became {
	return []Became{
		{string(chime.RunFailed), day.Failed, svg.Fail, true}, {string(chime.RunMissed), day.Missed, svg.Missed, false}, {string(chime.RunSkipped), day.Skipped, svg.Off, false},
		{string(chime.RunDone), day.Done, svg.OK, false},
	}
}

// An AskedDay has each occurrence of a requested day.
type AskedDay struct {
	Day     time.Time
	Date    string
	Fates   []Fate    // occurrences planned until now
	Coming  []Coming  // occurrences planned from now on
	More    bool      // there are more than the list shows
	Counted PastDay   // the schedule's counts of the same date in UTC
	Before  time.Time // the last planned time before the day; zero: none
	After   time.Time // the first planned time after the day; zero: none
	Why     string    // why nothing is planned on it; empty: something is planned
}

// askedDay returns everything about a day.
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
	if at, ok := p.series.Prev(day); ok && at.After(p.ruled) {
		a.Before = at
	} else if i := slices.IndexFunc(p.gaps, func(g gap) bool { return !g.planned.Before(day) }); i != 0 && len(p.gaps) > 0 {
		a.Before = p.gaps[cmp.Or(max(i, 0), len(p.gaps))-1].planned
	}
	a.After, _ = p.series.Next(end.Add(-time.Nanosecond))
	switch {
	case len(a.Fates) > 0 || len(a.Coming) > 0:
	case !end.After(p.of.Created):
		a.Why = "The schedule did not exist yet."
	case p.changedAfter(end):
		a.Why = "No run of this day is kept. What was planned is not known, because the schedule was changed, paused or resumed later."
	case p.of.State != chime.StateLive && end.After(p.now):
		a.Why = "The schedule is " + string(p.of.State) + ": nothing is planned."
	default:
		a.Why = "The rule plans nothing on this day."
	}
	return a
}
