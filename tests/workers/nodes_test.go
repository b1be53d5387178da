package workers_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/chimejobs/chime/tests/internal/hookstore"
)

// nodes gives every queue its own node.
func nodes(f *fixture.Fixture) *hookstore.Store {
	store := f.Hooked()
	store.QueuesAreNodes()
	return store
}

func jobIDs(queue string, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s-%05d", queue, i)
	}
	return ids
}

// If a node refuses calls or does not answer, the queues of the other nodes are served without delay.
func TestANodeThatFailsCostsTheOtherNodesQueuesNoTime(t *testing.T) {
	for name, after := range map[string]time.Duration{"refuses": 0, "hangs": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				store := nodes(f)
				w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 20, Queues: map[string]int{"a": 1, "b": 1}, Logger: fixture.Quiet()})
				var mu sync.Mutex
				added := make(map[string]time.Time)
				var ran int
				var longest time.Duration
				w.Handle("a", func(_ context.Context, job *chime.Job) error {
					mu.Lock()
					defer mu.Unlock()
					ran++
					longest = max(longest, time.Since(added[job.ID]))
					return nil
				})
				stop := fixture.Start(w)
				fixture.Pass(5 * time.Second)
				store.FailNode("b", after)
				for i := range 300 {
					id := fmt.Sprint("job-", i)
					mu.Lock()
					added[id] = time.Now()
					mu.Unlock()
					f.Enqueue("a", job("a"), id)
					fixture.Pass(time.Second)
				}
				if ran != 300 || longest > 20*time.Millisecond {
					t.Errorf("while the node of b fails, %d of 300 jobs of a ran, the last %v after it was added; want all within 20 ms", ran, longest)
				}
				store.RepairNodes()
				fixture.Pass(15 * time.Second)
				if err := stop(); err != nil {
					t.Error(err)
				}
				f.CheckEmpty()
			})
		})
	}
}

// A queue with a failing node releases its share of the slots: the slots that its calls requested, and the slots that its handlers leave.
func TestANodeThatFailsCostsTheOtherNodesQueuesNoSlots(t *testing.T) {
	for _, test := range []struct {
		name        string
		concurrency int
		busy        bool // the slots are busy with b when its node begins to fail
		after       time.Duration
	}{
		{"an idle worker, the node refuses", 40, false, 0},
		{"an idle worker, the node hangs", 40, false, 12 * time.Second},
		{"one slot, busy with b", 1, true, 0},
		{"two slots, busy with b", 2, true, 0},
		{"forty slots, busy with b", 40, true, 0},
		{"forty slots, busy with b, the node hangs", 40, true, 12 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				store := nodes(f)
				w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: test.concurrency, Queues: map[string]int{"a": 1, "b": 9}, Logger: fixture.Quiet()})
				var a, running, most atomic.Int64
				w.Handle("a", func(context.Context, *chime.Job) error {
					most.Store(max(most.Load(), running.Add(1)))
					time.Sleep(10 * time.Second) // fake time: the job takes this long
					running.Add(-1)
					a.Add(1)
					return nil
				})
				w.Handle("b", func(context.Context, *chime.Job) error {
					time.Sleep(time.Second) // fake time: the job takes this long
					return nil
				})
				added := 200 * test.concurrency
				if test.busy {
					f.Enqueue("b", job("b"), jobIDs("b", added)...)
				}
				stop := fixture.Start(w)
				fixture.Pass(3500 * time.Millisecond)
				store.FailNode("b", test.after)
				f.Enqueue("a", job("a"), jobIDs("a", added)...)
				fixture.Pass(5 * time.Second)
				most.Store(0)
				a.Store(0)
				fixture.Pass(10 * time.Minute)
				if got := int(most.Load()); got != test.concurrency {
					t.Errorf("while the node of b fails, at most %d jobs of a run at once, want %d", got, test.concurrency)
				}
				if want := test.concurrency * 58; int(a.Load()) < want { // of 60 rounds of 10 s
					t.Errorf("while the node of b fails, %d jobs of a ran in ten minutes, want at least %d", a.Load(), want)
				}
				store.RepairNodes()
				fixture.Pass(30 * time.Second)
				if got := store.Kinds()[protocol.SettleDone]; test.busy && got == int(a.Load()) {
					t.Error("no outcome of b from this time has counted")
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
				f.CheckEmpty()
			})
		})
	}
}

// The sessions of a node are extended even if another node does not answer.
func TestANodeThatHangsCostsTheOtherNodesNoSession(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := nodes(f)
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 4, Queues: map[string]int{"a": 1, "b": 1}, Logger: fixture.Quiet()})
		ended := make(map[string]error)
		w.Handle("long", func(ctx context.Context, job *chime.Job) error {
			select {
			case <-ctx.Done():
				ended[job.Queue] = context.Cause(ctx)
			case <-time.After(5 * time.Minute):
			}
			return nil
		})
		f.Enqueue("a", job("long"), "a")
		f.Enqueue("b", job("long"), "b")
		stop := fixture.Start(w)
		fixture.Pass(time.Second)
		store.FailNode("b", 14*time.Second) // a read that ends after go-redis's retries
		fixture.Pass(time.Minute)
		if len(ended) != 1 || ended["b"] == nil {
			t.Errorf("the ctx of these handlers ended: %v; want only that of b", ended)
		}
		store.RepairNodes()
		fixture.Pass(5 * time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}
