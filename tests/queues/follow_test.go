package queues_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A job that was enqueued with Replace while another one with its ID ran follows when that one ends. If all starts of the queue's limit are used then,
// it runs when the next start is possible, although the worker that ended the job sleeps and no other job is due.
func TestAJobThatFollowsAnotherStartsWhenTheLimitAllows(t *testing.T) {
	for _, later := range []time.Duration{0, time.Minute} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			ctx := t.Context()
			queues := chime.NewQueues(f.Server.Store())
			e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
			release, began, mu := make(chan struct{}), map[string]time.Time{}, sync.Mutex{}
			worker := f.Worker(chime.WorkerOptions{Concurrency: 20})
			worker.Handle("a", func(_ context.Context, job *chime.Job) error {
				mu.Lock()
				began[job.ID] = time.Now()
				mu.Unlock()
				if job.ID == "held" {
					<-release
				}
				return nil
			})
			add := func(id string, options ...chime.EnqueueOption) {
				t.Helper()
				if _, err := e.Enqueue(ctx, "a", nil, append(options, chime.ID(id))...); err != nil {
					t.Fatal(err)
				}
			}
			stop := f.Start(worker)
			add("held")
			if later > 0 {
				add("later", chime.In(later))
			}
			fixture.Pass(10 * time.Second)
			if err := queues.Limit(ctx, "default", chime.Limit{Starts: 2, Per: 5 * time.Second}); err != nil {
				t.Fatal(err)
			}
			add("held", chime.Replace())
			add("b")
			add("c")
			fixture.Pass(2 * time.Second)
			close(release)
			fixture.Pass(4 * time.Second)
			if got := began["held"].Sub(began["c"]); got < 5*time.Second || got > 5100*time.Millisecond {
				t.Errorf("the job that follows began %v after the last start, want 5s", got)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}
