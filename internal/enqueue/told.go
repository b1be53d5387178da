package enqueue

import (
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/observe"
)

// spareEvents are batches of jobs of which observers were told.
var spareEvents = sync.Pool{New: func() any { return new(observe.Batch) }}

// add adds what observers hear of a job that was enqueued.
func add(events *observe.Batch, queue, name, id string, due time.Time) {
	e := events.Add()
	e.Queue, e.Name, e.ID, e.Due = queue, name, id, due
}

// dueAt is when a job is due that is enqueued now: at an instant, if there is one, or after a while.
func dueAt(at time.Time, in time.Duration, now time.Time) time.Time {
	if at.IsZero() {
		return now.Add(in)
	}
	return at
}

// tellOne tells observers of one job.
func (e *Enqueuer) tellOne(queue, name, id string, due time.Time) {
	heard := e.options.Observe.Enqueued
	if heard == nil {
		return
	}
	events := spareEvents.Get().(*observe.Batch)
	add(events, queue, name, id, due)
	events.Tell(heard)
	spareEvents.Put(events)
}

// tellOf tells observers of an item of a batch.
func (e *Enqueuer) tellOf(b *batch, i int) {
	if len(b.names) > 0 {
		e.tellOne(b.queueOf(i), b.names[i], b.items[i].ID, b.dueOf(i))
	}
}

// tellShare tells observers of the items of a share that did not exist before.
func (e *Enqueuer) tellShare(b *batch, s *share) {
	if len(b.names) == 0 {
		return
	}
	heard := e.options.Observe.Enqueued
	events := spareEvents.Get().(*observe.Batch)
	for at := range s.pending.items {
		if s.pending.existing != nil && s.pending.existing[at] {
			continue
		}
		i := s.index(at)
		if add(events, b.queueOf(i), b.names[i], b.items[i].ID, b.dueOf(i)); events.Full() {
			events.Tell(heard)
		}
	}
	events.Tell(heard)
	spareEvents.Put(events)
}
