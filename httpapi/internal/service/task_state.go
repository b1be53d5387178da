package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
	"github.com/chimejobs/chime/httpapi/internal/taskid"
	"github.com/chimejobs/chime/internal/wire"
)

// AwaitTask returns when a task has ended, or does not exist, or ctx has ended. queue may be empty: the collection's.
func (s *Service) AwaitTask(ctx context.Context, n resource.TaskName, queue string) {
	if id, queue, err := s.taskJob(ctx, n, queue); err == nil {
		_ = s.jobs.Wait(ctx, queue, id, nil) // GetTask returns how it has ended
	}
}

// GetTask returns a task. queue may be empty: the collection's.
func (s *Service) GetTask(ctx context.Context, n resource.TaskName, queue string) (*resource.TaskView, error) {
	id, queue, err := s.taskJob(ctx, n, queue)
	if err != nil {
		return nil, err
	}
	info, err := s.jobs.Get(ctx, queue, id)
	switch {
	case errors.Is(err, chime.ErrNotFound):
		return nil, noTask(n, queue)
	case info == nil:
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("httpapi: task %q %w: %w", id, ErrUnreadable, err)
	}
	return s.taskView(n, info), nil
}

func noTask(n resource.TaskName, queue string) error {
	return problem.New(problem.NotFound, "there is no task %s of collection %s on queue %s: it has ended and its result is not kept (keep), or it was never added there", n.Task, n.Collection, queue)
}

func (s *Service) taskView(n resource.TaskName, info *chime.JobInfo) *resource.TaskView {
	message, stack := cmp.Or(info.Note, info.LastError), info.Stack
	if redact := s.options.RedactError; redact != nil {
		message, stack = redactTask(redact, n, message), redactTask(redact, n, stack)
	}
	v := &resource.TaskView{
		ID: n.Task, Queue: info.Queue, Group: info.Group, State: taskState(info.State), Outcome: string(info.Outcome), Attempt: info.Attempt,
		Enqueued: info.Enqueued, Due: info.Due, Expires: info.Expires, Started: info.Started, Ended: info.Ended, KeptUntil: info.KeptUntil,
		Message: cutText(message, maxMessage), Stack: stack, Result: taskResult(info.Result),
	}
	if id, ok := taskid.ParseBatch(info.Batch); ok {
		v.Batch = id.Batch
	}
	if info.Name != action.JobName {
		v.Job = info.Name
	}
	return v
}

// redactTask returns what a client may read of a text of a task. A task has no schedule: it is shown as its collection's job without a name.
func redactTask(redact func(schedule, text string) string, n resource.TaskName, text string) string {
	if text == "" {
		return ""
	}
	return redact(n.Collection+":", text)
}

// taskState is the state of a job in an answer. A job that a worker has taken ahead has not begun.
func taskState(state chime.JobState) string {
	if state == chime.JobTaken {
		state = chime.JobWaiting
	}
	return string(state)
}

// taskResult is the value that a handler has returned, as JSON; nil: none.
func taskResult(result []byte) json.RawMessage {
	if shown, ok := wire.View(result); ok {
		return shown
	}
	return nil
}
