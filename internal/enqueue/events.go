package enqueue

import (
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/observe"
)

// spareEvents are batches of reported jobs, for reuse.
var spareEvents = sync.Pool{New: func() any { return new(observe.Batch) }}

// add adds to a batch for observers a job that was enqueued.
func add(events *observe.Batch, queue, name, id string, due time.Time) {
	e := events.Add()
	e.Queue, e.Name, e.ID, e.Due = queue, name, id, due
}

// dueAt returns when a job is due that is enqueued now: at an instant, if one is set, or otherwise after a duration.
func dueAt(at time.Time, in time.Duration, now time.Time) time.Time {
	if at.IsZero() {
		return now.Add(in)
	}
	return at
}

// reportOne reports one job to observers.
func (e *Enqueuer) reportOne(queue, name, id string, due time.Time) {
	report := e.options.Observe.Enqueued
	if report == nil {
		return
	}
	events := spareEvents.Get().(*observe.Batch)
	add(events, queue, name, id, due)
	events.Report(report)
	spareEvents.Put(events)
}

// reportItem reports an item to observers.
func (e *Enqueuer) reportItem(b *jobSet, i int) {
	if len(b.names) > 0 {
		e.reportOne(b.queueOf(i), b.names[i], b.items[i].ID, b.dueOf(i))
	}
}

// reportShare reports to observers the items of a share that did not exist before.
func (e *Enqueuer) reportShare(b *jobSet, s *share) {
	if len(b.names) == 0 {
		return
	}
	report := e.options.Observe.Enqueued
	events := spareEvents.Get().(*observe.Batch)
	for at := range s.pending.items {
		if s.pending.existing != nil && s.pending.existing[at] || s.pending.full != nil && s.pending.full[at] != nil {
			continue
		}
		i := s.index(at)
		if add(events, b.queueOf(i), b.names[i], b.items[i].ID, b.dueOf(i)); events.Full() {
			events.Report(report)
		}
	}
	events.Report(report)
	spareEvents.Put(events)
}
