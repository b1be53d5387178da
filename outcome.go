package chime

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/work"
)

// An Action is what happens to a job when its handler has returned.
type Action int

const (
	Succeeded Action = iota // it is done and removed
	Retried                 // the attempt failed: it runs again after the backoff, or after Outcome.Delay, until its attempts are used up
	Discarded               // it failed for good: it becomes dead
	Snoozed                 // it runs again after Outcome.Delay; no attempt is used up
)

var actionNames = [...]string{Succeeded: "succeeded", Retried: "retried", Discarded: "discarded", Snoozed: "snoozed"}

// String is "succeeded", "retried", "discarded" or "snoozed".
func (a Action) String() string {
	if a < 0 || int(a) >= len(actionNames) {
		return fmt.Sprintf("Action(%d)", int(a))
	}
	return actionNames[a]
}

// MarshalText returns String, so an Action is a word in JSON and in logs too.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads the output of MarshalText; another word is an *[InvalidError].
func (a *Action) UnmarshalText(text []byte) error {
	i := slices.Index(actionNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("chime: %w", protocol.Invalid("action", string(text), strings.Join(actionNames[:], ", ")))
	}
	*a = Action(i)
	return nil
}

// An Outcome is the meaning of a handler's error. The zero Outcome means nil: the job is done.
type Outcome struct {
	Action  Action        // what happens to the job
	Delay   time.Duration // the delay of Snoozed, and of Retried if Delayed is set
	Delayed bool          // Delay replaces the backoff
	Err     error         // the handler's error
}

// steering is an error that carries an outcome.
type steering struct {
	outcome Outcome
	err     error
}

func (s *steering) Error() string {
	if s.err != nil {
		return s.err.Error()
	}
	return fmt.Sprintf("snoozed for %v", s.outcome.Delay)
}

func (s *steering) Unwrap() error { return s.err }

// RetryAfter returns an error that fails the attempt like err, and makes the next attempt start after d instead of the backoff. A negative d
// counts as 0, and more than 100 years as 100 years. If err is nil the result is nil, so you can pass the error of a call through. To run
// again without a failure use [Snooze].
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &steering{outcome: Outcome{Action: Retried, Delay: clampDelay(d), Delayed: true}, err: err}
}

// Discard returns an error that fails the job for good: it becomes dead with err as the reason, even if it has attempts left. If err is nil
// the result is nil.
func Discard(err error) error {
	if err == nil {
		return nil
	}
	return &steering{outcome: Outcome{Action: Discarded}, err: err}
}

// Snooze returns an error that makes the job run again after d. It is no failure and uses up no attempt. A negative d counts as 0,
// and more than 100 years as 100 years.
func Snooze(d time.Duration) error {
	return &steering{outcome: Outcome{Action: Snoozed, Delay: clampDelay(d)}}
}

func clampDelay(d time.Duration) time.Duration { return min(max(d, 0), protocol.MaxDelay) }

// OutcomeOf returns the outcome of a job whose handler returned err. It finds RetryAfter, Discard and Snooze through %w and errors.Join; the
// outermost (first) one counts. The worker calls the same function, so a test of a handler may rely on it.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return Outcome{Action: Succeeded}
	}
	outcome := Outcome{Action: Retried}
	var s *steering
	if errors.As(err, &s) {
		outcome = s.outcome
	}
	outcome.Err = err
	return outcome
}

// A Failure describes a failed attempt.
type Failure struct {
	At     time.Time `json:"at"`     // when the attempt failed, by the store's clock
	Worker string    `json:"worker"` // the worker that ran it, a [WorkerInfo]'s name
	Error  string    `json:"error"`  // cut to 500 bytes; it may have several lines
}

// MarshalJSON encodes the failure with its instant in UTC.
func (f Failure) MarshalJSON() ([]byte, error) {
	type fields Failure // without methods
	f.At = f.At.UTC()
	return json.Marshal(fields(f))
}

// OutcomesOf returns the outcomes of the jobs of a call whose [ManyHandler] returned err, in the order of jobs. It finds an [Each] as the worker does. The
// outcomes are those of a call whose ctx had not ended: see Each for the others.
func OutcomesOf(err error, jobs []*Job) []Outcome {
	called := make([]work.Job, len(jobs))
	for i, job := range jobs {
		called[i].ID = job.ID
	}
	each, all := outcomesOf(err, called)
	outcomes := make([]Outcome, len(jobs))
	for i, job := range jobs {
		own, named := each[job.ID]
		if !named {
			own = all
		}
		outcomes[i] = OutcomeOf(own)
	}
	return outcomes
}
