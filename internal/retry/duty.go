package retry

import (
	"context"
	"time"
)

// A Duty is something that a loop does again and again. Do returns how long until the next time. After a failure the next time is
// soon, and after each further failure in a row it is later. It belongs to the loop's goroutine.
type Duty struct {
	Action string // a verb, for the log
	Do     func(ctx context.Context) (again time.Duration, err error)
	Next   time.Time // not before

	failures int // in a row; after each the next time is later, up to maxDutyDelay
}

// DutyTimeout is how long one turn of a duty may take.
const DutyTimeout = 30 * time.Second

// Never is the wait of a duty that is done only after Now.
const Never = 100 * 365 * 24 * time.Hour

// Now makes the duty due at the loop's next turn.
func (d *Duty) Now() { d.Next = time.Time{} }

// Retry makes the duty due at the loop's next turn if it failed last time.
func (d *Duty) Retry() {
	if d.failures > 0 {
		d.Now()
	}
}

// Turn does the duty if it is due, and logs an outage of the store.
func (d *Duty) Turn(ctx context.Context, outage *Outage) {
	if ctx.Err() != nil || !Reached(d.Next, time.Now()) {
		return
	}
	limited, cancel := context.WithTimeout(ctx, DutyTimeout)
	defer cancel()
	again, err := d.Do(limited)
	now := time.Now()
	if err == nil {
		d.failures = 0
		d.Next = now.Add(again)
		outage.End(d.Action, now)
		return
	}
	d.failures++
	d.Next = now.Add(delay(d.failures, maxDutyDelay))
	if ctx.Err() == nil {
		outage.Begin(d.Action, d.Action, err, now)
	}
}

// Reached reports whether an instant has come, by the monotonic clock or by the wall clock. One alone is not enough: the monotonic
// clock stands still while a machine sleeps, and the wall clock may be set back.
func Reached(at, now time.Time) bool {
	return !now.Before(at) || !now.Round(0).Before(at.Round(0))
}
