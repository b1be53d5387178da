package command

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/connect"
	"github.com/chimejobs/chime/cmd/chime/internal/progress"
	"github.com/chimejobs/chime/internal/times"
)

const (
	maxBench    = 10_000_000 // jobs
	benchBatch  = 5000       // jobs enqueued by a call
	benchSingle = 1000       // jobs enqueued one after the other, at most
	benchSlots  = 100        // of the worker
)

// benched is what bench has measured, as JSON.
type benched struct {
	Jobs        int     `json:"jobs"`
	EnqueueMS   int64   `json:"enqueue_ms"`
	EnqueuePerS float64 `json:"enqueued_per_s"`
	ProcessMS   int64   `json:"process_ms"`
	ProcessPerS float64 `json:"processed_per_s"`
	Singles     int     `json:"singles"` // jobs enqueued one after the other while the worker is idle
	StartP50MS  float64 `json:"start_p50_ms"`
	StartP99MS  float64 `json:"start_p99_ms"`
	Namespace   string  `json:"namespace"`
	Removed     int     `json:"keys_removed"` // with the namespace
}

func (s *session) bench() *cobra.Command {
	n := 100_000
	c := &cobra.Command{
		Use: "bench", Short: "Measure how many jobs this server and this machine carry", GroupID: groupTools, Args: cobra.NoArgs,
		Long: "Measure how many jobs this server and this machine carry: enqueue jobs that do nothing, run them with one worker of 100 slots in this process, and\n" +
			"measure how soon single ones start. It works in a namespace of its own, which it removes at the end, also after Ctrl-C. It loads the server.",
		RunE: func(c *cobra.Command, _ []string) error {
			if n < 1 || n > maxBench {
				return usage("-n %d: want 1 to %d", n, maxBench)
			}
			flags := s.connect
			flags.Namespace += "-bench-" + strings.ToLower(rand.Text()[:8])
			opened, err := flags.Open(s.Env)
			if err != nil {
				return &exitError{exitUsage, err}
			}
			defer func() { _ = opened.Close() }()
			run := benching{session: s, connection: opened, result: benched{Jobs: n, Namespace: flags.Namespace}}
			err = run.run(c.Context())
			removed, failed := run.remove(context.WithoutCancel(c.Context()))
			run.result.Removed = removed
			if failed != nil {
				s.tell("namespace %s was not removed: %v", flags.Namespace, failed)
			}
			if err != nil {
				return err
			}
			return s.printer().Item(flags.Namespace, run.result, run.text())
		},
	}
	c.Flags().IntVarP(&n, "number", "n", n, "jobs, 1 to 10000000")
	return s.changes(c)
}

// benching is a bench on its way.
type benching struct {
	*session
	connection *connect.Connection
	result     benched
}

func (b *benching) run(ctx context.Context) error {
	quiet := slog.New(slog.DiscardHandler)
	enqueuer := chime.NewEnqueuer(b.connection.Store, chime.EnqueuerOptions{Logger: quiet, SendTimeout: b.connect.Timeout})
	if err := b.enqueue(ctx, enqueuer); err != nil {
		return err
	}
	started := make(chan struct{}, benchBatch)
	worker := chime.NewWorker(b.connection.Store, chime.WorkerOptions{Logger: quiet, Concurrency: benchSlots})
	worker.Handle("bench", func(context.Context, *chime.Job) error {
		started <- struct{}{}
		return nil
	})
	running, stop := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	began := b.Now()
	go func() { stopped <- chime.Run(running, worker) }()
	err := b.await(ctx, started, stopped)
	took := b.Now().Sub(began)
	b.result.ProcessMS, b.result.ProcessPerS = took.Milliseconds(), perSecond(b.result.Jobs, took)
	if err == nil {
		err = b.singles(ctx, enqueuer, started, stopped)
	}
	stop()
	if ended := <-stopped; err == nil {
		err = ended
	}
	return err
}

// enqueue puts all jobs on the queue.
func (b *benching) enqueue(ctx context.Context, enqueuer *chime.Enqueuer) error {
	bar := progress.New(b.Process, "enqueue")
	defer bar.End()
	began := b.Now()
	for done := 0; done < b.result.Jobs; {
		items := make([]chime.Item, min(benchBatch, b.result.Jobs-done))
		for i := range items {
			items[i].Name = "bench"
		}
		if _, err := enqueuer.EnqueueMany(ctx, items); err != nil {
			return err
		}
		done += len(items)
		bar.Set(done, b.result.Jobs)
	}
	took := b.Now().Sub(began)
	b.result.EnqueueMS, b.result.EnqueuePerS = took.Milliseconds(), perSecond(b.result.Jobs, took)
	return nil
}

// await waits until all jobs have begun.
func (b *benching) await(ctx context.Context, started chan struct{}, stopped chan error) error {
	bar := progress.New(b.Process, "process")
	defer bar.End()
	for done := 0; done < b.result.Jobs; done++ {
		if err := one(ctx, started, stopped); err != nil {
			return err
		}
		if done%1000 == 0 {
			bar.Set(done, b.result.Jobs)
		}
	}
	return nil
}

// one waits until a job has begun.
func one(ctx context.Context, started chan struct{}, stopped chan error) error {
	select {
	case <-started:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case err := <-stopped:
		stopped <- err
		if err == nil {
			err = fmt.Errorf("the worker has stopped")
		}
		return err
	}
}

// singles measures how soon a job starts when there is no other.
func (b *benching) singles(ctx context.Context, enqueuer *chime.Enqueuer, started chan struct{}, stopped chan error) error {
	n := min(benchSingle, b.result.Jobs)
	took := make([]time.Duration, n)
	for i := range took {
		began := b.Now()
		if _, err := enqueuer.Enqueue(ctx, "bench", nil); err != nil {
			return err
		}
		if err := one(ctx, started, stopped); err != nil {
			return err
		}
		took[i] = b.Now().Sub(began)
	}
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.result.Singles, b.result.StartP50MS, b.result.StartP99MS = n, ms(took[(n-1)/2]), ms(took[(n-1)*99/100])
	return nil
}

func perSecond(n int, took time.Duration) float64 {
	return float64(n) / max(took.Seconds(), 1e-6)
}

func (b *benching) text() string {
	r := b.result
	return fmt.Sprintf("enqueue  %s in %s, %s a second\nprocess  %s in %s, %s a second\nstart    %s enqueued singly: p50 %.1f ms, p99 %.1f ms until it starts\n",
		number(r.Jobs, "job"), times.Took(time.Duration(r.EnqueueMS)*time.Millisecond), count(int64(r.EnqueuePerS)),
		number(r.Jobs, "job"), times.Took(time.Duration(r.ProcessMS)*time.Millisecond), count(int64(r.ProcessPerS)),
		number(r.Singles, "job"), r.StartP50MS, r.StartP99MS)
}

// remove removes all keys of the bench's namespace, a few at a time.
func (b *benching) remove(ctx context.Context) (removed int, err error) {
	var mu sync.Mutex
	err = eachServer(ctx, b.connection.Client, func(ctx context.Context, client redis.Cmdable, _ string) error {
		for cursor := uint64(0); ; {
			keys, next, err := client.Scan(ctx, cursor, literal(b.result.Namespace)+":*", 1000).Result()
			if err != nil {
				return err
			}
			pipe := client.Pipeline()
			for _, key := range keys { // one by one: they are in many slots of a cluster
				pipe.Unlink(ctx, key)
			}
			if len(keys) > 0 {
				if _, err := pipe.Exec(ctx); err != nil {
					return err
				}
			}
			mu.Lock()
			removed += len(keys)
			mu.Unlock()
			if cursor = next; cursor == 0 {
				return nil
			}
		}
	})
	return removed, err
}

// literal is a text as a pattern of keys that means nothing else.
func literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(text)
}
