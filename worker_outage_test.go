package chime

import (
	"context"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A worker with jobs under way and one that sleeps repeat what failed a few times a second at most, however long it lasts, whether
// the call or its reply was lost.
func TestAWorkerCallsAStoreThatDoesNotAnswerTwiceASecondAtMost(t *testing.T) {
	for name, fault := range map[string]func(string, protocol.Partition) (before, after error){
		"calls are lost":   func(string, protocol.Partition) (before, after error) { return errFake, nil },
		"replies are lost": func(string, protocol.Partition) (before, after error) { return nil, errFake },
	} {
		for _, jobs := range []int{0, 1, 4, 20} {
			synctest.Test(t, func(t *testing.T) {
				store := newFakeJobStore(t)
				w := NewWorker(asStore(store), WorkerOptions{Concurrency: 4, Logger: quiet()})
				w.Handle("work", func(context.Context, *Job) error {
					time.Sleep(3 * time.Second) // fake time: the job ends in the outage
					return nil
				})
				store.add("default", job("work"), ids(jobs)...)
				stop := startWorker(t, w)
				pass(2 * time.Second)
				store.mu.Lock()
				store.fault = fault
				before := maps.Clone(store.calls)
				store.mu.Unlock()
				const outage = 10 * time.Minute
				pass(outage)
				store.mu.Lock()
				for act, n := range store.calls {
					if n -= before[act]; float64(n) > 2*outage.Seconds() {
						t.Errorf("%s, %d jobs: %s was called %d times in %v", name, jobs, act, n, outage)
					}
				}
				store.fault = nil
				store.mu.Unlock()
				pass(time.Minute)
				if err := stop(); err != nil {
					t.Error(err)
				}
				store.checkEmpty()
			})
		}
	}
}
