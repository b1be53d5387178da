package schedule

import (
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	catchUpWindow = 24 * time.Hour // how far back missed occurrences are caught up
	maxCatchUp    = 100            // how many missed occurrences are caught up, including the one that was late
	maxMissed     = 1_000_000      // the maximum that one placement counts as missed
)

// due returns when an occurrence is due.
func (p *Plan) due(planned time.Time) time.Time { return planned.Add(p.Offset) }

// lastDue returns the instant up to which planned instants are due now.
func (p *Plan) lastDue(now time.Time) time.Time { return now.Add(-p.Offset) }

// late reports whether an occurrence that is taken at an instant is late by more than the grace, which is at most the time to the following
// occurrence.
func (p *Plan) late(planned, taken time.Time) bool {
	grace := p.Grace
	if next, ok := p.series.Next(planned); ok {
		grace = min(grace, next.Sub(planned))
	}
	return taken.Sub(p.due(planned)) > grace
}

// Runs reports whether an occurrence that was taken for the first time runs; otherwise it counts as missed.
func (p *Plan) Runs(planned, taken time.Time) bool {
	switch {
	case p.Misfire == MisfireSkip:
		return !p.late(planned, taken)
	case p.Misfire == MisfireCatchUp:
		return taken.Sub(p.due(planned)) <= catchUpWindow || !p.late(planned, taken)
	}
	return true
}

// Next computes what follows the cursor of an owed schedule. Every process computes the same result at any time. The result depends on the
// definition, the cursor and the instant since when the schedule is owed. It does not depend on the time of the computation.
//
// The store decides how many runs are left, so an occurrence is proposed even if none may be left. After the last run nothing counts as missed or
// caught up, because no run was due to follow it. (If the last occurrence is given back, its schedule is owed again, and then everything counts.)
func (p *Plan) Next(o protocol.Owed) protocol.Placement {
	placement := protocol.Placement{
		Partition: o.Partition, Name: o.Name, Revision: p.Revision, Cursor: o.Cursor, Count: p.Recurrence.Count, Offset: p.Offset, Group: p.Group,
		Owed: max(o.Now.Sub(o.Since), 0),
	}
	since := p.lastDue(o.Since)
	at, counted := p.position(&o)
	switch {
	case at.IsZero():
		placement.Instants = instants(p.first())
	case !o.Cursor.Placed && p.Misfire == MisfireCatchUp:
		p.catchUp(&placement, at, since, maxCatchUp)
	case !o.Cursor.Placed, !p.late(counted, o.Since):
		placement.Instants = instants(p.series.Next(at))
	case p.Misfire == MisfireCatchUp:
		p.catchUp(&placement, at, since, maxCatchUp-1) // the occurrence at the cursor runs too
	default:
		placement.Missed = p.count(at, since)
		placement.Instants = instants(p.series.Next(latest(at, since)))
	}
	if counted.Before(o.Cursor.At) { // what the rule has until then is not placed any more
		placement.Missed += p.count(counted, o.Cursor.At)
	}
	p.addZone(&placement)
	if count := p.Recurrence.Count; count > 0 && o.Cursor.Used >= count {
		placement.Missed, placement.CaughtUp = 0, 0
	}
	return placement
}

// OwedBy returns what a schedule is owed, or will be owed when its waiting occurrence is taken.
func OwedBy(found *protocol.Stored) protocol.Owed {
	since := found.Since
	if since.IsZero() || since.After(found.Now) { // postponed
		since = found.Now
	}
	return protocol.Owed{Partition: found.Partition, Name: found.Name, Definition: found.Definition, Cursor: found.Cursor, Since: since, Now: found.Now}
}

// UpcomingOf computes the same as Upcoming for a schedule as it is stored. A cancelled occurrence at the cursor is not included.
func (p *Plan) UpcomingOf(found *protocol.Stored, n int) []time.Time {
	owed := OwedBy(found)
	if found.Void {
		owed.Since = latest(p.due(owed.Cursor.At), found.Now)
	}
	return p.Upcoming(owed, found.Waiting, n)
}

// Upcoming computes the planned instants of the next n runs, as they will be placed if each is taken at its instant, or now if that has passed.
// There are fewer if the rule ends earlier, and none unless the schedule is live. o is what the schedule is owed. waiting means that it is owed
// nothing yet, because the occurrence at its cursor is placed and was not taken: then that one is the first.
func (p *Plan) Upcoming(o protocol.Owed, waiting bool, n int) []time.Time {
	if p.State != protocol.StateLive {
		return nil
	}
	var times []time.Time
	zone := time.UTC // the zone of the rule; what is placed is stored without one
	if at, ok := p.series.Next(p.Created); ok {
		zone = at.Location()
	}
	take := func() {
		o.Since = latest(p.due(o.Cursor.At), o.Now)
		if p.Runs(o.Cursor.At, o.Since) {
			times = append(times, o.Cursor.At.In(zone))
		} else {
			o.Cursor.Used-- // it will be missed, and its run does not count
		}
	}
	if waiting {
		take()
	}
	for len(times) < n && (p.Recurrence.Count == 0 || o.Cursor.Used < p.Recurrence.Count) {
		next := p.Next(o)
		if len(next.Instants) == 0 {
			break
		}
		o.Cursor = protocol.Cursor{At: next.Instants[0], Used: o.Cursor.Used + 1, Placed: true, CaughtUp: next.CaughtUp > 0}
		take()
	}
	return times
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// instants returns next as a slice, which is empty if ok is false.
func instants(next time.Time, ok bool) []time.Time {
	if !ok {
		return nil
	}
	return []time.Time{next}
}

// first returns a schedule's first run by the table of package recurrence.
func (p *Plan) first() (time.Time, bool) { return p.series.First() }

// RunsAtCreation reports whether the first occurrence is planned for the instant of the schedule's creation, or before it.
func (p *Plan) RunsAtCreation() bool {
	first, ok := p.first()
	return ok && !first.After(p.Created)
}

// catchUp places one of the occurrences that were missed after at and until since, both planned instants. Of the newest max within the window it
// places the oldest. They are placed one at a time, each after the end of the one before, so the rest are found again then.
func (p *Plan) catchUp(placement *protocol.Placement, at, since time.Time, max int) {
	from := at.Add(time.Nanosecond)
	if window := since.Add(-catchUpWindow); from.Before(window) {
		from = window
		placement.Missed = p.count(at, window.Add(-time.Nanosecond))
	}
	var newest [maxCatchUp]time.Time // a ring of the last max instants
	n := 0
	for next := range p.series.Between(from, since.Add(time.Nanosecond)) {
		newest[n%max] = next
		n++
	}
	switch {
	case n == 0:
		placement.Instants = instants(p.series.Next(since))
		return
	case n > max:
		placement.Missed += n - max
		placement.Instants = instants(newest[n%max], true)
	default:
		placement.Instants = instants(newest[0], true)
	}
	placement.Missed = min(placement.Missed, maxMissed)
	placement.CaughtUp = 1
}

// Gap computes what a schedule skips that continues from now, with this rule or another one. missed is how many instants of this rule after the
// cursor were due. from is the planned instant from which the schedule continues. That is now; or, if that is earlier, the second before the
// first instant that is not due yet: an instant that is planned and still to come is not lost. A schedule that has completed misses nothing.
func (p *Plan) Gap(c protocol.Cursor, now time.Time) (missed int, from time.Time) {
	now = now.Truncate(time.Second)
	due := p.lastDue(now)
	from = now
	if next, ok := p.series.Next(due); ok && p.Offset > 0 && !next.After(now) {
		from = next.Add(-time.Second)
	}
	if first, ok := p.first(); ok && c.At.IsZero() && !first.After(now) {
		due = latest(due, first) // the run at creation is planned before from, even if it is not due
	}
	return p.missedUntil(c, due), from
}

// After returns the first instant of the rule after a cursor; zero if there is no later one.
func (p *Plan) After(c protocol.Cursor) (next time.Time) {
	if c.At.IsZero() {
		next, _ = p.first()
		return next
	}
	next, _ = p.series.Next(c.At)
	return next
}

// missedUntil counts the remaining runs of the rule after the cursor and until a planned instant.
func (p *Plan) missedUntil(c protocol.Cursor, until time.Time) int {
	if p.State == protocol.StateCompleted || p.Recurrence.Count > 0 && c.Used >= p.Recurrence.Count {
		return 0
	}
	if !c.At.IsZero() {
		return p.count(c.At, until)
	}
	first, ok := p.first()
	if !ok || first.After(until) {
		return 0
	}
	return min(1+p.count(first, until), maxMissed)
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
