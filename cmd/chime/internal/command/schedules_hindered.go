package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/chimejobs/chime"
)

// hindrances are what keeps the jobs of a live schedule from running now, each with what ends it.
func (s *session) hindrances(ctx context.Context, of *chime.Schedule) (all []string, err error) {
	if of.State != chime.StateLive {
		return nil, nil // its state says why
	}
	store, err := s.store()
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.limited(ctx)
	defer cancel()
	queue, err := chime.NewQueues(store).Get(ctx, of.Queue)
	if errors.Is(err, chime.ErrNotFound) {
		return nil, nil // it is new: none of its jobs was ever placed
	}
	if err != nil {
		return nil, err
	}
	if queue.Paused {
		all = append(all, fmt.Sprintf("queue %s is paused%s: chime queues resume %s", of.Queue, noted(queue.Note), of.Queue))
	}
	workers, err := chime.NewWorkers(store).List(ctx)
	if err != nil {
		return nil, err
	}
	served := false
	for _, w := range workers {
		served = served || w.Queues[of.Queue] > 0
	}
	if !served {
		all = append(all, fmt.Sprintf("no worker that lives takes from queue %s: start one", of.Queue))
	}
	parked, err := chime.NewJobs(store).Page(ctx, chime.JobFilter{Queue: of.Queue, State: chime.JobParked, Name: of.JobName, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(parked.Jobs) > 0 {
		all = append(all, fmt.Sprintf("jobs are parked on queue %s, because no worker there can run %s: start one that has a handler for it", of.Queue, of.JobName))
	}
	return all, nil
}

// noted is why, for the middle of a sentence.
func noted(n chime.Note) string {
	if n.Text == "" {
		return ""
	}
	return fmt.Sprintf(" (%q)", n.Text)
}
