//go:build real && unix

package real_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/redisstore"
)

// A hundred thousand jobs are due at the same instant. Each runs once. Meanwhile the server serves other clients, and their latency is logged.
// Afterwards the server's memory for the jobs is free.
func TestAHundredThousandJobsDueAtOnceAllRun(t *testing.T) {
	const jobs = 100_000
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(nil)
	store := redisstore.New(server.Client(nil), redisstore.Options{Logger: errorsOnly})
	var runs atomic.Int64
	worker := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 100, Logger: errorsOnly})
	worker.Handle("beat", func(context.Context, *chime.Job) error { runs.Add(1); return nil })
	items := make([]chime.Item, jobs)
	at := time.Now().Add(4 * time.Second)
	for i := range items {
		items[i] = chime.Item{Name: "beat", Options: []chime.EnqueueOption{chime.At(at)}}
	}
	if _, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{}).EnqueueMany(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	full := client.MemoryUsage(t.Context(), "chime:{default}:jobs").Val()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- chime.Run(ctx, worker) }()
	var took []time.Duration
	until(t, "all jobs are done", func() bool {
		began := time.Now()
		client.Ping(t.Context())
		took = append(took, time.Since(began))
		return runs.Load() >= jobs && countsOf(t, client, "default").Done == jobs
	})
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	slices.Sort(took)
	t.Logf("another client's PING took %v in the middle and %v at most, while %d jobs of %d bytes drained", took[len(took)/2], took[len(took)-1], jobs, full)
	if runs.Load() != jobs {
		t.Errorf("%d runs of %d jobs, want each once", runs.Load(), jobs)
	}
	if n := client.Exists(t.Context(), "chime:{default}:jobs", "chime:{default}:due", "chime:{default}:ready").Val(); n != 0 {
		t.Errorf("%d keys with jobs are left, want none", n)
	}
}
