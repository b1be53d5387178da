package tick

import (
	"context"

	"github.com/chimejobs/chime/internal/protocol"
)

// maxWatched is about how many partitions a ticker watches at a time, in addition to those of its own declarations and of queues that live
// workers serve.
const maxWatched = 2000

// A round chooses the partitions that a ticker watches. Every user who may enqueue may create any number of queues, so a ticker does not watch
// all of them each time. It watches
//
//   - the queues of its own declarations and those that live workers serve, always;
//   - the others in turn, about maxWatched partitions of them until next is called again. If there are fewer, that is all of them.
//
// So a job that a worker could run is never late because there are many queues. A schedule on a queue that no worker serves may be placed late:
// no worker would run its jobs.
type round struct {
	store protocol.QueueStore
	own   []string // queues of the ticker's declarations

	rest   []protocol.QueueSize // rest of the last page of the registry: these have not had their turn
	cursor string               // of the page after that
	more   bool                 // not every partition has had its turn in this round
	whole  bool                 // next returned every existing partition
}

// next returns the partitions to watch until next is called again.
func (r *round) next(ctx context.Context) ([]protocol.Partition, error) {
	begins := !r.more
	if len(r.rest) == 0 {
		if err := r.read(ctx); err != nil {
			return nil, err
		}
	}
	var all expansion
	if begins && r.cursor == "" && sizeOf(r.rest) <= maxWatched { // every existing queue
		all.add(r.rest...)
		r.rest, r.more, r.whole = nil, false, true
		return all.partitions, nil
	}
	served, err := r.store.Served(ctx, r.own)
	if err != nil {
		return nil, err
	}
	all.add(served...)
	r.more, r.whole = true, false
	for limit := len(all.partitions) + maxWatched; r.more && len(all.partitions) < limit; {
		if len(r.rest) == 0 {
			if err := r.read(ctx); err != nil {
				return nil, err
			}
		}
		for len(r.rest) > 0 && len(all.partitions) < limit {
			all.add(r.rest[0])
			r.rest = r.rest[1:]
		}
		r.more = len(r.rest) > 0 || r.cursor != ""
	}
	return all.partitions, nil
}

// read reads the next page of the registry.
func (r *round) read(ctx context.Context) error {
	page, cursor, err := r.store.Queues(ctx, r.cursor)
	if err == nil {
		r.rest, r.cursor = page, cursor
	}
	return err
}

func sizeOf(queues []protocol.QueueSize) (partitions int) {
	for _, q := range queues {
		partitions += q.Partitions
	}
	return partitions
}

// An expansion is the list of the partitions of queues; each queue is in it once.
type expansion struct {
	partitions []protocol.Partition
	queues     map[string]bool
}

func (e *expansion) add(queues ...protocol.QueueSize) {
	if e.queues == nil {
		e.queues = make(map[string]bool)
	}
	for _, q := range queues {
		if e.queues[q.Queue] {
			continue
		}
		e.queues[q.Queue] = true
		for i := range q.Partitions {
			e.partitions = append(e.partitions, protocol.Partition{Queue: q.Queue, Index: i})
		}
	}
}
