package schedule

import "time"

const (
	maxZoneChange = 3 * time.Hour // how far new time zone data may move an occurrence to count as the same one
	minZoneGap    = 6 * time.Hour // the least time between such an occurrence and the others of its rule
)

// MovedTo reports whether planned, which was computed with older time zone data, is an occurrence that the rule now has at a later instant.
// It returns that instant if it is after taken, so that it is placed next. planned was taken for the first time.
//
// In this case the occurrence at planned must not run: it would run too early, and again at the right time. It is moved only if, by the data here,
// the rule has no instant at planned, exactly one from minZoneGap before planned to maxZoneChange after it, and no other for minZoneGap after that
// one. A process
// with the old data finds planned in the six hours before the new instant, and does not move it again. If the worker ends after its settlement
// and before the placement, and a leader with the old data places the next occurrence, this one remains missed: its history says so.
//
// Other instants that a rule does not have are not moved: the run at creation, and an occurrence that was due before the definition changed.
func (p *Plan) MovedTo(planned, taken time.Time) (to time.Time, moved bool) {
	to, ok := p.series.Next(planned.Add(-time.Nanosecond))
	if !ok || to.Equal(planned) || to.Location() == time.UTC || to.Sub(planned) > maxZoneChange || !p.due(to).After(taken) {
		return time.Time{}, false
	}
	if !planned.After(p.Created) || !planned.After(time.UnixMicro(p.Revision)) {
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
