package pages

import (
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// Coming is a future occurrence.
type Coming struct{ Planned, Due time.Time }

// coming returns the instants in [from, to) for which a schedule plans occurrences. A schedule that does not run has none, and its count limits
// their number. If there are more than most, until is the instant up to which they are complete.
func coming(of *chime.Schedule, series *recurrence.Series, from, to time.Time, most int) (all []time.Time, until time.Time) {
	if of.State != chime.StateLive {
		return nil, to
	}
	left := most
	if count := of.Recurrence.Count; count > 0 {
		if of.Next.After(from) {
			left = 1 // it is placed, so it is already counted
		} else {
			left = 0
		}
		left = min(most, left+max(0, count-of.Used))
	}
	for at := range series.Between(from, to) {
		if len(all) == left {
			if left < most {
				return all, to // its count is used up
			}
			return all, at
		}
		all = append(all, at)
	}
	return all, to
}
