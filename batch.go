package chime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// An Item is one job for EnqueueMany.
type Item struct {
	Name    string
	Args    any
	Options []EnqueueOption
}

// EnqueueMany puts many jobs on their queues, in as few calls as that takes, and returns one receipt an item, in order.
//
// If anything is wrong with any item, none is sent; the error says what is wrong with each. Jobs go in calls of up to 500,
// each of which arrives whole or not at all; after an error some may be there, see Enqueue. Items of one queue that run now
// are taken in the order of items if the queue has one partition.
func (e *Enqueuer) EnqueueMany(ctx context.Context, items []Item) ([]Receipt, error) {
	receipts := make([]Receipt, len(items))
	m := spareManifests.Get().(*manifest)
	if err := m.check(e, items, receipts); err != nil {
		m.reuse()
		return receipts, err
	}
	batches, err := m.split(ctx, e)
	if err != nil {
		m.reuse()
		return receipts, fmt.Errorf("chime: enqueue %d items: %w", len(items), err)
	}
	err = e.sendMany(ctx, batches, receipts)
	if err == nil { // else a call may still be under way, or read by whoever has not answered it
		m.reuse()
	}
	return receipts, err
}

// A manifest is the checked items of one EnqueueMany. Its memory is used again once the store has them all.
type manifest struct {
	items  []protocol.EnqueueItem
	queues []string // of the items; empty: all go to queue
	queue  string
	room   wire.Bodies
}

const (
	maxSpareItems  = 4096
	maxSpareBodies = 1 << 20
)

var spareManifests = sync.Pool{New: func() any { return new(manifest) }}

func (m *manifest) reuse() {
	clear(m.items)
	clear(m.queues)
	m.items, m.queues = m.items[:0], m.queues[:0]
	if cap(m.items) > maxSpareItems {
		m.items, m.queues = nil, nil
	}
	m.room.Reset(maxSpareBodies)
	spareManifests.Put(m)
}

// check checks all items and fills in the receipts' IDs. The error says what is wrong with each.
func (m *manifest) check(e *Enqueuer, items []Item, receipts []Receipt) error {
	m.items = slices.Grow(m.items, len(items))[:len(items)]
	m.queue = e.options.Queue
	var s enqueueSettings
	var ids idBlock
	var bad []error
	now := e.sender.now()
	for i := range items {
		item := &items[i]
		e.apply(item.Options, &s)
		id := s.id
		if !s.own {
			id = ids.next(len(items) - 1 - i)
		}
		err := e.item(&m.items[i], id, &s, item.Name, item.Args, now, &m.room)
		receipts[i].ID = m.items[i].ID
		m.route(i, s.queue)
		if err != nil && e.bad == nil {
			bad = append(bad, fmt.Errorf("chime: enqueue item %d %.40q: %w", i, item.Name, err))
		}
	}
	if e.bad != nil {
		return fmt.Errorf("chime: enqueue: %w", e.bad)
	}
	return errors.Join(bad...)
}

// route notes the queue of item i, the last one so far.
func (m *manifest) route(i int, queue string) {
	if i == 0 {
		m.queue = queue
	}
	if len(m.queues) == 0 {
		if queue == m.queue {
			return
		}
		for range i {
			m.queues = append(m.queues, m.queue)
		}
	}
	m.queues = append(m.queues, queue)
}

// batch is what of many items goes to one partition; of says where each was among them, nil that they are all.
type batch struct {
	partition protocol.Partition
	parcel    *parcel
	of        []int
}

func (b *batch) place(i int) int {
	if b.of == nil {
		return i
	}
	return b.of[i]
}

// split tells what goes where. Usually all of it goes to one place.
func (m *manifest) split(ctx context.Context, e *Enqueuer) ([]batch, error) {
	if len(m.items) == 0 {
		return nil, nil
	}
	if len(m.queues) == 0 {
		n, err := e.partitionsOf(ctx, m.queue)
		if err != nil {
			return nil, err
		}
		if n == 1 {
			all := newParcel()
			all.items = m.items
			return []batch{{partition: protocol.Partition{Queue: m.queue}, parcel: all}}, nil
		}
	}
	var batches []batch
	places := make(map[protocol.Partition]int)
	for i := range m.items {
		queue := m.queue
		if len(m.queues) > 0 {
			queue = m.queues[i]
		}
		n, err := e.partitionsOf(ctx, queue)
		if err != nil {
			return nil, err
		}
		partition := protocol.Partition{Queue: queue, Index: protocol.PartitionOf(m.items[i].ID, n)}
		at, ok := places[partition]
		if !ok {
			at = len(batches)
			places[partition], batches = at, append(batches, batch{partition: partition, parcel: newParcel()})
		}
		b := &batches[at]
		b.parcel.items, b.of = append(b.parcel.items, m.items[i]), append(b.of, i)
	}
	return batches, nil
}

func (e *Enqueuer) sendMany(ctx context.Context, batches []batch, receipts []Receipt) error {
	partitions := make([]protocol.Partition, len(batches))
	parcels := make([]*parcel, len(batches))
	for i, b := range batches {
		partitions[i], parcels[i] = b.partition, b.parcel
	}
	e.sender.post(partitions, parcels, false)
	var failed []error
	for i := range batches {
		b := &batches[i]
		err, from := e.wait(ctx, b.parcel), 0
		if err == nil {
			err, from = b.parcel.err, b.parcel.failed
			for i, existing := range b.parcel.existing {
				receipts[b.place(i)].Existing = existing
			}
			if err == nil {
				continue
			}
		}
		n := len(b.parcel.items)
		failed = append(failed, fmt.Errorf("chime: enqueue %d of %d items on %q, from item %d on: %w",
			n-from, n, b.partition.Queue, b.place(from), err))
	}
	return errors.Join(failed...)
}
