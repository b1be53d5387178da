package chime

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func (s *fakeScheduleStore) Queues(ctx context.Context, _ string) (queues []protocol.QueueSize, next string, err error) {
	after, before := s.enter(ctx, "queues")
	defer s.mu.Unlock()
	for queue, n := range s.sizes {
		queues = append(queues, protocol.QueueSize{Queue: queue, Partitions: n})
	}
	return queues, "", errors.Join(before, after)
}

func (s *fakeScheduleStore) Served(ctx context.Context, also []string) (queues []protocol.QueueSize, err error) {
	after, before := s.enter(ctx, "served")
	defer s.mu.Unlock()
	for _, queue := range also {
		if n := s.sizes[queue]; n > 0 {
			queues = append(queues, protocol.QueueSize{Queue: queue, Partitions: n})
		}
	}
	return queues, errors.Join(before, after)
}

func (s *fakeScheduleStore) Sample(_ context.Context, partitions []protocol.Partition, _ int) []protocol.SampleAnswer {
	return make([]protocol.SampleAnswer, len(partitions))
}

// A crowdedStore is a store with many registered queues that nobody serves, and one that workers do. It answers the registry in pages
// and counts at which queues a scheduler looks.
type crowdedStore struct {
	*fakeScheduleStore
	served string
	idle   int

	mu                     sync.Mutex
	owed, polled, swept    map[string]int
	searches, polls, width int // width: of the widest call
}

func newCrowdedStore(store *fakeScheduleStore, served string, idle int) *crowdedStore {
	return &crowdedStore{fakeScheduleStore: store, served: served, idle: idle, owed: map[string]int{}, polled: map[string]int{}, swept: map[string]int{}}
}

const crowdedPage = 700

func (s *crowdedStore) Queues(_ context.Context, cursor string) (queues []protocol.QueueSize, next string, err error) {
	from, _ := strconv.Atoi(cursor)
	to := min(from+crowdedPage, s.idle)
	for i := from; i < to; i++ {
		queues = append(queues, protocol.QueueSize{Queue: strconv.Itoa(i), Partitions: 1})
	}
	if to < s.idle {
		return queues, strconv.Itoa(to), nil
	}
	for _, queue := range []string{s.served, defaultQueue} {
		queues = append(queues, protocol.QueueSize{Queue: queue, Partitions: 1})
	}
	return queues, "", nil
}

func (s *crowdedStore) Served(_ context.Context, also []string) (queues []protocol.QueueSize, err error) {
	for _, queue := range append(slices.Clone(also), s.served) {
		queues = append(queues, protocol.QueueSize{Queue: queue, Partitions: 1})
	}
	return queues, nil
}

func (s *crowdedStore) look(at map[string]int, partitions []protocol.Partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.width = max(s.width, len(partitions))
	for _, p := range partitions {
		at[p.Queue]++
	}
}

func (s *crowdedStore) Owed(ctx context.Context, partitions []protocol.Partition) ([]protocol.Owed, error) {
	s.look(s.owed, partitions)
	s.searches++
	return s.fakeScheduleStore.Owed(ctx, partitions)
}

func (s *crowdedStore) Poll(ctx context.Context, calls []protocol.PollCall) []protocol.PollAnswer {
	partitions := make([]protocol.Partition, len(calls))
	for i := range calls {
		partitions[i] = calls[i].Partition
	}
	s.look(s.polled, partitions)
	s.polls++
	return s.fakeScheduleStore.Poll(ctx, calls)
}

func (s *crowdedStore) Sweep(_ context.Context, partitions []protocol.Partition, _ time.Duration) []protocol.SweepAnswer {
	s.look(s.swept, partitions)
	return make([]protocol.SweepAnswer, len(partitions))
}

// least returns how often the queue that was looked at least often was, of all that are idle.
func (s *crowdedStore) least(at map[string]int) int {
	least := at["0"]
	for i := range s.idle {
		least = min(least, at[strconv.Itoa(i)])
	}
	return least
}

// most is the same for the queue that was looked at most often.
func (s *crowdedStore) most(at map[string]int) int {
	idle := maps.Clone(at)
	delete(idle, s.served)
	delete(idle, defaultQueue)
	return slices.Max(slices.Collect(maps.Values(idle)))
}
