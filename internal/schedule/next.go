package schedule

import (
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	catchUpWindow = 24 * time.Hour // how far back missed occurrences are caught up
	maxCatchUp    = 100            // how many of them, with the one that was late
	maxMissed     = 1_000_000      // the most that one placement counts as missed
)

// late reports whether an occurrence taken at an instant missed its own: by more than the grace, which is at most the time to
// the following occurrence.
func (p *Plan) late(planned, taken time.Time) bool {
	grace := p.Grace
	if next, ok := p.series.Next(planned); ok {
		grace = min(grace, next.Sub(planned))
	}
	return taken.Sub(planned) > grace
}

// Runs reports whether an occurrence that was taken for the first time runs; false: it counts as missed.
func (p *Plan) Runs(planned, taken time.Time) bool {
	switch {
	case p.Misfire == MisfireSkip:
		return !p.late(planned, taken)
	case p.Misfire == MisfireCatchUp:
		return taken.Sub(planned) <= catchUpWindow || !p.late(planned, taken)
	}
	return true
}

// Next computes what follows the cursor of an owed schedule. Every process computes the same at any time: the result depends on the
// definition, the cursor and the instant since when the schedule is owed, and never on the time of the computation.
//
// The store decides how many runs are left, so an occurrence is proposed even if none may be left. After the last run nothing counts
// as missed or caught up, because nothing was to follow it. (If the last one is given back, its schedule is owed again, and then all
// of it counts.)
func (p *Plan) Next(o protocol.Owed) protocol.Placement {
	placement := protocol.Placement{
		Partition: o.Partition, Name: o.Name, Revision: p.Revision, Cursor: o.Cursor, Count: p.Recurrence.Count,
	}
	at, since := o.Cursor.At, o.Since
	switch {
	case at.IsZero():
		placement.Instants = instants(p.first())
	case !o.Cursor.Placed, !p.late(at, since):
		placement.Instants = instants(p.series.Next(at))
	case p.Misfire == MisfireCatchUp:
		p.catchUp(&placement, at, since)
	default:
		placement.Missed = p.count(at, since)
		placement.Instants = instants(p.series.Next(since))
	}
	if count := p.Recurrence.Count; count > 0 && o.Cursor.Used >= count {
		placement.Missed, placement.CaughtUp = 0, 0
	}
	return placement
}

// instants is one instant or none.
func instants(next time.Time, ok bool) []time.Time {
	if !ok {
		return nil
	}
	return []time.Time{next}
}

// first is a schedule's first run by the table of package recurrence, without the run at creation if NoImmediateRun is set.
func (p *Plan) first() (time.Time, bool) {
	first, ok := p.series.First()
	if !ok || !p.NoImmediateRun {
		return first, ok
	}
	r := p.Recurrence
	calendar := r.Cron != "" && !strings.Contains(r.Cron, "@every") // an @every begins at creation, as a frequency does
	atOnce := !calendar && r.StartTime.IsZero() || r.Cron == "" && r.Frequency == 0 && r.StartTime.Before(p.Created)
	if !atOnce || first.After(p.Created) {
		return first, true
	}
	if r.Cron == "" && r.Frequency == 0 {
		return time.Time{}, false
	}
	return p.series.Next(p.Created)
}

// catchUp places the occurrences that were missed after at and until since: the newest within window and limit, oldest first. The
// one at the cursor is the hundredth: the worker that took it runs it, unless it is older than the window. (If a newer one replaced
// it, what runs would depend on when the others of the hundred are taken.)
func (p *Plan) catchUp(placement *protocol.Placement, at, since time.Time) {
	from := at.Add(time.Nanosecond)
	if window := since.Add(-catchUpWindow); from.Before(window) {
		from = window
		placement.Missed = p.count(at, window.Add(-time.Nanosecond))
	}
	kept := make([]time.Time, 0, maxCatchUp)
	oldest := 0 // index of the oldest, once kept is full
	for next := range p.series.Between(from, since.Add(time.Nanosecond)) {
		if len(kept) < maxCatchUp-1 {
			kept = append(kept, next)
			continue
		}
		kept[oldest] = next
		oldest = (oldest + 1) % len(kept)
		placement.Missed++
	}
	placement.Missed = min(placement.Missed, maxMissed)
	placement.Instants = append(append(placement.Instants, kept[oldest:]...), kept[:oldest]...)
	placement.CaughtUp = len(kept)
	if len(kept) == 0 {
		placement.Instants = instants(p.series.Next(since))
	}
}

// count counts the rule's instants after from and until to.
func (p *Plan) count(from, to time.Time) int {
	n := 0
	for range p.series.Between(from.Add(time.Nanosecond), to.Add(time.Nanosecond)) {
		if n++; n == maxMissed {
			break
		}
	}
	return n
}
