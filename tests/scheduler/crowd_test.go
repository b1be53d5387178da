package scheduler_test

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// These tests are about what a scheduler does with twenty thousand queues or partitions. What it looks at is counted before the server
// would carry it out: there is nothing on these queues.

const defaultQueue = "default" // of a schedule, if nothing is set

// A crowdedStore is a store with many registered queues that nobody serves, and one that workers do. It answers the registry in pages
// and counts at which queues a scheduler looks.
type crowdedStore struct {
	protocol.Store
	served string
	idle   int

	mu                     sync.Mutex
	owed, polled, swept    map[string]int
	searches, polls, width int // width: of the widest call
}

func newCrowdedStore(store protocol.Store, served string, idle int) *crowdedStore {
	return &crowdedStore{Store: store, served: served, idle: idle, owed: map[string]int{}, polled: map[string]int{}, swept: map[string]int{}}
}

func (s *crowdedStore) Protocol() protocol.Store { return s }

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

// Owed searches the queue of the schedules; nothing is owed on the others.
func (s *crowdedStore) Owed(ctx context.Context, partitions []protocol.Partition) ([]protocol.Owed, error) {
	s.look(s.owed, partitions)
	s.searches++
	return s.Store.Owed(ctx, slices.DeleteFunc(slices.Clone(partitions), func(p protocol.Partition) bool { return p.Queue != defaultQueue }))
}

func (s *crowdedStore) Poll(_ context.Context, calls []protocol.PollCall) []protocol.PollAnswer {
	answers, partitions := make([]protocol.PollAnswer, len(calls)), make([]protocol.Partition, len(calls))
	for i := range calls {
		partitions[i], answers[i].Now = calls[i].Partition, time.Now()
	}
	s.look(s.polled, partitions)
	s.polls++
	return answers
}

func (s *crowdedStore) Sweep(_ context.Context, partitions []protocol.Partition, _ time.Duration) []protocol.SweepAnswer {
	s.look(s.swept, partitions)
	return make([]protocol.SweepAnswer, len(partitions))
}

func (s *crowdedStore) EndPauses(_ context.Context, partitions []protocol.Partition) (protocol.EndedPauses, error) {
	s.look(map[string]int{}, partitions)
	return protocol.EndedPauses{Next: -1}, nil
}

func (s *crowdedStore) Sample(_ context.Context, partitions []protocol.Partition, _ int) []protocol.SampleAnswer {
	return make([]protocol.SampleAnswer, len(partitions))
}

func (s *crowdedStore) QueueStats(context.Context, []string) ([]protocol.QueueStats, error) {
	return nil, nil
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

// Anybody who may enqueue may make queues. A leader looks at what could be late each time, and at the others in turn.
func TestALeaderLooksAtServedQueuesEachTimeAndAtManyIdleOnesInTurn(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		store := newCrowdedStore(b.raw, "busy", 20_000)
		stop := b.startOn(store, chime.SchedulerOptions{}, b.declaring("minutely", everyMinute))
		fixture.Pass(10 * time.Minute)
		stop()
		if store.width > 2500 {
			t.Errorf("one call is about %d partitions, want at most 2500 of %d", store.width, store.idle)
		}
		for _, queue := range []string{"busy", defaultQueue} {
			if store.searches < 100 || store.owed[queue] != store.searches || store.polls < 50 || store.polled[queue] != store.polls {
				t.Errorf("queue %s: %d of %d searches and %d of %d polls, want all of them, and a search every 4 s", queue, store.owed[queue], store.searches, store.polled[queue], store.polls)
			}
		}
		if least, most := store.least(store.owed), store.most(store.owed); least < 3 || most > 40 {
			t.Errorf("idle queues were searched %d to %d times in ten minutes, want 3 to 40", least, most)
		}
		if least, most := store.least(store.polled), store.most(store.polled); least < 3 || most > 12 {
			t.Errorf("idle queues were polled %d to %d times in ten minutes, want 3 to 12", least, most)
		}
	})
}

func TestALeaderSweepsEveryQueueHoweverManyThereAre(t *testing.T) {
	onIdleBench(t, func(t *testing.T, b *bench) {
		store := newCrowdedStore(b.raw, "busy", 20_000)
		stop := b.startOn(store, chime.SchedulerOptions{}, nil)
		fixture.Pass(time.Hour)
		stop()
		if least := store.least(store.swept); least < 1 || store.swept["busy"] < 10 {
			t.Errorf("in an hour an idle queue was swept %d times and the one that is served %d times, want 1 and 10 or more", least, store.swept["busy"])
		}
	})
}

// A slowSweep is a store with twenty thousand partitions, each of which takes two milliseconds to sweep.
type slowSweep struct {
	protocol.Store
	mu    *sync.Mutex
	swept *int
}

func (s slowSweep) Protocol() protocol.Store { return s }

func (s slowSweep) Queues(context.Context, string) ([]protocol.QueueSize, string, error) {
	return []protocol.QueueSize{{Queue: defaultQueue, Partitions: 20_000}}, "", nil
}

func (s slowSweep) Served(context.Context, []string) ([]protocol.QueueSize, error) { return nil, nil }

func (s slowSweep) Poll(_ context.Context, calls []protocol.PollCall) []protocol.PollAnswer {
	return make([]protocol.PollAnswer, len(calls))
}

func (s slowSweep) Owed(context.Context, []protocol.Partition) ([]protocol.Owed, error) {
	return nil, nil
}

func (s slowSweep) EndPauses(context.Context, []protocol.Partition) (protocol.EndedPauses, error) {
	return protocol.EndedPauses{Next: -1}, nil
}

func (s slowSweep) Sample(_ context.Context, partitions []protocol.Partition, _ int) []protocol.SampleAnswer {
	return make([]protocol.SampleAnswer, len(partitions))
}

func (s slowSweep) QueueStats(context.Context, []string) ([]protocol.QueueStats, error) {
	return nil, nil
}

func (s slowSweep) Sweep(_ context.Context, partitions []protocol.Partition, _ time.Duration) []protocol.SweepAnswer {
	time.Sleep(time.Duration(len(partitions)) * 2 * time.Millisecond) // fake time: the two milliseconds of each
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.swept += len(partitions)
	return make([]protocol.SweepAnswer, len(partitions))
}

func TestSweepingManyPartitionsDoesNotCostTheLead(t *testing.T) {
	onIdleBench(t, func(t *testing.T, b *bench) {
		store := slowSweep{b.raw, &sync.Mutex{}, new(int)}
		var stops []func()
		for range 2 {
			stops = append(stops, b.startOn(store, chime.SchedulerOptions{}, nil))
		}
		fixture.Pass(time.Minute)
		was, term := b.leader()
		minutes := long.Seeds(7, 15)
		fixture.Pass(time.Duration(minutes) * time.Minute)
		if id, now := b.leader(); id != was || now != term {
			t.Errorf("%d minutes on %s leads with term %d, want %s with %d still", minutes, id, now, was, term)
		}
		for _, stop := range stops {
			stop()
		}
		if *store.swept < minutes*20_000/6 {
			t.Errorf("%d partitions were swept in %d minutes, want all every six", *store.swept, minutes)
		}
	})
}
