package chime

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func newFakeNodeStore(t *testing.T) *fakeNodeStore {
	return &fakeNodeStore{fakeJobStore: newFakeJobStore(t)}
}

func jobIDs(queue string, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s-%05d", queue, i)
	}
	return ids
}

// The queues of the other nodes are served as if nothing had happened, whether the node refuses at once or does not answer at all.
func TestANodeThatFailsCostsTheOtherNodesQueuesNoTime(t *testing.T) {
	for name, after := range map[string]time.Duration{"refuses": 0, "hangs": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newFakeNodeStore(t)
				w := NewWorker(asStore(store), WorkerOptions{Concurrency: 20, Queues: map[string]int{"a": 1, "b": 1}, Logger: quiet()})
				var mu sync.Mutex
				added := make(map[string]time.Time)
				var ran int
				var longest time.Duration
				w.Handle("a", func(_ context.Context, job *Job) error {
					mu.Lock()
					defer mu.Unlock()
					ran++
					longest = max(longest, time.Since(added[job.ID]))
					return nil
				})
				stop := startWorker(t, w)
				pass(5 * time.Second)
				store.fails("b", after)
				for i := range 300 {
					id := fmt.Sprint("job-", i)
					mu.Lock()
					added[id] = time.Now()
					mu.Unlock()
					store.add("a", job("a"), id)
					pass(time.Second)
				}
				if ran != 300 || longest > 20*time.Millisecond {
					t.Errorf("while the node of b fails, %d of 300 jobs of a ran, the last %v after it was added; want all within 20 ms", ran, longest)
				}
				store.answers()
				pass(15 * time.Second)
				if err := stop(); err != nil {
					t.Error(err)
				}
				store.checkEmpty()
			})
		})
	}
}

// A queue whose node fails gives its share of the slots back: what its calls have asked for, and what its handlers have left.
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
			synctest.Test(t, func(t *testing.T) {
				store := newFakeNodeStore(t)
				w := NewWorker(asStore(store), WorkerOptions{Concurrency: test.concurrency, Queues: map[string]int{"a": 1, "b": 9}, Logger: quiet()})
				var a, running, most atomic.Int64
				w.Handle("a", func(context.Context, *Job) error {
					most.Store(max(most.Load(), running.Add(1)))
					time.Sleep(10 * time.Second) // fake time: the job takes this long
					running.Add(-1)
					a.Add(1)
					return nil
				})
				w.Handle("b", func(context.Context, *Job) error {
					time.Sleep(time.Second) // fake time: the job takes this long
					return nil
				})
				added := 200 * test.concurrency
				if test.busy {
					store.add("b", job("b"), jobIDs("b", added)...)
				}
				stop := startWorker(t, w)
				pass(3500 * time.Millisecond)
				store.fails("b", test.after)
				store.add("a", job("a"), jobIDs("a", added)...)
				pass(5 * time.Second)
				most.Store(0)
				a.Store(0)
				pass(10 * time.Minute)
				if got := int(most.Load()); got != test.concurrency {
					t.Errorf("while the node of b fails, at most %d jobs of a run at once, want %d", got, test.concurrency)
				}
				if want := test.concurrency * 58; int(a.Load()) < want { // of 60 rounds of 10 s
					t.Errorf("while the node of b fails, %d jobs of a ran in ten minutes, want at least %d", a.Load(), want)
				}
				store.answers()
				pass(30 * time.Second)
				if got := store.kinds()[protocol.SettleDone]; test.busy && got == int(a.Load()) {
					t.Error("no outcome of b that was reached meanwhile has counted")
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
				store.checkEmpty()
			})
		})
	}
}

// The sessions of a node are extended although another node does not answer.
func TestANodeThatHangsCostsTheOtherNodesNoSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeNodeStore(t)
		w := NewWorker(asStore(store), WorkerOptions{Concurrency: 4, Queues: map[string]int{"a": 1, "b": 1}, Logger: quiet()})
		ended := make(map[string]error)
		w.Handle("long", func(ctx context.Context, job *Job) error {
			select {
			case <-ctx.Done():
				ended[job.Queue] = context.Cause(ctx)
			case <-time.After(5 * time.Minute):
			}
			return nil
		})
		store.add("a", job("long"), "a")
		store.add("b", job("long"), "b")
		stop := startWorker(t, w)
		pass(time.Second)
		store.fails("b", 14*time.Second) // a read that ends after go-redis's tries
		pass(time.Minute)
		if len(ended) != 1 || ended["b"] == nil {
			t.Errorf("the ctx of these handlers ended: %v; want only that of b", ended)
		}
		store.answers()
		pass(5 * time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		store.checkEmpty()
	})
}
