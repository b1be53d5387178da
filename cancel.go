package chime

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/wire"
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
// What was to follow a held job, enqueued with [Replace], goes with it: enqueue it again once the job has ended.
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
		result, err = j.cancel(ctx, queue, id)
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

// cancel reads the job first: whether its result is to be kept only its body says.
func (j *Jobs) cancel(ctx context.Context, queue, id string) (protocol.CancelResult, error) {
	found, err := j.store.FindJobs(ctx, queue, []string{id})
	if err != nil {
		return 0, err
	}
	job := &found[0]
	result, err := j.store.CancelJob(ctx, queue, id, cancelledResult(job))
	if errors.Is(err, ErrNotFound) && job.State == protocol.JobDone {
		return protocol.CancelTooLate, nil
	}
	return result, err
}

// cancelledResult is what is kept of a job that is cancelled; nil: nothing.
func cancelledResult(job *protocol.FoundJob) *protocol.Result {
	if job.State == protocol.JobDone || job.ID == "" {
		return nil
	}
	name, planned, _ := schedule.SplitOccurrence(job.ID)
	message, err := messageOf(job, name, planned)
	if err != nil || message.Details == nil || message.Details.Keep == 0 {
		return nil
	}
	r := wire.Result{
		Name: message.Name, Schedule: cmp.Or(name, message.Schedule), Planned: message.Planned, Keep: message.Details.Keep,
		Attempt: message.Failures, Error: message.LastError,
	}
	if job.State == protocol.JobRunning {
		r.Attempt++ // the one that it ends
	}
	return &protocol.Result{Keep: message.Details.Keep, Body: r.Encode()}
}
