// Package blocked finds the reasons why the jobs of a schedule do not run. The command and the dashboard show it.
package blocked

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/plain"
	"github.com/chimejobs/chime/internal/protocol"
)

// A Kind is a kind of reason that blocks jobs.
type Kind int

// The kinds.
const (
	Paused   Kind = iota + 1 // their queue is paused
	Unserved                 // no live worker serves their queue
	Parked                   // no worker of their queue has a handler for them
)

// String returns the kind in few words, for a table, such as "queue paused". It is empty for 0.
func (k Kind) String() string { return [...]string{"", "queue paused", "no worker", "parked"}[k] }

// A Reason is one reason why the jobs of a schedule do not run.
type Reason struct {
	Kind Kind
	Text string // a clause, without a full stop
}

// Of returns the reasons that block the jobs of a live schedule now. It reads the queue, the workers and one parked job.
func Of(ctx context.Context, store chime.Store, of *chime.Schedule) (all []Reason, err error) {
	if of.State != chime.StateLive {
		return nil, nil // its state shows the reason
	}
	queue, err := chime.NewQueues(store).Get(ctx, of.Queue)
	if errors.Is(err, chime.ErrNotFound) {
		return nil, nil // the queue is new: no job was ever placed on it
	}
	if err != nil {
		return nil, err
	}
	workers, err := store.Protocol().Workers(ctx)
	if err != nil {
		return nil, err
	}
	served := slices.ContainsFunc(workers, func(w protocol.WorkerEntry) bool { return w.Queues[of.Queue] > 0 })
	return On(ctx, store, of, queue, served)
}

// On is Of for a caller that knows the state of the schedule's queue, and whether a live worker serves it.
func On(ctx context.Context, store chime.Store, of *chime.Schedule, queue *chime.QueueInfo, served bool) (all []Reason, err error) {
	if of.State != chime.StateLive {
		return nil, nil // its state shows the reason
	}
	if queue.Blocked(true) == chime.ReasonPaused {
		all = append(all, Reason{Paused, plain.Why(chime.Reason{Kind: chime.ReasonPaused, Queue: of.Queue, Note: queue.Note})})
	}
	if !served {
		all = append(all, Reason{Unserved, plain.Why(chime.Reason{Kind: chime.ReasonUnserved, Queue: of.Queue})})
	}
	parked, err := chime.NewJobs(store).Page(ctx, chime.JobFilter{Queue: of.Queue, State: chime.JobParked, Name: of.JobName, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(parked.Jobs) > 0 {
		all = append(all, Reason{Parked, fmt.Sprintf("jobs are parked on queue %s: no worker there can run %s", of.Queue, of.JobName)})
	}
	return all, nil
}
