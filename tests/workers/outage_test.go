package workers_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/chimejobs/chime/tests/internal/hookstore"
)

// A worker with running jobs and a sleeping worker repeat failed calls at most a few times a second during the whole outage, whether the calls or
// their replies are lost.
func TestAWorkerCallsAStoreThatDoesNotAnswerTwiceASecondAtMost(t *testing.T) {
	for name, fault := range map[string]func(string, protocol.Partition) (before, after error){
		"calls are lost":   func(string, protocol.Partition) (before, after error) { return hookstore.ErrReset, nil },
		"replies are lost": func(string, protocol.Partition) (before, after error) { return nil, hookstore.ErrReset },
	} {
		for _, jobs := range []int{0, 1, 4, 20} {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				store := f.Hooked()
				w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 4, Logger: fixture.Quiet()})
				w.Handle("work", func(context.Context, *chime.Job) error {
					time.Sleep(3 * time.Second) // fake time: the job ends in the outage
					return nil
				})
				f.Enqueue("default", job("work"), fixture.Names("job", jobs)...)
				stop := fixture.Start(w)
				fixture.Pass(2 * time.Second)
				store.SetFault(fault)
				before := store.Counts()
				const outage = 3 * time.Minute
				fixture.Pass(outage)
				for action, n := range store.Counts() {
					if n -= before[action]; float64(n) > 2*outage.Seconds() {
						t.Errorf("%s, %d jobs: %s was called %d times in %v", name, jobs, action, n, outage)
					}
				}
				store.SetFault(nil)
				fixture.Pass(time.Minute)
				if err := stop(); err != nil {
					t.Error(err)
				}
				f.CheckEmpty()
			})
		}
	}
}

// loseEvery returns a fault that loses every reply-th reply and every call-th call; 0: none.
func loseEvery(action string, reply, call int) func(string, protocol.Partition) (error, error) {
	n := 0
	return func(a string, _ protocol.Partition) (before, after error) {
		if a != action {
			return nil, nil
		}
		n++
		if call > 0 && n%call == 0 {
			before = hookstore.ErrReset
		}
		if reply > 0 && n%reply == 0 {
			after = hookstore.ErrReset
		}
		return before, after
	}
}

func TestLostRepliesLoseNoJobAndRunNoneTwice(t *testing.T) {
	tests := []struct {
		name        string
		reply, call int
		concurrency int
		work        time.Duration
		partitions  int
	}{
		{"every second reply, long handlers", 2, 0, 7, 300 * time.Millisecond, 1},
		{"every third reply, short handlers", 3, 0, 7, 50 * time.Microsecond, 1},
		{"every second call", 0, 2, 7, 10 * time.Millisecond, 1},
		{"both", 3, 5, 3, time.Millisecond, 1},
		{"both, many partitions", 3, 5, 10, time.Millisecond, 8},
		{"both, one slot, many partitions", 2, 3, 1, time.Millisecond, 8},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				store := f.Hooked()
				store.Latency = 300 * time.Microsecond
				store.SetFault(loseEvery("work", test.reply, test.call))
				f.Partition("default", test.partitions)
				w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: test.concurrency, Logger: fixture.Quiet()})
				var mu sync.Mutex
				ran := make(map[string]int)
				w.Handle("work", func(_ context.Context, job *chime.Job) error {
					time.Sleep(test.work) // fake time: the job takes this long
					mu.Lock()
					ran[job.ID]++
					mu.Unlock()
					return nil
				})
				f.Enqueue("default", job("work"), fixture.Names("job", 300)...)
				stop := fixture.Start(w)
				fixture.Pass(10 * time.Minute)
				if err := stop(); err != nil {
					t.Error(err)
				}
				for id, n := range ran {
					if n != 1 {
						t.Errorf("%s ran %d times, want once", id, n)
					}
				}
				if len(ran) != 300 || store.Kinds()[protocol.SettleDone] != 300 || store.Refused() != 0 {
					t.Errorf("%d of 300 ran, settled as %v, %d refused", len(ran), store.Kinds(), store.Refused())
				}
				f.CheckEmpty()
			})
		})
	}
}
