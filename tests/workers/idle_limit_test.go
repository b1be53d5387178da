package workers_test

import (
	"context"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A worker whose handlers are quick takes jobs ahead. While all its slots are taken and its queue is empty it waits, also if the queue has a limit that is not near. It
// continues as soon as a slot is free.
func TestAFullWorkerWaitsOnAnEmptyQueueWithALimit(t *testing.T) {
	for _, limit := range []int{0, 100} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			store := f.Hooked()
			store.Latency = time.Millisecond
			if limit > 0 {
				f.Partition("default", 1)
				if err := chime.NewQueues(f.Server.Store()).Limit(t.Context(), "default", chime.Limit{Running: limit}); err != nil {
					t.Fatal(err)
				}
			}
			var runs fixture.Runs
			w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 1, Logger: fixture.Quiet()})
			w.Handle("work", func(_ context.Context, job *chime.Job) error {
				if runs.Add(job.ID); job.ID == "long" {
					time.Sleep(time.Minute) // fake time
				}
				return nil
			})
			stop := fixture.Start(w)
			f.Enqueue("default", job("work"), fixture.Names("quick", 200)...)
			f.Enqueue("default", job("work"), "long")
			fixture.Pass(10 * time.Second)
			before := store.Count("work")
			fixture.Pass(40 * time.Second)
			if calls := store.Count("work") - before; calls > 10 {
				t.Errorf("limit %d: %d calls in 40 s of a full worker and an empty queue, want at most 10", limit, calls)
			}
			f.Enqueue("default", job("work"), "last")
			fixture.Pass(9 * time.Second)
			if runs.Of("last") != 0 {
				t.Errorf("limit %d: a job has run in a full worker", limit)
			}
			fixture.Pass(2 * time.Second)
			if runs.Of("last") != 1 {
				t.Errorf("limit %d: a second after a slot is free the next job has not run", limit)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			f.CheckEmpty()
		})
	}
}
