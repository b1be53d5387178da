//go:build real && unix

package real_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/faultproxy"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
)

// A lossy is a real server behind a proxy that loses replies, with a store that uses the proxy.
type lossy struct {
	*testing.T
	server *redistest.Server
	proxy  *faultproxy.Proxy
	direct *redis.Client // connected to the server itself
	store  *redisstore.Store
}

// behindProxy runs a test twice: with a client that retries, and with a client that does not, so that chime retries.
func behindProxy(t *testing.T, test func(l *lossy)) {
	for name, retries := range map[string]int{"client retries": 3, "chime retries": -1} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t, redistest.Options{})
			proxy := faultproxy.Start(t, server.Addr())
			client := server.Client(&redis.Options{Addr: proxy.Addr(), MaxRetries: retries})
			l := &lossy{T: t, server: server, proxy: proxy, direct: server.Client(nil), store: redisstore.New(client, redisstore.Options{Logger: errorsOnly})}
			// The server and the proxy know all scripts, so the lost reply is never a NOSCRIPT error.
			for _, script := range redisstore.Scripts() {
				proxy.Learn(script)
				if err := l.direct.ScriptLoad(t.Context(), script).Err(); err != nil {
					t.Fatal(err)
				}
			}
			test(l)
		})
	}
}

// countsOf returns the statistics of a queue.
func countsOf(t testing.TB, client redis.UniversalClient, queue string) *chime.QueueInfo {
	t.Helper()
	stats, err := chime.NewQueues(redisstore.New(client, redisstore.Options{})).Get(t.Context(), queue)
	if err != nil {
		t.Fatal(err)
	}
	return stats
}

// runUntil runs roles until a condition of the store holds.
func (l *lossy) runUntil(what string, holds func() bool, roles ...chime.Role) {
	l.Helper()
	ctx, stop := context.WithCancel(l.Context())
	done := make(chan error, 1)
	go func() { done <- chime.Run(ctx, roles...) }()
	until(l.T, what, holds)
	stop()
	if err := <-done; err != nil {
		l.Errorf("Run: %v", err)
	}
}

// isLost reports whether the proxy has lost the reply.
func isLost(lost <-chan struct{}) bool {
	select {
	case <-lost:
		return true
	default:
		return false
	}
}

// wantNothingLeft checks that the default queue has no jobs left.
func (l *lossy) wantNothingLeft() {
	l.Helper()
	stats, err := chime.NewQueues(l.store).Get(l.Context(), "default")
	if err != nil {
		l.Fatal(err)
	}
	if stats.Waiting != 0 || stats.InFlight() != 0 || stats.Delayed != 0 || stats.Dead != 0 {
		l.Errorf("left over: %+v, want nothing waiting, in flight, delayed or dead", stats)
	}
}

func TestALostReplyToEnqueueAddsTheJobOnce(t *testing.T) {
	behindProxy(t, func(l *lossy) {
		lost := l.proxy.LoseReply(l.proxy.Script("enqueue"))
		enqueuer := chime.NewEnqueuer(l.store, chime.EnqueuerOptions{Logger: errorsOnly})
		receipt, err := enqueuer.Enqueue(l.Context(), "beat", nil, chime.ID("one"))
		if err != nil || receipt.ID != "one" || !receipt.Existing {
			l.Errorf("receipt %+v, %v; want Existing: the first call had added the job", receipt, err)
		}
		if !isLost(lost) {
			l.Error("the reply was not lost, so this test proves nothing")
		}
		if n := countsOf(l, l.direct, "default").Enqueued; n != 1 {
			l.Errorf("%d jobs, want 1", n)
		}
	})
}

// The reply to one of a worker's calls is lost. Every job must run once and be settled once.
func TestALostReplyToAWorkerRunsEachJobOnce(t *testing.T) {
	for _, nth := range []int{1, 2, 3, 4, 5} {
		t.Run(fmt.Sprintf("work call %d", nth), func(t *testing.T) {
			behindProxy(t, func(l *lossy) {
				jobs := 40
				enqueuer := chime.NewEnqueuer(l.store, chime.EnqueuerOptions{Logger: errorsOnly})
				items := make([]chime.Item, jobs)
				for i := range items {
					items[i] = chime.Item{Name: "beat"}
				}
				if _, err := enqueuer.EnqueueMany(l.Context(), items); err != nil {
					l.Fatal(err)
				}
				lost := l.proxy.LoseReply(faultproxy.Nth(nth, l.proxy.Script("work")))
				var runs atomic.Int64
				worker := chime.NewWorker(l.store, chime.WorkerOptions{Concurrency: 5, Logger: errorsOnly})
				worker.Handle("beat", func(context.Context, *chime.Job) error {
					<-time.After(10 * time.Millisecond) // so that the worker makes several calls
					runs.Add(1)
					return nil
				})
				l.runUntil("all jobs are done, and the reply was lost", func() bool {
					if countsOf(l, l.direct, "default").Done < int64(jobs) {
						return false
					}
					if isLost(lost) {
						return true
					}
					// A slow machine needs fewer calls for the same jobs.
					if _, err := enqueuer.Enqueue(l.Context(), "beat", nil); err != nil {
						l.Fatal(err)
					}
					jobs++
					return false
				}, worker)
				if runs.Load() != int64(jobs) {
					l.Errorf("%d runs of %d jobs, want each once", runs.Load(), jobs)
				}
				l.wantNothingLeft()
			})
		})
	}
}

func TestALostReplyToASchedulerRunsEachOccurrenceOnce(t *testing.T) {
	for _, script := range []string{"declare", "place", "lead"} {
		for _, nth := range []int{1, 2} {
			if script == "declare" && nth == 2 {
				continue // there is only one call of this script
			}
			t.Run(fmt.Sprintf("%s call %d", script, nth), func(t *testing.T) {
				t.Parallel() // each has its own server, and mostly waits
				behindProxy(t, func(l *lossy) {
					lost := l.proxy.LoseReply(faultproxy.Nth(nth, l.proxy.Script(script)))
					worker := chime.NewWorker(l.store, chime.WorkerOptions{Logger: errorsOnly})
					worker.Handle("beat", func(context.Context, *chime.Job) error { return nil })
					scheduler := chime.NewScheduler(l.store, chime.SchedulerOptions{Logger: errorsOnly})
					if err := scheduler.Schedule("beat", recurrence.Recurrence{Frequency: recurrence.Second, Count: 4}, chime.Misfire(chime.MisfireCatchUp)); err != nil {
						l.Fatal(err)
					}
					l.runUntil("the schedule has completed, and the reply was lost", func() bool {
						stored, err := chime.NewSchedules(l.store).Get(l.Context(), "beat")
						return err == nil && stored.State == chime.StateCompleted && countsOf(l, l.direct, "default").Done == 4 && isLost(lost)
					}, scheduler, worker)
					for planned, n := range settledRuns(l.T, l.direct, "done") {
						if n != 1 {
							l.Errorf("%s was done %d times, want once", planned, n)
						}
					}
					if term := l.direct.HGet(l.Context(), "chime:leader", "term").Val(); script == "lead" && term != "1" {
						l.Errorf("term %s, want 1: the same candidate has renewed its lease", term)
					}
					l.wantNothingLeft()
				})
			})
		}
	}
}

// SCRIPT FLUSH is called again and again. No caller gets an error, and no job is lost.
func TestNoCallFailsWhenTheServerForgetsItsScripts(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(nil)
	store := redisstore.New(server.Client(nil), redisstore.Options{Logger: errorsOnly})
	worker := chime.NewWorker(store, chime.WorkerOptions{Logger: errorsOnly, Queues: map[string]int{"default": 1, "mail": 1}})
	worker.Handle("beat", func(context.Context, *chime.Job) error { return nil })
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- chime.Run(ctx, worker) }()
	enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
	for range 50 {
		if err := client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := enqueuer.EnqueueMany(t.Context(), []chime.Item{{Name: "beat"}, {Name: "beat", Options: []chime.EnqueueOption{chime.Queue("mail")}}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, queue := range []string{"default", "mail"} {
		until(t, "the jobs of "+queue+" are done", func() bool {
			return countsOf(t, client, queue).Done == 50
		})
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// At maxmemory the server refuses new jobs with ErrStoreFull. Existing jobs are taken, settled and retried.
func TestAFullServerRefusesNewJobsAndFinishesItsOwn(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(nil)
	store := redisstore.New(server.Client(nil), redisstore.Options{Logger: errorsOnly})
	enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
	items := make([]chime.Item, 100)
	for i := range items {
		items[i] = chime.Item{Name: "beat"}
	}
	if _, err := enqueuer.EnqueueMany(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	if err := client.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	look := store.Protocol().Poll(t.Context(), []protocol.PollCall{{Partition: protocol.Partition{Queue: "default"}, Worker: "w", Sleep: true}})[0]
	if look.Err != nil {
		t.Errorf("poll a full server: %v, want no error: this call finds lapsed sessions", look.Err)
	}
	if led, err := store.Protocol().Lead(t.Context(), "leader", time.Minute); err != nil || !led.Leading {
		t.Errorf("lead on a full server: %+v, %v", led, err)
	}
	if _, err := enqueuer.Enqueue(t.Context(), "beat", nil); !errors.Is(err, chime.ErrStoreFull) {
		t.Errorf("enqueue on a full server: %v, want ErrStoreFull", err)
	}
	worker := chime.NewWorker(store, chime.WorkerOptions{Logger: errorsOnly, Concurrency: 3})
	var failed atomic.Bool
	worker.Handle("beat", func(_ context.Context, job *chime.Job) error {
		if failed.CompareAndSwap(false, true) {
			return errors.New("the first one fails")
		}
		return nil
	}, chime.Backoff(func(int) time.Duration { return 10 * time.Millisecond }))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- chime.Run(ctx, worker) }()
	until(t, "all are done", func() bool {
		stats, err := chime.NewQueues(store).Get(t.Context(), "default")
		return err == nil && stats.Done == 100
	})
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := client.Exists(t.Context(), "chime:{default}:jobs", "chime:{default}:ready", "chime:{default}:due").Val(); n != 0 {
		t.Errorf("%d keys with jobs are left, want none", n)
	}
}
