// Package retry handles a store that does not answer: how long to wait, what to log, and when to stop trying.
package retry

import (
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"strings"
	"time"
)

const (
	firstDelay = 50 * time.Millisecond
	maxDelay   = time.Second
	// maxDutyDelay is longer than maxDelay: no caller waits for a duty, and the end of an outage makes duties due.
	maxDutyDelay = 5 * time.Second

	// LogEvery is how often a condition that lasts is logged.
	LogEvery = time.Minute
)

// Delay returns how long to wait after this number of consecutive failures. It doubles from 50 ms to 1 s, and half of it is random, so that many
// processes do not come back at the same instant. It is not longer, because a failover takes a few seconds; waiting calls succeed within two
// seconds of its end.
func Delay(failures int) time.Duration { return delay(failures, maxDelay) }

func delay(failures int, longest time.Duration) time.Duration {
	d := min(firstDelay<<min(max(failures-1, 0), 10), longest)
	return d/2 + rand.N(d/2+1)
}

// After returns when to try again after this number of consecutive failures. The last one began at began and has ended now: the duration of the
// call counts as waiting.
func After(began time.Time, failures int, now time.Time) time.Time {
	at, soonest := began.Add(Delay(failures)), now.Add(Delay(1))
	if at.Before(soonest) {
		return soonest
	}
	return at
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

// An Outage logs that a store does not answer: once when it begins, once a minute while it lasts, and once when it is over. It is over when every
// failed action has succeeded since, or has not been tried for an hour: a queue that nobody uses any more is no outage. A nil Outage logs nothing. It
// belongs to one goroutine.
type Outage struct {
	Log  *slog.Logger
	Role string // whose calls fail: worker, scheduler, enqueuer
	// Trouble receives what is logged, with a nil error when the outage is over. It may be nil.
	Trouble func(action string, err error)

	failed map[any]time.Time // the key of a failing action, for example a partition -> when it failed last
	swept  time.Time         // when those that are not tried any more were forgotten
	action string            // the last logged action
	since  time.Time
	logged time.Time
}

// Begin notes that something failed. action names what was tried.
func (o *Outage) Begin(what any, action string, err error, now time.Time) {
	if o == nil {
		return
	}
	if o.failed == nil {
		o.failed = make(map[any]time.Time)
	}
	if len(o.failed) == 0 {
		o.since, o.logged = now, time.Time{}
	}
	o.failed[what] = now
	o.forget(now)
	if !o.logged.IsZero() && now.Sub(o.logged) < LogEvery {
		return
	}
	o.logged, o.action = now, action
	if o.Trouble != nil {
		o.Trouble(action, err)
	}
	cause, causes := firstCause(err)
	o.Log.Warn("chime: "+o.Role+": a call to the store failed, trying again", "event", "store.trouble",
		"action", action, "after_ms", now.Sub(o.since).Milliseconds(), "count", max(causes, len(o.failed)), "error", cause)
}

// firstCause returns the first of the joined causes, and their number: a call for many partitions fails for each of them, mostly for the same
// reason.
func firstCause(err error) (first string, causes int) {
	first, rest, _ := strings.Cut(err.Error(), "\n")
	if rest == "" {
		return first, 1
	}
	return first, 2 + strings.Count(rest, "\n")
}

// End notes that an action has succeeded. If no action has failed, End does nothing.
func (o *Outage) End(what any, now time.Time) {
	if o == nil || len(o.failed) == 0 {
		return
	}
	delete(o.failed, what)
	o.forget(now)
	if len(o.failed) == 0 {
		o.Log.Info("chime: "+o.Role+": the store answers again", "event", "store.recovered", "after_ms", now.Sub(o.since).Milliseconds())
		if o.Trouble != nil {
			o.Trouble(o.action, nil)
		}
	}
}

// untriedFor is how long an action is remembered as failing that is not tried again.
const untriedFor = time.Hour

// forget removes the actions that were not tried for an hour, once a minute.
func (o *Outage) forget(now time.Time) {
	if now.Sub(o.swept) < LogEvery {
		return
	}
	o.swept = now
	maps.DeleteFunc(o.failed, func(_ any, at time.Time) bool { return now.Sub(at) >= untriedFor })
}
