package chime

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// waitPoll is how often a job that somebody waits for is looked for although no message has come: one without Keep sends none.
const waitPoll = 10 * time.Second

// waitRetry is how long after an error of the store a job is looked for again.
const waitRetry = time.Second

// Wait waits until a job has ended, and decodes what it returned into v, a pointer, or nil if that is not wanted. A job that returned
// nothing leaves v as it is. The job has to have the option [Keep]: of one that is gone without a result the error is ErrNotFound, not
// success.
//
// If the job ended otherwise than done the error is a *[JobError]: it was given up, or cancelled, or superseded. If several jobs had the ID
// one after the other, the one that exists now is waited for. What was kept of an earlier one goes when the job is cancelled, deleted or
// purged; but if a job without Keep is done, or dead and no longer kept, the earlier one's result is the answer until its time is over.
// When ctx ends Wait returns its error, with the error of the store if that has been failing. While it waits it costs the store a
// subscription, of which many share one connection, and a look every 10 s: a message may be lost, and without Keep there is none.
func (j *Jobs) Wait(ctx context.Context, queue, id string, v any) error {
	fail := func(err error) error {
		return fmt.Errorf("chime: wait for job %.40q of queue %.40q: %w", id, queue, err)
	}
	over := func(info *JobInfo, err error) (bool, error) {
		over, err := ended(info, err, v)
		if over && info == nil {
			err = fail(err)
		}
		return over, err
	}
	if target := reflect.ValueOf(v); v != nil && (target.Kind() != reflect.Pointer || target.IsNil()) {
		return fail(protocol.Invalid("v", fmt.Sprintf("%T", v), "a pointer that is not nil, or nil"))
	}
	info, err := j.get(ctx, queue, id) // most often it runs still, or has ended: that costs no subscription
	if over, err := over(info, err); over {
		return err
	}
	changed, stop := j.store.Await(ctx, queue, id)
	defer stop()
	timer := time.NewTimer(waitPoll)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			if err != nil {
				return fail(fmt.Errorf("%w; the store's last error: %w", ctx.Err(), err))
			}
			return fail(ctx.Err())
		case <-changed:
		case <-timer.C:
		}
		if info, err = j.get(ctx, queue, id); ctx.Err() != nil {
			continue
		}
		if over, err := over(info, err); over {
			return err
		}
		timer.Reset(waitPoll)
		if err != nil {
			timer.Reset(waitRetry)
		}
	}
}

// ended reports whether waiting for a job is over, and with which error. What Get returned for it is info and err.
func ended(info *JobInfo, err error, v any) (over bool, _ error) {
	switch {
	case info == nil:
		invalid := (*InvalidError)(nil)
		return errors.Is(err, ErrNotFound) || errors.Is(err, ErrUnfit) || errors.As(err, &invalid), err
	case info.State == JobDead:
		return true, &JobError{Queue: info.Queue, ID: info.ID, Outcome: RunDead, Message: info.LastError}
	case info.State != JobDone:
		return false, nil
	case info.Outcome != RunDone:
		return true, &JobError{Queue: info.Queue, ID: info.ID, Outcome: info.Outcome, Message: info.LastError}
	case err != nil: // it is done, and what it returned cannot be read
		return true, err
	case v == nil:
		return true, nil
	}
	if err := Decode(info.Result, v); err != nil {
		return true, fmt.Errorf("chime: result of job %q of queue %q: %w", info.ID, info.Queue, err)
	}
	return true, nil
}

// A JobError says that a job has ended, and not well. errors.Is finds ErrCancelled and ErrReplaced in it.
type JobError struct {
	Queue   string     `json:"queue"`             // of the job
	ID      string     `json:"id"`                // of the job
	Outcome RunOutcome `json:"outcome"`           // dead, cancelled or superseded
	Message string     `json:"message,omitempty"` // how its last attempt failed; empty: it did not
}

// Error names the job, how it ended, and how its last attempt failed.
func (e *JobError) Error() string {
	text := fmt.Sprintf("chime: job %q of queue %q is %s", e.ID, e.Queue, e.Outcome)
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Is reports whether target is ErrCancelled, of a job that was cancelled, or ErrReplaced, of one that was superseded.
func (e *JobError) Is(target error) bool {
	return target == ErrCancelled && e.Outcome == RunCancelled || target == ErrReplaced && e.Outcome == RunSuperseded
}
