package enqueue

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/recent"
)

// numberedStore adds the jobs of a call only if its number is one more than that of its caller's last call. It remembers callers forever.
type numberedStore struct {
	protocol.Store
	last  map[string]int64 // of each caller and partition
	added map[protocol.Partition]int
}

func (s *numberedStore) Enqueue(_ context.Context, calls []protocol.EnqueueCall) []protocol.EnqueueAnswer {
	for _, c := range calls {
		caller := fmt.Sprint(c.Caller, c.Partition)
		if c.Number == s.last[caller]+1 {
			s.added[c.Partition] += len(c.Items)
		}
		s.last[caller] = c.Number
	}
	return make([]protocol.EnqueueAnswer, len(calls))
}

func (*numberedStore) CheckUse(context.Context, protocol.Use, []string) error { return nil }
func (*numberedStore) Check(context.Context) error                            { return nil }
func (*numberedStore) Partitions(context.Context, string) (int, error)        { return 1, nil }

func TestAnEnqueuerForgetsQueuesThatItDoesNotUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &numberedStore{last: map[string]int64{}, added: map[protocol.Partition]int{}}
		e := New(store, Options{SendTimeout: time.Minute, Log: slog.New(slog.DiscardHandler)})
		const every = 10 * time.Second
		most, jobs := int(2*recent.Period/every)+2, 0
		for i := range 2000 {
			queues := []string{fmt.Sprint("customer-", i), "always"}
			if i%700 == 0 { // forgotten before it is used again
				queues, jobs = append(queues, "again"), jobs+1
			}
			for _, queue := range queues {
				if _, err := e.One(context.Background(), &Job{Name: "j", Queue: queue}); err != nil {
					t.Fatal(err)
				}
			}
			if held := max(e.batcher.queues.Len(), e.counts.known.Len()); held > most {
				t.Fatalf("after %d queues the enqueuer remembers %d, want at most the %d of two periods", i, held, most)
			}
			time.Sleep(every) // fake time
		}
		for queue, want := range map[string]int{"always": 2000, "again": jobs, "customer-7": 1} {
			if added := store.added[protocol.Partition{Queue: queue}]; added != want {
				t.Errorf("queue %s: the store has added %d jobs, want %d", queue, added, want)
			}
		}
	})
}
