package work

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// An Action is what happens to a job when its handler has returned.
type Action int

const (
	Succeeded Action = iota // the job is removed
	Retried                 // it failed: it runs again after the backoff, or after Delay, until its attempts are used up
	Discarded               // it failed for good: it goes to the dead set
	Snoozed                 // it runs again after Delay; no attempt is used up
)

// An Outcome is the meaning of a handler's error.
type Outcome struct {
	Action  Action
	Delay   time.Duration // of Snoozed, and of Retried if Delayed is set
	Delayed bool          // Delay replaces the backoff
	Alone   bool          // of Retried: the next attempts share no call with other jobs
	Err     error         // what the handler returned
}

// How an attempt ended, in the record of runs.
const (
	runDone      = "done"
	runFailed    = "failed" // another attempt follows
	runSnoozed   = "snoozed"
	runDead      = "dead"
	runMissed    = "missed"
	runCancelled = "cancelled"
	runExpired   = "expired"

	runSuperseded, runSkipped = "superseded", "skipped" // without an attempt of this worker
)

// outcomeOf returns how a settlement ends an attempt; empty: it ends no attempt.
func outcomeOf(s *protocol.Settlement) string {
	switch s.Kind {
	case protocol.SettleDone:
		return runDone
	case protocol.SettleDead:
		return runDead
	case protocol.SettleCancelled:
		return runCancelled
	case protocol.SettleMissed, protocol.SettleReplan:
		return runMissed
	case protocol.SettleExpired:
		return runExpired
	case protocol.SettleLater:
		if s.Failed {
			return runFailed
		}
		return runSnoozed
	}
	return ""
}

// The default backoff: after n failures it is n to the power of BackoffPower, in seconds, times a random factor of MinSpread to MaxSpread.
const (
	BackoffPower = 4
	MinSpread    = 0.75
	MaxSpread    = 1.25
)

// backoff returns the default, at most protocol.MaxDelay: 25 attempts last about 20 days. The random factor prevents that jobs that failed
// together come back together.
func backoff(failures int) time.Duration {
	seconds := math.Pow(float64(max(failures, 1)), BackoffPower) * (MinSpread + (MaxSpread-MinSpread)*rand.Float64())
	return time.Duration(min(seconds*float64(time.Second), float64(protocol.MaxDelay)))
}

// Up to a tenth of a fixed delay, at most a minute, is added at random. Nothing is subtracted, because a service may require at least this delay.
const (
	fixedSpread    = 0.1
	maxFixedSpread = time.Minute
)

// retryDelay is how long a job waits after this many failures, by its own policy or its handler's. A fixed delay is made a little longer at random;
// other delays are made up to a quarter shorter. So jobs that failed together are not retried together.
func retryDelay(policy wire.Retry, failures int) time.Duration {
	if policy.First >= policy.Max {
		return policy.First + time.Duration(min(fixedSpread*float64(policy.First), float64(maxFixedSpread))*rand.Float64())
	}
	d := policy.First
	for n := 1; n < failures && d < policy.Max; n++ {
		d *= 2 // at most twice the longest, 365 days
	}
	return time.Duration(float64(min(d, policy.Max)) * (MinSpread + (1-MinSpread)*rand.Float64()))
}

// timeoutGrace is the time after a job's timeout until the job is settled as failed although its handler has not returned.
const timeoutGrace = 10 * time.Second

// errStuck is the failure of a job whose handler ignores its ctx.
func errStuck(timeout time.Duration) error {
	return fmt.Errorf("%w after %v, and the handler has not returned %v later", ErrTimeout, timeout, timeoutGrace)
}

// errUnnamed is the failure of a job whose call ended at its timeout, and which the errors of single jobs do not name.
func errUnnamed(timeout time.Duration) error {
	return fmt.Errorf("%w after %v, and the handler did not name the job", ErrTimeout, timeout)
}

var errGoexit = errors.New("the handler called runtime.Goexit")

const maxStack = 4 << 10

// stack returns where a handler panicked, cut to what is worth keeping.
func stack() []byte {
	s := debug.Stack()
	return s[:min(len(s), maxStack)]
}
