package retry

import (
	"context"
	"time"
)

// A Duty is something that a loop does again and again. It says itself when the next time is; when it fails, the next time is
// soon, and later after each failure in a row. It belongs to the loop's goroutine.
type Duty struct {
	Action string // a verb, for the log
	Do     func(ctx context.Context) (again time.Duration, err error)
	Next   time.Time // not before

	failures int
}

const dutyTimeout = 30 * time.Second

// Never is the wait of a duty that is done only when somebody asks for it.
const Never = 100 * 365 * 24 * time.Hour

// Now has the duty done at the loop's next turn.
func (d *Duty) Now() { d.Next = time.Time{} }

// Retry has a duty that failed done at the loop's next turn.
func (d *Duty) Retry() {
	if d.failures > 0 {
		d.Now()
	}
}

// Turn does the duty if it is time to, and logs an outage of the store.
func (d *Duty) Turn(ctx context.Context, outage *Outage) {
	if ctx.Err() != nil || !Reached(d.Next, time.Now()) {
		return
	}
	limited, cancel := context.WithTimeout(ctx, dutyTimeout)
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
	d.Next = now.Add(Delay(d.failures))
	if ctx.Err() == nil {
		outage.Begin(d.Action, d.Action, err, now)
	}
}

// Reached reports whether an instant has come, by the monotonic clock or by the wall clock: while a machine sleeps the first
// stands still, and the second may be set back.
func Reached(at, now time.Time) bool {
	return !now.Before(at) || !now.Round(0).Before(at.Round(0))
}
