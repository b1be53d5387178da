package pages

import (
	"cmp"
	"slices"
	"time"

	"github.com/chimejobs/chime"
)

const (
	planAhead      = 7 * 24 * time.Hour
	maxPlanned     = 250_000     // maximum number of computed instants
	planFor        = time.Minute // how long a plan is used
	maxBusiest     = 10
	maxAtOneMoment = 5 // number of schedules that are named for a busy instant

	steadyEvery = 10 * time.Minute // the charts have bars of this time: a schedule that is in each of them hides the others
	steadyFrom  = 144              // occurrences: a day of such bars
)

// A plan has the occurrences of a store's schedules in the next seven days.
type plan struct {
	from    time.Time // its beginning, in whole seconds
	entries []planned // in order
	names   []string  // names of schedules
	cut     []planCut // schedules that are not counted to the end, shortest first
	steady  []steady  // schedules that run all the time; entries has none of their occurrences
	paused  int       // number of schedules that do not run; they are not counted
	unread  int       // number of schedules that cannot be read; they are not counted
	whole   bool      // the plan has all schedules
}

// planned is an occurrence.
type planned struct {
	after int32 // seconds after the beginning of the plan
	of    int32 // index of the schedule in names
}

// A planCut is the instant until which the occurrences of a schedule are counted.
type planCut struct {
	Name  string
	Until time.Time
}

// A steady schedule runs all the time, such as every minute.
type steady struct {
	Name, Words string
	every       time.Duration // about
}

// newPlan computes a plan with at most the given number of instants. Each schedule has the same share; unused shares go to other schedules.
func newPlan(listing Listing, from time.Time, most int) *plan {
	p := &plan{from: from.Truncate(time.Second), whole: listing.Whole}
	type open struct {
		of     *chime.Schedule
		name   int32
		behind time.Time // instants until then are counted
		first  time.Time
		n      int // number of its instants
	}
	steadies := map[int32]bool{}
	var turns []*open
	for _, one := range listing.Schedules {
		switch {
		case one.Unread != nil:
			p.unread++
		case one.State != chime.StateLive:
			p.paused++
		default:
			turns = append(turns, &open{of: one.Schedule, name: int32(len(p.names)), behind: p.from})
			p.names = append(p.names, one.Name)
		}
	}
	to := p.from.Add(planAhead)
	for len(turns) > 0 && most >= len(turns) {
		share := most / len(turns)
		turns = slices.DeleteFunc(turns, func(o *open) bool {
			series, err := o.of.Recurrence.Series(o.of.Created)
			if err != nil {
				p.unread++
				return true
			}
			instants, until := coming(o.of, series, o.behind, to.Add(-o.of.Offset), share)
			for _, at := range instants {
				p.entries = append(p.entries, planned{int32(at.Add(o.of.Offset).Sub(p.from) / time.Second), o.name})
			}
			most -= len(instants)
			o.behind = until
			if o.n += len(instants); o.n == len(instants) && o.n > 0 {
				o.first = instants[0]
			}
			if o.n >= steadyFrom {
				if every := instants[len(instants)-1].Sub(o.first) / time.Duration(o.n-1); every <= steadyEvery { // at least one is in this share
					p.steady = append(p.steady, steady{o.of.Name, o.of.Recurrence.String(), every})
					steadies[o.name] = true
					return true
				}
			}
			if len(instants) == share && o.of.Recurrence.Count > 0 { // another round would not know the rest of its count
				p.cut = append(p.cut, planCut{o.of.Name, until.Add(o.of.Offset)})
				return true
			}
			return len(instants) < share
		})
	}
	p.entries = slices.DeleteFunc(p.entries, func(e planned) bool { return steadies[e.of] })
	slices.SortStableFunc(p.steady, func(a, b steady) int { return cmp.Compare(a.every, b.every) })
	for _, o := range turns {
		p.cut = append(p.cut, planCut{o.of.Name, o.behind.Add(o.of.Offset)})
	}
	slices.SortStableFunc(p.cut, func(a, b planCut) int { return a.Until.Compare(b.Until) })
	slices.SortFunc(p.entries, func(a, b planned) int { return cmp.Or(cmp.Compare(a.after, b.after), cmp.Compare(a.of, b.of)) })
	return p
}

// counts returns the number of occurrences in each step from an instant on.
func (p *plan) counts(from time.Time, step time.Duration, steps int) []int {
	counts := make([]int, steps)
	for _, e := range p.entries {
		at := p.from.Add(time.Duration(e.after) * time.Second)
		if at.Before(from) {
			continue
		}
		i := int(at.Sub(from) / step)
		if i >= steps {
			break
		}
		counts[i]++
	}
	return counts
}

// A BusyInstant is an instant at which several schedules run.
type BusyInstant struct {
	At    time.Time
	N     int
	Names []string // some of them
	More  int      // number of others that are not named
}

// busiest returns the instants at which the most schedules run, busiest first; equally busy ones are in order of time.
func (p *plan) busiest() (all []BusyInstant) {
	type run struct{ begin, n int }
	var runs []run
	for i := 0; i < len(p.entries); {
		n := 1
		for i+n < len(p.entries) && p.entries[i+n].after == p.entries[i].after {
			n++
		}
		if n > 1 {
			runs = append(runs, run{i, n})
		}
		i += n
	}
	slices.SortStableFunc(runs, func(a, b run) int { return b.n - a.n })
	for _, r := range runs[:min(len(runs), maxBusiest)] {
		busy := BusyInstant{At: p.from.Add(time.Duration(p.entries[r.begin].after) * time.Second), N: r.n, More: max(0, r.n-maxAtOneMoment)}
		for _, e := range p.entries[r.begin : r.begin+r.n-busy.More] {
			busy.Names = append(busy.Names, p.names[e.of])
		}
		all = append(all, busy)
	}
	return all
}
