package work

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"
)

// An Action is what becomes of a job when its handler has returned.
type Action int

const (
	Succeeded Action = iota // the job is removed
	Retried                 // it failed: it runs again after the backoff, or after Delay, until its attempts are used up
	Discarded               // it failed for good: it goes to the dead set
	Snoozed                 // it runs again after Delay; no attempt is used up
)

// An Outcome is what a handler's error means.
type Outcome struct {
	Action  Action
	Delay   time.Duration // of Snoozed, and of Retried if Delayed is set
	Delayed bool          // Delay takes the place of the backoff
	Err     error         // what the handler returned
}

// How an attempt ended, in the record of runs.
const (
	runDone    = "done"
	runFailed  = "failed" // another attempt follows
	runSnoozed = "snoozed"
	runDead    = "dead"
	runMissed  = "missed"
)

// The bounds of the default backoff: after the first failure, and after any number.
const (
	FirstBackoff = time.Second
	MaxBackoff   = time.Hour
)

// backoff is random between 0 and 1 s × 2ⁿ⁻¹ after n failures, at most an hour: full jitter keeps jobs that failed together from
// coming back together.
func backoff(failures int) time.Duration {
	limit := min(FirstBackoff<<min(max(failures-1, 0), 20), MaxBackoff)
	return rand.N(limit) + time.Millisecond
}

// timeoutGrace is how long after its timeout a job is settled as failed although its handler has not returned.
const timeoutGrace = 10 * time.Second

// errStuck is the failure of a job whose handler ignores its ctx.
func errStuck(timeout time.Duration) error {
	return fmt.Errorf("%w after %v, and the handler has not returned %v later", ErrTimeout, timeout, timeoutGrace)
}

var errGoexit = errors.New("the handler called runtime.Goexit")

const maxStack = 4 << 10

// stack is where a handler panicked, cut to what is worth keeping.
func stack() []byte {
	s := debug.Stack()
	return s[:min(len(s), maxStack)]
}
