package retry

import (
	"context"
	"time"
)

// A Duty is a recurring task of a loop. Do returns how long to wait for the next time. After a failure the next time is soon, and after each
// further consecutive failure it is later. It belongs to the loop's goroutine.
type Duty struct {
	Action string // a verb, for the log
	Do     func(ctx context.Context) (again time.Duration, err error)
	Next   time.Time // not before this instant

	failures int // consecutive failures; each makes the next time later, up to maxDutyDelay
}

// DutyTimeout is how long one turn of a duty may take.
const DutyTimeout = 30 * time.Second

// Never is the wait of a duty that only Now makes due.
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

// Reached reports whether an instant has come, by the monotonic clock or by the wall clock. One clock alone is not enough: the monotonic clock
// stops while a machine sleeps, and the wall clock may be set back.
func Reached(at, now time.Time) bool {
	return !now.Before(at) || !now.Round(0).Before(at.Round(0))
}
