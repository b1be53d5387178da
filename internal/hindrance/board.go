package hindrance

import (
	"context"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/rights"
)

// A Board knows of all queues what keeps jobs on them from running: what it costs does not grow with the schedules that are asked about.
type Board struct {
	queues map[string]*chime.QueueInfo
	served map[string]bool            // nil: this user may not know
	parked map[string]map[string]bool // queue → names of jobs that are parked there
}

const (
	maxParkedQueues = 20  // whose parked jobs are looked at
	maxParked       = 100 // of them on each
)

// Read reads the queues, the workers, and some of the jobs that are parked.
func Read(ctx context.Context, store chime.Store) (*Board, error) {
	b := &Board{queues: map[string]*chime.QueueInfo{}, parked: map[string]map[string]bool{}}
	queues, err := chime.NewQueues(store).List(ctx)
	if err != nil {
		return nil, err
	}
	for _, q := range queues {
		b.queues[q.Name] = q
		if q.Parked == 0 || len(b.parked) == maxParkedQueues {
			continue
		}
		page, err := chime.NewJobs(store).Page(ctx, chime.JobFilter{Queue: q.Name, State: chime.JobParked, Limit: maxParked})
		if err != nil && !rights.Missing(err) {
			return nil, err
		}
		b.parked[q.Name] = map[string]bool{}
		for _, job := range page.Jobs {
			b.parked[q.Name][job.Name] = true
		}
	}
	workers, err := store.Protocol().Workers(ctx)
	if rights.Missing(err) {
		return b, nil
	}
	b.served = map[string]bool{}
	for _, w := range workers {
		for queue, weight := range w.Queues {
			b.served[queue] = b.served[queue] || weight > 0
		}
	}
	return b, err
}

// Of is what keeps the jobs of a live schedule from running, the first thing that has to be ended; 0: nothing that is known.
func (b *Board) Of(s *chime.Schedule) Kind {
	queue := b.queues[s.Queue]
	switch {
	case s.State != chime.StateLive || queue == nil: // its state says it; the queue is new
		return 0
	case queue.Paused:
		return Paused
	case b.served != nil && !b.served[s.Queue]:
		return Unserved
	case b.parked[s.Queue][s.JobName]:
		return Parked
	}
	return 0
}
