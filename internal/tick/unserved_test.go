package tick

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// countedQueues is a store with queues, of which workers serve some. It records which queues were counted.
type countedQueues struct {
	protocol.QueueStore
	protocol.WorkerStore
	stats   map[string]protocol.QueueStats
	served  string
	counted []string
}

func (s *countedQueues) Queues(context.Context, string) (all []protocol.QueueSize, next string, err error) {
	for queue := range s.stats {
		all = append(all, protocol.QueueSize{Queue: queue, Partitions: 1})
	}
	return all, "", nil
}

func (s *countedQueues) Workers(context.Context) ([]protocol.WorkerEntry, error) {
	return []protocol.WorkerEntry{{Name: "w", Queues: map[string]int{s.served: 1}}}, nil
}

func (s *countedQueues) QueueStats(_ context.Context, queues []string) (stats []protocol.QueueStats, err error) {
	s.counted = queues
	for _, queue := range queues {
		stats = append(stats, s.stats[queue])
	}
	return stats, nil
}

func TestAQueueThatNobodyServesIsLoggedOnce(t *testing.T) {
	var text strings.Builder
	store, now := &countedQueues{stats: map[string]protocol.QueueStats{}, served: "served"}, time.Now()
	u := unserved{store: store, log: slog.New(slog.NewTextHandler(&text, nil)), own: map[string]int{"own": 1}}
	for i, step := range []struct {
		stats  protocol.QueueStats
		served string
		want   int // lines so far
		why    string
	}{
		{protocol.QueueStats{Waiting: 1}, "", 0, "the first check: its worker may be restarting"},
		{protocol.QueueStats{Waiting: 2}, "", 1, "no worker has come since"},
		{protocol.QueueStats{Waiting: 3}, "", 1, "it was logged"},
		{protocol.QueueStats{Waiting: 3, Running: 1}, "", 1, "a job runs"},
		{protocol.QueueStats{Waiting: 2, Done: 1}, "", 1, "the first check since"},
		{protocol.QueueStats{Waiting: 2, Done: 2}, "", 1, "a job has ended"},
		{protocol.QueueStats{Waiting: 2, Done: 2, Paused: true}, "", 1, "the queue is paused"},
		{protocol.QueueStats{Waiting: 2, Done: 2}, "", 1, "the first check since"},
		{protocol.QueueStats{Waiting: 2, Done: 2}, "mail", 1, "a worker serves it, whose slots are all busy"},
		{protocol.QueueStats{Waiting: 2, Done: 2}, "", 1, "the first check since"},
		{protocol.QueueStats{Waiting: 2, Done: 2}, "", 2, "no worker has come since"},
		{protocol.QueueStats{Done: 4}, "", 2, "nothing waits"},
		{protocol.QueueStats{Done: 4, Delayed: 1, FirstDue: now.Add(time.Minute)}, "", 2, "a job is delayed"},
		{protocol.QueueStats{Done: 4, Delayed: 1, FirstDue: now.Add(time.Minute)}, "", 2, "it is still delayed"},
		{protocol.QueueStats{Done: 4, Delayed: 1, FirstDue: now.Add(-time.Minute)}, "", 2, "the first check since it was due"},
		{protocol.QueueStats{Done: 4, Delayed: 1, FirstDue: now.Add(-time.Minute)}, "", 3, "it is overdue"},
	} {
		store.served = step.served
		step.stats.Queue, step.stats.Now, step.stats.Partitions = "mail", now, 1
		store.stats = map[string]protocol.QueueStats{"mail": step.stats, "own": {Queue: "own", Partitions: 1, Waiting: 9, Now: now}}
		if err := u.check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(text.String(), "event=queue.unserved queue=mail"); got != step.want {
			t.Errorf("check %d: %d lines, want %d: %s", i+1, got, step.want, step.why)
		}
		if strings.Contains(text.String(), "queue=own") {
			t.Fatalf("check %d: a queue of this process was logged", i+1)
		}
	}
}

// A store may have any number of queues without jobs. A check counts only queues that no worker serves, and forgets those that were deleted.
func TestOnlyQueuesThatNobodyServesAreCounted(t *testing.T) {
	store := &countedQueues{stats: map[string]protocol.QueueStats{}, served: "q-0"}
	u := unserved{store: store, log: slog.New(slog.DiscardHandler)}
	for i := range 3 {
		name := fmt.Sprint("q-", i)
		store.stats[name] = protocol.QueueStats{Queue: name, Partitions: 1, Waiting: 1}
	}
	for range 2 {
		if err := u.check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(store.counted, " "); got != "q-1 q-2" {
			t.Errorf("counted %q, want the two queues that nobody serves", got)
		}
	}
	delete(store.stats, "q-1")
	for range 3 {
		if err := u.check(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(u.found) != 1 {
		t.Errorf("%d queues are remembered, want the one that exists", len(u.found))
	}
}
