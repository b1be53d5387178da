package pages

import (
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// Coming is an occurrence to come.
type Coming struct{ Planned, Due time.Time }

// coming are the instants for which a schedule plans occurrences in [from, to), as it stands: none if it does not run, and no more than its count
// leaves. Of more than most it says until when they are complete.
func coming(of *chime.Schedule, series *recurrence.Series, from, to time.Time, most int) (all []time.Time, until time.Time) {
	if of.State != chime.StateLive {
		return nil, to
	}
	left := most
	if count := of.Recurrence.Count; count > 0 {
		if of.Next.After(from) {
			left = 1 // it is placed, and so counted, already
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
