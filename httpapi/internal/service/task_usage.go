package service

import (
	"context"
	"errors"
	"slices"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

const (
	taskBase  = 1 << 10 // bytes of a task in addition to its action and headers: its entries in the store and here
	tasksRead = 500     // tasks that are read at once
)

// A heldTask is a task of which this process knows that it was added.
type heldTask struct {
	queue, id string // of its job
}

// taskBytes are the bytes of a task whose secrets are sealed.
func taskBytes(task *resource.Task) int64 {
	bytes := taskBase
	if data, err := action.Encode(task.Action); err == nil { // an error is found when the task is stored
		bytes += len(data)
	}
	for name, value := range task.Headers {
		bytes += len(name) + len(value)
	}
	return int64(bytes)
}

// endedTasks returns those of some tasks that have ended, as a run has that is done or dead, or were never stored.
func (s *Service) endedTasks(ctx context.Context, tasks []heldTask) ([]heldTask, error) {
	ids := map[string][]string{} // by queue
	for _, task := range tasks {
		ids[task.queue] = append(ids[task.queue], task.id)
	}
	unfinished := map[heldTask]bool{}
	for queue, of := range ids {
		for some := range slices.Chunk(of, tasksRead) {
			for info, err := range s.jobs.List(ctx, chime.JobFilter{Queue: queue, IDs: some, Limit: tasksRead}) {
				if info == nil && !errors.Is(err, chime.ErrNotFound) { // not found: there is no such queue
					return nil, err
				}
				if info != nil && info.State != chime.JobDone && info.State != chime.JobDead {
					unfinished[heldTask{queue, info.ID}] = true
				}
			}
		}
	}
	return slices.DeleteFunc(tasks, func(task heldTask) bool { return unfinished[task] }), nil
}

// wereAccepted reports whether each of some tasks exists, or was accepted within the time for which its ID gives the same task.
func (s *Service) wereAccepted(ctx context.Context, tasks map[heldTask]int64) (bool, error) {
	for task := range tasks {
		if accepted, err := s.wasAccepted(ctx, task.queue, task.id); !accepted || err != nil {
			return false, err
		}
	}
	return true, nil
}
