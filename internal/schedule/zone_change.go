package schedule

import (
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A rule in a time zone is computed with the zone data of the process that places its next occurrence, and processes may have different data. The
// offset of the zone at the planned instant is stored with the occurrence, so its local time is known. Every process can compare that local time
// with its own data, at three points: the worker that takes the occurrence, the sweep of a leader, and a declaration.
//
//	its data have the same offset there       it runs as planned
//	the local time is at another instant,
//	  which is later than now                 it is withdrawn and placed again at that instant
//	  which has passed                        it runs now; what follows is computed as if it had been planned for that instant
//
// Invariant: of the occurrences of one local time at most one is taken, whichever processes plan, take and place. A process computes the next
// occurrence after the local time that is used up, and the store refuses one that is not later. A withdrawn occurrence has used up nothing, so it is
// placed again, at this or another instant, by whichever process comes first.

const (
	maxZoneChange = 3 * time.Hour // how far new time zone data may move an occurrence whose local time is not stored
	minZoneGap    = 6 * time.Hour // the least time between such an occurrence and the others of its rule
	zoneSearch    = 3 * time.Hour // how far from the expected instant a local time is searched: the offset may change in between
)

// HasLocalTimes reports whether the rule names times of day in a time zone.
func (p *Plan) HasLocalTimes() bool { return p.zone != nil }

// local returns the local time of an instant in the zone of the rule.
func (p *Plan) local(at time.Time) int64 {
	_, offset := at.In(p.zone).Zone()
	return at.Unix() + int64(offset)
}

// addZone adds the zone of the rule to a placement.
func (p *Plan) addZone(placement *protocol.Placement) {
	if p.zone == nil {
		return
	}
	placement.Zone = p.zone.String()
	for _, at := range placement.Instants {
		placement.Offsets = append(placement.Offsets, time.Duration(p.local(at)-at.Unix())*time.Second)
	}
}

// position returns the instant after which the occurrences of an owed schedule follow, and the instant from which the one at its cursor counts as
// late. The first is the cursor; or a later instant, if a local time is used up that the rule has at a later instant; or an earlier one, if the
// occurrence of a local time was withdrawn that the rule has at an earlier instant. The second is the cursor, or the instant at which the rule has the
// local time of the occurrence at it.
func (p *Plan) position(o *protocol.Owed) (at, counted time.Time) {
	at, counted = o.Cursor.At, o.Cursor.At
	if p.zone == nil || at.IsZero() {
		return at, counted
	}
	used, ok := o.Zoned.UsedUp(p.zone.String(), o.Cursor)
	switch {
	case o.Zoned.Zone == p.zone.String() && at.Before(o.Zoned.Planned): // it was withdrawn: by the data here its local time may have passed
		if instant, has := p.find(o.Zoned.Local(), at); has && !instant.After(at) {
			at = instant.Add(-time.Second)
		}
	case ok && o.Cursor.Placed && o.Zoned.Planned.Equal(at):
		if instant, moved := p.Moved(o.Zoned, at); moved && instant.Before(at) {
			counted = instant
		}
	case !ok && o.Cursor.Placed && o.Zoned.Planned.IsZero():
		if to, moved := p.likelyMoved(at); moved { // it was taken, so the later instant is its local time, which is used up
			return to, counted
		}
	}
	for next, more := p.series.Next(at); ok && more && p.local(next) <= used; next, more = p.series.Next(at) {
		at = next
	}
	return at, counted
}

// Moved returns the instant at which the rule has the local time of an occurrence by the data here, if it is not the planned one. It reports false if
// the data have the same offset at planned, or if the rule does not have that local time.
func (p *Plan) Moved(z protocol.Zoned, planned time.Time) (to time.Time, moved bool) {
	if p.zone == nil || !z.Planned.Equal(planned) || z.Zone != p.zone.String() || z.Local() == p.local(planned) {
		return time.Time{}, false
	}
	to, has := p.find(z.Local(), planned)
	return to, has && !to.Equal(planned)
}

// find returns the instant at which the rule has an occurrence of this local time; near is an instant not far from it.
func (p *Plan) find(local int64, near time.Time) (time.Time, bool) {
	expected := near.Add(time.Duration(local-p.local(near)) * time.Second)
	for at := range p.series.Between(expected.Add(-zoneSearch), expected.Add(zoneSearch)) {
		if p.local(at) == local {
			return at, true
		}
	}
	return time.Time{}, false
}

// Counted returns the instant from which an occurrence that was taken for the first time counts as late; and the later instant at which it must be
// placed again instead of running, if there is one. placed is what is stored with the schedule's next occurrence: that is this one.
func (p *Plan) Counted(z protocol.Zoned, planned, taken time.Time) (counted, later time.Time) {
	to, moved := p.Moved(z, planned)
	if z.Planned.IsZero() {
		to, moved = p.likelyMoved(planned)
	}
	switch {
	case !moved:
		return planned, time.Time{}
	case p.due(to).After(taken):
		return planned, to
	case to.Before(planned):
		return to, time.Time{}
	}
	return planned, time.Time{}
}

// likelyMoved returns the later instant at which the rule has an occurrence whose local time is not stored, because an older program has placed it.
// It does so only if by the data here the rule has no instant at planned, and exactly one within minZoneGap before planned and maxZoneChange after
// it, with minZoneGap behind it. A process with the other data finds planned in the six hours before the new instant, and does not move it again.
//
// Other instants that a rule does not have are not moved: the run at creation, and an occurrence that was due before the definition changed.
func (p *Plan) likelyMoved(planned time.Time) (to time.Time, moved bool) {
	if p.zone == nil || !planned.After(p.Created) || !planned.After(time.UnixMicro(p.Revision)) {
		return time.Time{}, false
	}
	to, ok := p.series.Next(planned.Add(-time.Nanosecond))
	if !ok || to.Equal(planned) || to.Sub(planned) > maxZoneChange {
		return time.Time{}, false
	}
	if first, ok := p.first(); ok && !planned.After(first) && !first.Equal(to) {
		return time.Time{}, false
	}
	if before, ok := p.series.Prev(planned); ok && planned.Sub(before) < minZoneGap {
		return time.Time{}, false
	}
	if after, ok := p.series.Next(to); ok && after.Sub(to) < minZoneGap {
		return time.Time{}, false
	}
	return to, true
}

// Back returns the instant to which a cursor goes back if its occurrence, which was planned for one instant, is placed again at another one.
func Back(planned, to time.Time) time.Time {
	if to.Before(planned) {
		planned = to
	}
	return planned.Add(-time.Second)
}
