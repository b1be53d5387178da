package chime

import (
	"context"
	"errors"
	"fmt"

	"github.com/chimejobs/chime/internal/protocol"
)

// A CancelResult says what [Jobs.Cancel] has done.
type CancelResult string

const (
	CancelDone    CancelResult = "cancelled" // the job never starts, or, if it waited for a retry, never again
	CancelAsked   CancelResult = "asked"     // a worker holds it and was told: its handler's ctx ends, and then the job
	CancelTooLate CancelResult = "ended"     // it was given up before, or is done and its result is kept
)

// Cancel ends a job wherever it is. ErrNotFound: there is no job of that ID on the queue, or no such queue; what has ended and is not kept
// is not found either.
//
// One that waits never starts: it waits for a worker, for its time, for a retry, for a worker that can run it, or behind another occurrence.
// One that a worker holds is told to end: its handler's ctx ends with ErrCancelled, at once as a rule and with the worker's next heartbeat
// (4 s) at the latest, and whatever the handler returns, the job is not tried again. If it has not begun it does not begin. A handler that
// does not look at its ctx runs to its end; so the result is CancelAsked, not CancelDone.
//
// The next occurrence of a schedule may be cancelled too: the one after it comes as if this one had run, and it counts as one of the
// rule's Count. Cancelling twice changes nothing. Programs of a version before this one stop taking from a queue once something has
// been cancelled there, and say so.
func (j *Jobs) Cancel(ctx context.Context, queue, id string) (CancelResult, error) {
	err := j.ready(ctx)
	if err == nil {
		err = errors.Join(protocol.CheckName("queue", queue), checkJobID("ID", id))
	}
	var result protocol.CancelResult
	if err == nil {
		result, err = j.store.CancelJob(ctx, queue, id)
	}
	if err != nil {
		return "", fmt.Errorf("chime: cancel job %.40q of queue %.40q: %w", id, queue, err)
	}
	switch result {
	case protocol.CancelAsked:
		return CancelAsked, nil
	case protocol.CancelTooLate:
		return CancelTooLate, nil
	}
	return CancelDone, nil
}
