// Package retry waits out a store that does not answer: how long to wait, what to log, and when to give up.
package retry

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

const (
	firstDelay = 50 * time.Millisecond
	maxDelay   = 5 * time.Second

	// LogEvery is how often something that lasts is logged.
	LogEvery = time.Minute
)

// Delay is how long to wait after this number of failures in a row. It doubles from 50 ms to 5 s, and half of it is random, so that
// many processes do not come back at the same instant.
func Delay(failures int) time.Duration {
	d := min(firstDelay<<min(max(failures-1, 0), 10), maxDelay)
	return d/2 + rand.N(d/2+1)
}

// Sleep waits for d; it returns false if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// An Outage logs that a store does not answer: once when it begins, once a minute while it lasts, and once when it is over. It
// is over when everything that failed has succeeded since. A nil Outage logs nothing. It belongs to one goroutine.
type Outage struct {
	Log  *slog.Logger
	Role string // whose calls fail: worker, scheduler, enqueuer

	failed map[any]bool // what fails, for example a partition
	since  time.Time
	logged time.Time
}

// Begin notes that something failed. action says what was tried.
func (o *Outage) Begin(what any, action string, err error, now time.Time) {
	if o == nil {
		return
	}
	if o.failed == nil {
		o.failed = make(map[any]bool)
	}
	if len(o.failed) == 0 {
		o.since, o.logged = now, time.Time{}
	}
	o.failed[what] = true
	if !o.logged.IsZero() && now.Sub(o.logged) < LogEvery {
		return
	}
	o.logged = now
	o.Log.Warn("chime: "+o.Role+": a call to the store failed, trying again", "event", "store.trouble",
		"action", action, "after_ms", now.Sub(o.since).Milliseconds(), "error", err)
}

// End notes that what failed before has succeeded. If it has not failed, End does nothing.
func (o *Outage) End(what any, now time.Time) {
	if o == nil || !o.failed[what] {
		return
	}
	if delete(o.failed, what); len(o.failed) == 0 {
		o.Log.Info("chime: "+o.Role+": the store answers again", "event", "store.recovered", "after_ms", now.Sub(o.since).Milliseconds())
	}
}
