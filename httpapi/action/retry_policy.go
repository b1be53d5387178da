package action

import (
	"time"

	"github.com/chimejobs/chime"
)

// A RetryType is how the waits between attempts grow.
type RetryType string

// The types of retries.
const (
	RetryNone        RetryType = "none"        // no retries
	RetryFixed       RetryType = "fixed"       // RetryInterval after each failure
	RetryExponential RetryType = "exponential" // RetryInterval after the first failure, then twice as long each time, to MaxInterval
)

const (
	defaultRetryInterval = 30 * time.Second
	defaultRetryCount    = 4
	minRetryInterval     = 15 * time.Second
	maxRetryInterval     = 548 * day // 18 months
	maxRetryWait         = 365 * day // chime's own maximum wait
	maxFixedRetries      = 20
	maxExpRetries        = 100
)

// A RetryPolicy is the number of retries after a failure, and the waits between them.
type RetryPolicy struct {
	Type     RetryType `json:"retryType"`              // empty: fixed
	Interval Interval  `json:"retryInterval,omitzero"` // 15 s to 548 days, of exponential and of jobs 365 days; 0: 30 s
	Count    *int      `json:"retryCount,omitempty"`   // of fixed 0 to 20, of exponential 0 to 100; nil: 4
	Max      Interval  `json:"maxInterval,omitzero"`   // of exponential: Interval to 365 days; 0: the larger of Interval and 1 day
}

// orDefault returns the policy with all defaults; the default of nil is 4 times, 30 s apart.
func (p *RetryPolicy) orDefault() RetryPolicy {
	full := RetryPolicy{Type: RetryFixed}
	if p != nil {
		full = *p
	}
	if full.Type == "" {
		full.Type = RetryFixed
	}
	if full.Interval == 0 {
		full.Interval = Interval(defaultRetryInterval)
	}
	if full.Count == nil {
		count := defaultRetryCount
		full.Count = &count
	}
	if full.Type == RetryExponential && full.Max == 0 {
		full.Max = max(full.Interval, Interval(day))
	}
	if full.Type == RetryNone {
		none := 0
		full.Count = &none
	}
	return full
}

// prepare removes the fields that a policy without retries does not need.
func (p *RetryPolicy) prepare() {
	if p.Type == RetryNone {
		*p = RetryPolicy{Type: RetryNone}
	}
}

// options converts the policy to chime's options. The Sender requests the wait of a fixed policy at each failure: it is exact, and may be longer than
// chime's own maximum.
func (p RetryPolicy) options() []chime.JobOption {
	first := min(time.Duration(p.Interval), maxRetryWait)
	retry := chime.Fixed(first)
	if p.Type == RetryExponential {
		retry = chime.Exponential(first, min(max(time.Duration(p.Max), first), maxRetryWait))
	}
	return []chime.JobOption{chime.MaxAttempts(*p.Count + 1), chime.Retry(retry)}
}

// wait is the wait of the policy after an attempt, counted from 1, has failed.
func (p RetryPolicy) wait(attempt int) time.Duration {
	wait := time.Duration(p.Interval)
	if p.Type != RetryExponential {
		return wait
	}
	for range attempt - 1 {
		if wait *= 2; wait >= time.Duration(p.Max) {
			return time.Duration(p.Max)
		}
	}
	return wait
}
