package chime

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// A handler that runs for long keeps a few KiB, and not what ran beside it, however many jobs that were.
func TestALongJobKeepsNothingOfTheOthers(t *testing.T) {
	const others = 5_000
	store := newBenchStore(others + 1)
	w := NewWorker(asStore(store), WorkerOptions{Concurrency: 2})
	ctx, stop := context.WithCancel(t.Context())
	var ran, freed atomic.Int64
	enough, long := make(chan struct{}), make(chan struct{})
	w.Handle("work", func(ctx context.Context, job *Job) error {
		n := ran.Add(1)
		if n == 1 {
			<-long
			runtime.KeepAlive(ctx)
			runtime.KeepAlive(job)
			return nil
		}
		runtime.AddCleanup(&job.Payload[0], func(*atomic.Int64) { freed.Add(1) }, &freed)
		if n == others+1 {
			close(enough)
		}
		return nil
	})
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	<-enough
	limit := time.After(20 * time.Second)
	for freed.Load() < others*9/10 {
		runtime.GC()
		select {
		case <-limit:
			t.Fatalf("while one job runs, %d of %d others are free, want nine of ten", freed.Load(), others)
		case <-time.After(time.Millisecond):
		}
	}
	close(long)
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
