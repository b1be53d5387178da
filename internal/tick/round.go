package tick

import (
	"context"

	"github.com/chimejobs/chime/internal/protocol"
)

// maxWatched is about how many partitions a ticker looks after at a time, besides those of its own declarations and of queues that
// live workers serve.
const maxWatched = 2000

// A round chooses the partitions that a ticker looks after. Anybody who may enqueue may make queues, any number of them, so a ticker
// does not look at all of them each time. It looks after
//
//   - the queues of its own declarations and those that live workers serve, always;
//   - the others in turn, about maxWatched partitions of them until next is called again. Where there are fewer, that is all of them.
//
// So what a worker could run is never late because there are many queues. A schedule on a queue that nobody serves may be placed late,
// as nobody would run its jobs.
type round struct {
	store protocol.QueueStore
	own   []string // queues of the ticker's declarations

	rest   []protocol.QueueSize // of the page of the registry that was read last: those whose turn has not come
	cursor string               // of the page after that
	more   bool                 // not every partition has had its turn in this round
	whole  bool                 // next returned every partition there is
}

// next returns the partitions to look after until next is called again.
func (r *round) next(ctx context.Context) ([]protocol.Partition, error) {
	served, err := r.store.Served(ctx, r.own)
	if err != nil {
		return nil, err
	}
	var partitions []protocol.Partition
	listed := make(map[string]bool, len(served))
	add := func(q protocol.QueueSize) {
		if listed[q.Queue] {
			return
		}
		listed[q.Queue] = true
		for i := range q.Partitions {
			partitions = append(partitions, protocol.Partition{Queue: q.Queue, Index: i})
		}
	}
	for _, q := range served {
		add(q)
	}
	r.whole = !r.more
	r.more = true
	for limit := len(partitions) + maxWatched; r.more && len(partitions) < limit; {
		if len(r.rest) == 0 {
			page, cursor, err := r.store.Queues(ctx, r.cursor)
			if err != nil {
				return nil, err
			}
			r.rest, r.cursor = page, cursor
		}
		for len(r.rest) > 0 && len(partitions) < limit {
			add(r.rest[0])
			r.rest = r.rest[1:]
		}
		r.more = len(r.rest) > 0 || r.cursor != ""
	}
	r.whole = r.whole && !r.more
	return partitions, nil
}
