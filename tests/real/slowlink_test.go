//go:build real && unix

package real_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/faultproxy"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/redisstore"
)

// An eventCounter is a log handler that counts lines by their event.
type eventCounter struct {
	mu     sync.Mutex
	events map[string]int
}

func (*eventCounter) Enabled(context.Context, slog.Level) bool { return true }

func (c *eventCounter) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "event" {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.events[a.Value.String()]++
		}
		return true
	})
	return nil
}

func (c *eventCounter) WithAttrs([]slog.Attr) slog.Handler { return c }
func (c *eventCounter) WithGroup(string) slog.Handler      { return c }

// The network answers after 200 ms (plus or minus 100), repeats one reply in a hundred, and has 1 Mbit/s for each connection. Jobs that take longer
// than two heartbeats keep their session, and each runs once.
func TestASlowNetworkLosesNoSession(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	proxy := faultproxy.Start(t, server.Addr())
	proxy.Shape(faultproxy.Link{
		Delay: 200 * time.Millisecond, Jitter: 100 * time.Millisecond, Loss: 0.01, Resend: 200 * time.Millisecond, Rate: 125_000,
	})
	counter := &eventCounter{events: map[string]int{}}
	store := redisstore.New(server.Client(&redis.Options{Addr: proxy.Addr()}), redisstore.Options{})
	worker := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 50, Logger: slog.New(counter)})
	var mu sync.Mutex
	runs := map[string]int{}
	worker.Handle("beat", func(_ context.Context, job *chime.Job) error {
		if job.Attempt == 1 && len(job.Payload) > 0 {
			<-time.After(9 * time.Second) // longer than two heartbeats of the default session
		}
		mu.Lock()
		defer mu.Unlock()
		runs[job.ID]++
		return nil
	})
	const jobs = 400
	items := make([]chime.Item, jobs)
	for i := range items {
		items[i] = chime.Item{Name: "beat"}
		if i%20 == 0 {
			items[i].Args = make([]byte, 10_000)
		}
	}
	if _, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{}).EnqueueMany(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- chime.Run(ctx, worker) }()
	direct := server.Client(nil)
	until(t, "all jobs are done", func() bool { return countsOf(t, direct, "default").Done == jobs })
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for id, n := range runs {
		if n != 1 {
			t.Errorf("%s ran %d times, want once", id, n)
		}
	}
	for _, event := range []string{"session.lost", "session.expired"} {
		if counter.events[event] != 0 {
			t.Errorf("event %[2]s was logged %[1]d times, want never", counter.events[event], event)
		}
	}
}
