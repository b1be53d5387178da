package chime

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/wire"
)

// A RetryPolicy is how long a job waits after a failure. [Fixed] and [Exponential] make one; see [Retry]. What a handler says with
// [RetryAfter] goes first.
type RetryPolicy struct{ policy wire.Retry }

// Fixed waits d after each failure, 1 ms to 365 days.
func Fixed(d time.Duration) RetryPolicy { return RetryPolicy{wire.Retry{First: d, Max: d}} }

// Exponential waits first after the first failure, twice as long after each further one, and never longer than max; both 1 ms to 365
// days. Up to a quarter of each wait is left out at random, so that jobs that failed together do not come back together.
func Exponential(first, max time.Duration) RetryPolicy {
	return RetryPolicy{wire.Retry{First: first, Max: max}}
}

// String is "1m0s" of a fixed policy and "1s, then twice as long each time, to 1h0m0s" of another one; of the zero value it is empty.
func (p RetryPolicy) String() string {
	switch {
	case p.policy == wire.Retry{}:
		return ""
	case p.policy.First == p.policy.Max:
		return p.policy.First.String()
	}
	return fmt.Sprintf("%v, then twice as long each time, to %v", p.policy.First, p.policy.Max)
}

// MarshalJSON encodes the shortest and the longest delay, in milliseconds: first_ms and max_ms.
func (p RetryPolicy) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		FirstMS int64 `json:"first_ms"`
		MaxMS   int64 `json:"max_ms"`
	}{p.policy.First.Milliseconds(), p.policy.Max.Milliseconds()})
}

// check returns what is wrong with the policy.
func (p RetryPolicy) check() error {
	first, longest := p.policy.First, p.policy.Max
	switch {
	case first < time.Millisecond || first > schedule.MaxTimeout:
		return protocol.Invalid("retry", first.String(), "1ms to "+schedule.MaxTimeout.String())
	case longest < first || longest > schedule.MaxTimeout:
		return protocol.Invalid("longest retry", longest.String(), first.String()+", the first, to "+schedule.MaxTimeout.String())
	}
	return nil
}
