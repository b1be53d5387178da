package workers_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// With Strict, nothing runs from a queue while one with a larger weight has jobs, on however many partitions they are.
func TestStrictQueuesAreServedInTheirOrder(t *testing.T) {
	for _, partitions := range []int{1, 4} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			f.Partition("high", partitions)
			f.Partition("low", partitions)
			e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{Logger: fixture.Quiet()})
			add := func(queue string, n int) {
				t.Helper()
				for range n {
					if _, err := e.Enqueue(t.Context(), queue, nil, chime.Queue(queue)); err != nil {
						t.Fatal(err)
					}
				}
			}
			var mu sync.Mutex
			ran := ""
			order := func() string {
				mu.Lock()
				defer mu.Unlock()
				return ran
			}
			w := f.Worker(chime.WorkerOptions{Concurrency: 1, Strict: true, Queues: map[string]int{"low": 1, "middle": 2, "high": 3}})
			for _, name := range []string{"low", "middle", "high"} {
				w.Handle(name, func(context.Context, *chime.Job) error {
					mu.Lock()
					ran += name[:1]
					mu.Unlock()
					time.Sleep(time.Second) // fake time
					return nil
				})
			}
			add("low", 20)
			add("middle", 10)
			add("high", 20)
			defer f.Start(w)()
			fixture.Pass(45 * time.Second)
			if want := strings.Repeat("h", 20) + strings.Repeat("m", 10) + strings.Repeat("l", 15); !strings.HasPrefix(order(), want) {
				t.Errorf("%d partitions: ran %s, want it to begin with %s", partitions, order(), want)
			}
			before := len(order())
			add("high", 5)
			fixture.Pass(8 * time.Second)
			// one may have been taken ahead
			if after := order()[before:]; !strings.Contains(after[:7], "hhhhh") {
				t.Errorf("%d partitions: after more in high %s ran, want five h before the rest", partitions, after)
			}
			fixture.Pass(time.Minute)
			if len(order()) != 55 {
				t.Errorf("%d partitions: %d jobs ran, want 55", partitions, len(order()))
			}
		})
	}
}

// A queue that is paused, or whose limit is reached, does not stop the others.
func TestAStrictQueueThatMayNotStartLetsTheOthersRun(t *testing.T) {
	for name, stop := range map[string]func(ctx context.Context, q *chime.Queues) error{
		"paused": func(ctx context.Context, q *chime.Queues) error { return q.Pause(ctx, "high", chime.Note{}) },
		"limited": func(ctx context.Context, q *chime.Queues) error {
			return q.Limit(ctx, "high", chime.Limit{Starts: 1, Per: time.Hour})
		},
	} {
		t.Run(name, func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{Logger: fixture.Quiet()})
				for range 5 {
					for _, queue := range []string{"high", "low"} {
						if _, err := e.Enqueue(t.Context(), queue, nil, chime.Queue(queue)); err != nil {
							t.Fatal(err)
						}
					}
				}
				if err := stop(t.Context(), chime.NewQueues(f.Server.Store())); err != nil {
					t.Fatal(err)
				}
				low := 0
				w := f.Worker(chime.WorkerOptions{Concurrency: 1, Strict: true, Queues: map[string]int{"low": 1, "high": 2}})
				w.Handle("high", func(context.Context, *chime.Job) error { return nil })
				w.Handle("low", func(context.Context, *chime.Job) error { low++; return nil })
				defer f.Start(w)()
				fixture.Pass(10 * time.Second)
				if low != 5 {
					t.Errorf("%d of low ran, want 5", low)
				}
			})
		})
	}
}
