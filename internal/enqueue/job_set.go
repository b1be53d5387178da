package enqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// Jobs are many jobs to enqueue together.
type Jobs struct {
	Len int
	// Job fills in job i. It is called once for each job, in order; the Job is reused for the next one.
	Job func(i int, job *Job)
	// Named receives the ID and the queue of job i.
	Named func(i int, id, queue string)
	// Exists is called if job i was not added, because its ID existed.
	Exists func(i int)
	// Full is called if job i was not added, because its group is full.
	Full func(i int)
	// Replaced is called if job i replaces another one.
	Replaced func(i int)
	// Refuse returns the error for job i, with the caller's description of the job.
	Refuse func(i int, err error) error
}

// Many enqueues jobs in as few calls as possible. If anything is wrong with any of them, none is sent, and the error describes the problem of
// each.
func (e *Enqueuer) Many(ctx context.Context, jobs Jobs) error {
	b := spareSets.Get().(*jobSet)
	if err := b.fill(e, jobs); err != nil {
		b.reuse()
		return err
	}
	var shares []share
	err := error(protocol.ErrNilContext)
	if ctx != nil {
		shares, err = b.split(ctx, e.counts)
	}
	if err != nil {
		b.reuse()
		return fmt.Errorf("chime: enqueue %d items: %w", jobs.Len, err)
	}
	err = errors.Join(e.sendShares(ctx, b, shares, jobs), e.growAll(ctx, b, jobs), e.replaceAll(ctx, b, jobs))
	if err == nil { // otherwise a call may still be under way, or the store may still read it
		b.reuse()
		return nil
	}
	for i := range shares {
		if shares[i].added { // the caller may repeat all items
			e.batcher.outcomes.add(shares[i].partition, shares[i].pending.carriedOut(0, len(shares[i].pending.items)))
		}
	}
	for _, g := range b.grown {
		e.batcher.outcomes.add(g.partition, b.items[g.index:g.index+1])
	}
	return err
}

// A jobSet is the checked items of one call of Many. Its memory is reused once the store has received all items.
type jobSet struct {
	items   []protocol.EnqueueItem
	queues  []string // of the items; empty: all belong on queue
	queue   string
	replace []int     // indexes of the items that replace: each is sent in its own call, after the others
	grows   []growing // the items that become members of batches: they are sent in calls of their own
	grown   []grown   // the items of grows that were added, or existed
	room    wire.Bodies
	names   []string  // of the items, if there is an observer
	now     time.Time // when the items were made
}

const (
	maxSpareItems  = 4096
	maxSpareBodies = protocol.MaxBytes
)

var spareSets = sync.Pool{New: func() any { return new(jobSet) }}

func (b *jobSet) reuse() {
	clear(b.items)
	clear(b.queues)
	clear(b.names)
	b.items, b.queues, b.replace, b.grows, b.grown, b.names = b.items[:0], b.queues[:0], b.replace[:0], b.grows[:0], b.grown[:0], b.names[:0]
	if cap(b.items) > maxSpareItems {
		b.items, b.queues, b.replace, b.grows, b.grown, b.names = nil, nil, nil, nil, nil, nil
	}
	b.room.Reset(maxSpareBodies)
	spareSets.Put(b)
}

// fill checks all jobs and names them.
func (b *jobSet) fill(e *Enqueuer, jobs Jobs) error {
	b.items = slices.Grow(b.items, jobs.Len)[:jobs.Len]
	var job Job
	var ids idBlock
	var bad []error
	b.now = e.batcher.now()
	for i := range b.items {
		job = Job{Problems: job.Problems[:0]}
		jobs.Job(i, &job)
		if !job.Own {
			job.ID = ids.next(len(b.items) - 1 - i)
		}
		err := e.item(&b.items[i], &job, b.now, &b.room)
		jobs.Named(i, b.items[i].ID, job.Queue)
		b.note(i, job.Queue)
		if e.options.Observe.Enqueued != nil {
			b.names = append(b.names, job.Name)
		}
		switch {
		case job.Replace:
			b.replace = append(b.replace, i)
		case job.Batch != "":
			b.grows = append(b.grows, growing{i, job.Batch})
		}
		if err != nil && e.options.Bad == nil {
			bad = append(bad, jobs.Refuse(i, err))
		}
	}
	if e.options.Bad != nil {
		return fmt.Errorf("chime: enqueue: %w", e.options.Bad)
	}
	return errors.Join(bad...)
}

// note notes the queue of item i, the last one so far.
func (b *jobSet) note(i int, queue string) {
	if i == 0 {
		b.queue = queue
	}
	if len(b.queues) == 0 {
		if queue == b.queue {
			return
		}
		for range i {
			b.queues = append(b.queues, b.queue)
		}
	}
	b.queues = append(b.queues, queue)
}

// queueOf returns the queue of item i.
func (b *jobSet) queueOf(i int) string {
	if len(b.queues) == 0 {
		return b.queue
	}
	return b.queues[i]
}

// dueOf returns when item i is due.
func (b *jobSet) dueOf(i int) time.Time { return dueAt(b.items[i].At, b.items[i].In, b.now) }

// replaceAll sends the items that replace, one after the other, and stops at the first failure.
func (e *Enqueuer) replaceAll(ctx context.Context, b *jobSet, jobs Jobs) error {
	full := 0
	for at, i := range b.replace {
		switch became, err := e.replace(ctx, b.queueOf(i), &b.items[i]); {
		case err != nil:
			return fmt.Errorf("chime: enqueue %d of %d items that replace, from item %d on: %w", len(b.replace)-at, len(b.replace), i, err)
		case became == protocol.ReplaceStayed:
			jobs.Exists(i)
		case became == protocol.ReplaceFull:
			jobs.Full(i)
			full++
		case became == protocol.ReplaceDone:
			jobs.Replaced(i)
			e.reportItem(b, i)
		default:
			e.reportItem(b, i)
		}
	}
	if full > 0 {
		return fmt.Errorf("chime: enqueue %d of %d items that replace: %w", full, len(b.replace), protocol.ErrGroupFull)
	}
	return nil
}

// A share is the part of a jobSet that belongs to one partition. of has the index in the set of each of its items; nil: the share is the whole
// set.
type share struct {
	partition protocol.Partition
	pending   *pending
	of        []int
	added     bool // the store has all its items
}

func (s *share) index(i int) int {
	if s.of == nil {
		return i
	}
	return s.of[i]
}

// split divides the items among partitions. Usually there is only one.
func (b *jobSet) split(ctx context.Context, counts *partitionCounts) ([]share, error) {
	if len(b.items) == 0 {
		return nil, nil
	}
	if len(b.queues) == 0 && len(b.replace) == 0 && len(b.grows) == 0 {
		n, err := counts.of(ctx, b.queue, time.Now())
		if err != nil {
			return nil, err
		}
		if n == 1 && !slices.ContainsFunc(b.items, func(item protocol.EnqueueItem) bool { return item.FollowsIn != nil }) { // else groups are checked below
			all := newPending()
			all.items = b.items
			return []share{{partition: protocol.Partition{Queue: b.queue}, pending: all}}, nil
		}
	}
	var shares []share
	indexes := make(map[protocol.Partition]int)
	replace, grows := b.replace, b.grows
	for i := range b.items {
		if len(grows) > 0 && grows[0].index == i {
			grows = grows[1:]
			continue
		}
		queue, replaces := b.queueOf(i), len(replace) > 0 && replace[0] == i
		if replaces {
			replace = replace[1:]
		}
		if replaces && b.items[i].Group == "" {
			continue
		}
		n, err := counts.of(ctx, queue, time.Now())
		if err != nil {
			return nil, err
		}
		if err := counts.checkGroups(ctx, &b.items[i], queue, n); err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		if replaces {
			continue
		}
		partition := protocol.Partition{Queue: queue, Index: protocol.PartitionOf(b.items[i].ID, n)}
		at, ok := indexes[partition]
		if !ok {
			at = len(shares)
			indexes[partition], shares = at, append(shares, share{partition: partition, pending: newPending()})
		}
		s := &shares[at]
		s.pending.items, s.of = append(s.pending.items, b.items[i]), append(s.of, i)
	}
	return shares, nil
}

func (e *Enqueuer) sendShares(ctx context.Context, b *jobSet, shares []share, jobs Jobs) error {
	partitions := make([]protocol.Partition, len(shares))
	items := make([]*pending, len(shares))
	for i, s := range shares {
		partitions[i], items[i] = s.partition, s.pending
	}
	e.batcher.post(partitions, items, sentByGoroutine)
	var failed []error
	for i := range shares {
		s := &shares[i]
		err, from := e.wait(ctx, s.pending), 0
		if err == nil {
			err, from = s.pending.err, s.pending.failed
			for i, existing := range s.pending.existing {
				if existing {
					jobs.Exists(s.index(i))
				}
			}
			full := 0
			for i, isFull := range s.pending.full {
				if isFull != nil {
					jobs.Full(s.index(i))
					full++
				}
			}
			if s.added = err == nil; s.added {
				e.reportShare(b, s)
				if full > 0 {
					failed = append(failed, fmt.Errorf("chime: enqueue %d of %d items on %q: %w", full, len(s.pending.items), s.partition.Queue, protocol.ErrGroupFull))
				}
				continue
			}
		}
		n := len(s.pending.items)
		failed = append(failed, fmt.Errorf("chime: enqueue %d of %d items on %q, from item %d on: %w",
			n-from, n, s.partition.Queue, s.index(from), err))
	}
	return errors.Join(failed...)
}
