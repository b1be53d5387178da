// Package runs reads the runs of jobs as they are stored, with what each has kept of the definition that it began with.
package runs

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
)

// A Run is a run that has a definition of its own: it was enqueued, has failed, is an error action, or is in its first attempt. Others will have the
// definition that their schedule has when they begin.
type Run struct {
	Queue, ID string
	Dead      bool
	Body      []byte // see package wire; nil: the run is in its first attempt
	Fence     int64  // of a run in its first attempt. If it is below the revision of the schedule, the run has an earlier definition
}

// The states of runs in the order in which runs pass through them, so that few are missed that move meanwhile.
var states = []string{
	protocol.JobDelayed, protocol.JobParked, protocol.JobWaiting, protocol.JobTaken, protocol.JobRunning, protocol.JobDelayed, protocol.JobWaiting, protocol.JobDead,
}

// All returns the runs of all queues that have not ended, then the dead ones of each queue. A run that changes its state meanwhile may come twice or not at
// all. After an error of the store the list ends.
func All(ctx context.Context, store chime.Store) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		queues, err := chime.NewQueues(store).List(ctx)
		if err != nil {
			yield(Run{}, err)
			return
		}
		for _, queue := range queues {
			for _, state := range states {
				if !page(ctx, store, protocol.JobPageCall{Queue: queue.Name, State: state, Limit: protocol.MaxItems}, yield) {
					return
				}
			}
		}
	}
}

// page yields the runs of a queue in one state, and reports whether the list continues.
func page(ctx context.Context, store chime.Store, call protocol.JobPageCall, yield func(Run, error) bool) bool {
	for {
		found, err := store.Protocol().PageJobs(ctx, call)
		switch {
		case errors.Is(err, chime.ErrNotFound): // the queue is gone
			return true
		case err != nil:
			yield(Run{}, fmt.Errorf("httpapi: read the runs of queue %s: %w", call.Queue, err))
			return false
		}
		for _, job := range found.Jobs {
			first := len(job.Body) == 0 && (call.State == protocol.JobTaken || call.State == protocol.JobRunning)
			if (len(job.Body) > 0 || first) && !yield(Run{call.Queue, job.ID, call.State == protocol.JobDead, job.Readable(), job.Fence}, nil) {
				return false
			}
		}
		if call.After = found.Next; found.Next == "" {
			return true
		}
	}
}
