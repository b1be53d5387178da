package enqueue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime/internal/batch"
	"github.com/chimejobs/chime/internal/observe"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// Member checks a job of a batch, and makes its body in room.
func (e *Enqueuer) Member(ctx context.Context, job *Job, room *wire.Bodies) (batch.Item, error) {
	member := batch.Item{Name: job.Name}
	if err := e.item(&member.EnqueueItem, job, e.batcher.now(), room); err != nil {
		return member, err
	}
	var err error
	member.Partition, err = e.place(ctx, job.Queue, &member.EnqueueItem)
	return member, err
}

// place returns the partition of an item, and refuses a group that the queue, or that of a job that may follow, cannot have.
func (e *Enqueuer) place(ctx context.Context, queue string, item *protocol.EnqueueItem) (protocol.Partition, error) {
	n, err := e.counts.of(ctx, queue, time.Now())
	if err == nil {
		err = e.counts.checkGroups(ctx, item, queue, n)
	}
	return protocol.Partition{Queue: queue, Index: protocol.PartitionOf(item.ID, n)}, err
}

// After checks a job that is added at the end of a batch: a group needs the only partition of its queue.
func (e *Enqueuer) After(ctx context.Context, queue, id, group string, follow []protocol.QueueGroup) error {
	_, err := e.place(ctx, queue, &protocol.EnqueueItem{ID: id, Group: group, FollowsIn: follow})
	return err
}

// Fit returns an error if the store cannot be trusted with jobs.
func (e *Enqueuer) Fit(ctx context.Context) error {
	if e.options.Bad != nil {
		return e.options.Bad
	}
	_, err := e.counts.fit.Check(ctx)
	return err
}

// OpenBatch creates a batch, or continues with one, see batch.Open.
func (e *Enqueuer) OpenBatch(ctx context.Context, def protocol.BatchDefinition, same func(stored *protocol.BatchDefinition) bool) (*batch.Filling, error) {
	return batch.Open(ctx, e.batcher.store, e.batches(), def, same, e.added)
}

// batches returns how calls for batches are made.
func (e *Enqueuer) batches() batch.Options {
	return batch.Options{Log: e.options.Log, Timeout: e.options.SendTimeout}
}

// added reports members of a batch to observers.
func (e *Enqueuer) added(items []batch.Item) {
	report := e.options.Observe.Enqueued
	if report == nil {
		return
	}
	events, now := spareEvents.Get().(*observe.Batch), e.batcher.now()
	for i := range items {
		item := &items[i]
		if add(events, item.Partition.Queue, item.Name, item.ID, dueAt(item.At, item.In, now)); events.Full() {
			events.Report(report)
		}
	}
	events.Report(report)
	spareEvents.Put(events)
}

// growOne adds one job to a batch that runs.
func (e *Enqueuer) growOne(ctx context.Context, job *Job, item *protocol.EnqueueItem) (existing bool, err error) {
	partition, err := e.place(ctx, job.Queue, item)
	if err != nil {
		return false, err
	}
	answer, err := e.grow(ctx, batch.Growth{Batch: job.Batch, Partition: partition, Items: []protocol.EnqueueItem{*item}})
	switch {
	case err != nil:
		return false, refusedGrowth(job.Batch, err)
	case answer.Full[0] != nil:
		return false, answer.Full[0]
	}
	return answer.Existing[0], nil
}

// refusedGrowth returns the error for a batch that takes nothing.
func refusedGrowth(batch string, err error) error {
	if errors.Is(err, protocol.ErrNotFound) || errors.Is(err, protocol.ErrConflict) {
		return protocol.Wrapping(protocol.Invalid("InBatch", batch, "a batch that runs"), err)
	}
	return err
}

// A growing item of a call belongs to a batch.
type growing struct {
	index int
	batch string
}

// A grown item is one that was added to its batch, or existed.
type grown struct {
	index     int
	partition protocol.Partition
}

// growAll sends the items that belong to batches, and stops at the first failure.
func (e *Enqueuer) growAll(ctx context.Context, b *jobSet, jobs Jobs) error {
	type place struct {
		batch     string
		partition protocol.Partition
	}
	var order []place
	of := make(map[place][]int)
	for _, g := range b.grows {
		at, err := e.place(ctx, b.queueOf(g.index), &b.items[g.index])
		if err != nil {
			return fmt.Errorf("chime: enqueue item %d: %w", g.index, err)
		}
		p := place{g.batch, at}
		if _, known := of[p]; !known {
			order = append(order, p)
		}
		of[p] = append(of[p], g.index)
	}
	full, left := 0, len(b.grows)
	for _, p := range order {
		for waiting := of[p]; len(waiting) > 0; {
			n := growable(b, waiting)
			growth := batch.Growth{Batch: p.batch, Partition: p.partition}
			for _, i := range waiting[:n] {
				growth.Items = append(growth.Items, b.items[i])
			}
			answer, err := e.grow(ctx, growth)
			if err != nil {
				return fmt.Errorf("chime: enqueue %d of %d items of batches, from item %d on: %w", left, len(b.grows), waiting[0], refusedGrowth(p.batch, err))
			}
			for at, i := range waiting[:n] {
				if answer.Full[at] != nil {
					jobs.Full(i)
					full++
					continue
				}
				b.grown = append(b.grown, grown{i, p.partition})
				if answer.Existing[at] {
					jobs.Exists(i)
				} else {
					e.reportItem(b, i)
				}
			}
			waiting, left = waiting[n:], left-n
		}
	}
	if full > 0 {
		return fmt.Errorf("chime: enqueue %d of %d items of batches: %w", full, len(b.grows), protocol.ErrGroupFull)
	}
	return nil
}

// growable returns how many of these items are sent in one call.
func growable(b *jobSet, indexes []int) (n int) {
	bytes := 0
	for n < len(indexes) && n < protocol.MaxItems {
		if bytes += len(b.items[indexes[n]].Body); n > 0 && bytes > protocol.MaxBytes {
			break
		}
		n++
	}
	return n
}
