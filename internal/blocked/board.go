package blocked

import (
	"context"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/rights"
)

// A Board knows for all queues what blocks the jobs on them. Its cost does not grow with the number of schedules.
type Board struct {
	queues map[string]*chime.QueueInfo
	served map[string]bool            // nil: this user has no right to know
	parked map[string]map[string]bool // queue → names of jobs that are parked there
}

const (
	maxParkedQueues = 20  // queues whose parked jobs are read
	maxParked       = 100 // parked jobs that are read of each queue
)

// Read reads the queues, the workers, and some of the parked jobs.
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

// Of returns what blocks the jobs of a live schedule: the reason that has to be removed first. 0: no reason is known.
func (b *Board) Of(s *chime.Schedule) Kind {
	queue := b.queues[s.Queue]
	if s.State != chime.StateLive || queue == nil { // its state shows the reason; or the queue is new
		return 0
	}
	if kind := KindOf(queue, b.served == nil || b.served[s.Queue]); kind != 0 {
		return kind
	}
	if b.parked[s.Queue][s.JobName] {
		return Parked
	}
	return 0
}

// KindOf returns what blocks every job of a queue: Paused, Unserved, or 0. chime.QueueInfo.Blocked decides.
func KindOf(queue *chime.QueueInfo, served bool) Kind {
	switch queue.Blocked(served) {
	case chime.ReasonPaused:
		return Paused
	case chime.ReasonUnserved:
		return Unserved
	}
	return 0
}
