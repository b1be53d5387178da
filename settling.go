package chime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// finish works out how a job's flight ends from what its handler returned.
func (f *flight) finish(err error) {
	defer func() {
		if v := recover(); v != nil { // of the error's own methods
			f.conclude(f.settle(Outcome{Action: Retried, Err: &PanicError{Value: v, Stack: stack()}}, time.Now()))
		}
	}()
	if err == nil {
		if f.schedule != "" {
			f.conclude(f.settle(Outcome{Action: Succeeded}, time.Now()))
		}
		return
	}
	outcome := OutcomeOf(err)
	if outcome.Action == Retried {
		// A failure of a handler that was told to end is not its own: the job is handed back and nothing is counted.
		if cause := f.ctx.reason(); errors.Is(cause, ErrShutdown) || errors.Is(cause, ErrSessionLost) {
			f.cutOff = errors.Is(cause, ErrShutdown)
			f.conclude(protocol.Settlement{ID: f.id, Fence: f.fence, Kind: protocol.SettleBack})
			return
		}
	}
	f.conclude(f.settle(outcome, time.Now()))
}

func (f *flight) conclude(s protocol.Settlement) { f.settlement = &s }

// settle says how a flight with this outcome ends: removed, due again later, or dead.
func (f *flight) settle(outcome Outcome, now time.Time) protocol.Settlement {
	s := protocol.Settlement{ID: f.id, Fence: f.fence, Kind: protocol.SettleDone}
	word := "done"
	switch outcome.Action {
	case Succeeded:
	case Snoozed:
		s.Kind, s.Delay, s.Body, word = protocol.SettleLater, outcome.Delay, f.message.Encode(), "snoozed"
	default:
		message := f.message
		message.Failures++
		noteFailure(&message, outcome.Err)
		s.Failed, s.Body = true, message.Encode()
		if outcome.Action == Discarded || message.Failures >= attemptsOf(&message) {
			s.Kind, word = protocol.SettleDead, "dead"
		} else {
			s.Kind, s.Delay, word = protocol.SettleLater, outcome.Delay, "failed"
			if !outcome.Delayed {
				s.Delay = f.handler.delay(message.Failures)
			}
		}
		f.tell(&s, message.Failures, outcome.Err)
	}
	if f.schedule != "" {
		s.Run = f.runRecord(word, f.began, now)
	}
	return s
}

// runRecord is the line that the record of runs gets of an occurrence.
func (f *flight) runRecord(word string, began, ended time.Time) *protocol.RunRecord {
	return &protocol.RunRecord{
		Schedule: f.schedule,
		Planned:  f.message.Planned,
		Started:  f.clock.at(began),
		Ended:    f.clock.at(ended),
		Outcome:  word,
	}
}

// noteFailure notes in an envelope how an attempt failed, and where if it was a panic.
func noteFailure(e *wire.Envelope, err error) {
	e.LastError, e.Stack = fmt.Sprint(err), "" // which survives an Error that panics
	var panicked *PanicError
	if errors.As(err, &panicked) {
		e.Stack = string(panicked.Stack)
	}
}

// attemptsOf is how often a job is tried.
func attemptsOf(e *wire.Envelope) int { return cmp.Or(e.MaxAttempts, DefaultMaxAttempts) }

// delay is how long a job waits for its next attempt after so many failures.
func (r *registration) delay(failures int) (d time.Duration) {
	if r.settings.backoff == nil {
		return backoff(failures)
	}
	defer func() {
		if v := recover(); v != nil {
			r.log.Error("chime: a Backoff panicked, the default is used", "failures", failures, "panic", v)
			d = backoff(failures)
		}
	}()
	return min(max(r.settings.backoff(failures), 0), longestDelay)
}

// backoff is random between 0 and 1 s × 2ⁿ⁻¹ after n failures, at most an hour: full jitter keeps jobs that failed
// together from coming back together.
func backoff(failures int) time.Duration {
	most := DefaultBackoff << min(max(failures-1, 0), 20)
	return rand.N(min(most, DefaultBackoffMost)) + time.Millisecond
}

// tell logs a failure, without the job's payload.
func (f *flight) tell(s *protocol.Settlement, attempt int, err error) {
	level, message := slog.LevelWarn, "chime: job failed, will be retried"
	if s.Kind == protocol.SettleDead {
		level, message = slog.LevelError, "chime: job is dead"
	}
	f.handler.log.Log(context.Background(), level, message, "job", f.message.Name, "id", f.id, "queue", f.session.lane.partition.Queue, "attempt", attempt, "delay", s.Delay, "error", err)
}

// timeoutPatience is how long after its timeout a job is settled as failed although its handler has not returned.
const timeoutPatience = 10 * time.Second

// errHung is what a job failed of whose handler ignores its ctx.
func errHung(timeout time.Duration) error {
	return fmt.Errorf("%w after %v, and the handler has not returned %v later", ErrTimeout, timeout, timeoutPatience)
}
