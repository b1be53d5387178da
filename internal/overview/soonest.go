package overview

import (
	"context"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
)

// Soonest is Schedules.Soonest on queues that were counted a moment ago: it searches only those that have schedules.
func Soonest(ctx context.Context, store chime.Store, queues []*chime.QueueInfo, n int) ([]*chime.Schedule, error) {
	some := []protocol.QueueSize{}
	for _, q := range queues {
		if q.Schedules > 0 {
			some = append(some, protocol.QueueSize{Queue: q.Name, Partitions: q.Partitions})
		}
	}
	return chime.NewSchedules(countedStore{store, some}).Soonest(ctx, n)
}

// A countedStore is a store some of whose queues have schedules.
type countedStore struct {
	chime.Store
	queues []protocol.QueueSize
}

// Protocol is the protocol of the store.
func (s countedStore) Protocol() protocol.Store { return countedProtocol{s.Store.Protocol(), s.queues} }

type countedProtocol struct {
	protocol.Store
	queues []protocol.QueueSize
}

// Soonest searches the queues with schedules.
func (p countedProtocol) Soonest(ctx context.Context, n int, _ []protocol.QueueSize) ([]protocol.Coming, error) {
	return p.Store.Soonest(ctx, n, p.queues)
}
