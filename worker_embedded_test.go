package chime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A fixture is a store with the real scripts, in memory and with the bubble's clock, and what a test of a worker needs.
type fixture struct {
	t      *testing.T
	server *embedded.Server
	number int64
}

func onEmbedded(t *testing.T, scenario func(t *testing.T, f *fixture)) {
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{t: t, server: embedded.StartInMemory()}
		scenario(t, f)
		if err := f.server.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}

// add enqueues jobs that are due after a while; 0: now.
func (f *fixture) add(name string, in time.Duration, ids ...string) {
	f.t.Helper()
	if _, err := f.server.Store().Protocol().Partitions(f.t.Context(), "default"); err != nil {
		f.t.Fatal(err)
	}
	for len(ids) > 0 {
		n := min(len(ids), 500)
		f.number++
		call := protocol.EnqueueCall{Partition: protocol.Partition{Queue: "default"}, Caller: "test", Number: f.number}
		for _, id := range ids[:n] {
			call.Items = append(call.Items, protocol.EnqueueItem{ID: id, In: in, Body: chime.EncodeBody(name, 3)})
		}
		if a := f.server.Store().Protocol().Enqueue(f.t.Context(), []protocol.EnqueueCall{call}); a[0].Err != nil {
			f.t.Fatal(a[0].Err)
		}
		ids = ids[n:]
	}
}

func (f *fixture) worker(options chime.WorkerOptions) *chime.Worker {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	return chime.NewWorker(f.server.Store(), options)
}

// run runs a worker until stop is called.
func (f *fixture) run(w *chime.Worker) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	synctest.Wait()
	return func() error {
		cancel()
		return <-done
	}
}

func (f *fixture) stats() *chime.QueueInfo {
	f.t.Helper()
	stats, err := chime.NewQueues(f.server.Store()).Get(f.t.Context(), "default")
	if err != nil {
		f.t.Fatal(err)
	}
	return stats
}

// runs counts how often each job ran.
type runs struct {
	mu sync.Mutex
	n  map[string]int
	at map[string]time.Time
}

func (r *runs) add(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == nil {
		r.n, r.at = make(map[string]int), make(map[string]time.Time)
	}
	r.n[id]++
	r.at[id] = time.Now()
}

// of is how often a job has run.
func (r *runs) of(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n[id]
}

func pass(d time.Duration) {
	time.Sleep(d) // fake time
	synctest.Wait()
}

func names(prefix string, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s-%04d", prefix, i)
	}
	return ids
}

func TestEveryJobRunsOnce(t *testing.T) {
	for _, work := range []time.Duration{0, 50 * time.Microsecond, 20 * time.Millisecond} {
		onEmbedded(t, func(t *testing.T, f *fixture) {
			var r runs
			var stops []func() error
			for range 3 {
				w := f.worker(chime.WorkerOptions{Concurrency: 5})
				w.Handle("work", func(_ context.Context, job *chime.Job) error {
					time.Sleep(work) // fake time: the job takes this long
					r.add(job.ID)
					return nil
				})
				stops = append(stops, f.run(w))
			}
			f.add("work", 0, names("a", 700)...)
			pass(10 * time.Second)
			f.add("work", 0, names("b", 3)...)
			f.add("work", time.Hour, names("c", 100)...)
			pass(2 * time.Hour)
			for _, stop := range stops {
				if err := stop(); err != nil {
					t.Error(err)
				}
			}
			for id, n := range r.n {
				if n != 1 {
					t.Errorf("%s ran %d times, want once", id, n)
				}
			}
			if s := f.stats(); len(r.n) != 803 || s.Done != 803 || s.Running+s.Waiting+s.Delayed != 0 {
				t.Errorf("with handlers of %v %d of 803 ran, the store says %+v", work, len(r.n), s)
			}
			if keys, _ := f.server.Client().Keys(t.Context(), "*inflight*").Result(); len(keys) != 0 {
				t.Errorf("sessions are left: %v", keys)
			}
		})
	}
}

func TestDelayedJobsAreTakenWhenTheyAreDue(t *testing.T) {
	onEmbedded(t, func(t *testing.T, f *fixture) {
		var r runs
		w := f.worker(chime.WorkerOptions{Concurrency: 5})
		w.Handle("work", func(_ context.Context, job *chime.Job) error { r.add(job.ID); return nil })
		stop := f.run(w)
		pass(time.Minute)
		due := make(map[string]time.Time)
		for i, in := range []time.Duration{time.Hour, time.Second, 20 * time.Minute, 90 * time.Millisecond, 24 * time.Hour} {
			id := fmt.Sprint("d", i)
			f.add("work", in, id)
			due[id] = time.Now().Add(in)
		}
		pass(25 * time.Hour)
		for id, at := range due {
			if late := r.at[id].Sub(at); late < 0 || late > 2*time.Millisecond {
				t.Errorf("%s ran %v after it was due, want at most 2ms", id, late)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestJobsThatKeepFailingEndDead(t *testing.T) {
	onEmbedded(t, func(t *testing.T, f *fixture) {
		var r runs
		w := f.worker(chime.WorkerOptions{Concurrency: 5})
		w.Handle("work", func(_ context.Context, job *chime.Job) error { r.add(job.ID); return errors.New("no") })
		w.Handle("poison", func(_ context.Context, job *chime.Job) error { r.add(job.ID); panic("oh") })
		stop := f.run(w)
		f.add("work", 0, "a")
		f.add("poison", 0, "b")
		pass(time.Hour)
		if s := f.stats(); r.n["a"] != 3 || r.n["b"] != 3 || s.Dead != 2 {
			t.Errorf("after three attempts each %v ran and the store says %+v, want two dead", r.n, s)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestJobsOfUnknownNamesWaitForAWorkerThatHandlesThem(t *testing.T) {
	onEmbedded(t, func(t *testing.T, f *fixture) {
		first := f.worker(chime.WorkerOptions{Concurrency: 2})
		first.Handle("old", func(context.Context, *chime.Job) error { return nil })
		stopFirst := f.run(first)
		f.add("new", 0, names("n", 20)...)
		pass(time.Minute)
		if s := f.stats(); s.Parked != 20 || s.Running != 0 {
			t.Errorf("the store says %+v, want 20 parked", s)
		}
		var r runs
		second := f.worker(chime.WorkerOptions{Concurrency: 2})
		second.Handle("new", func(_ context.Context, job *chime.Job) error { r.add(job.ID); return nil })
		stopSecond := f.run(second)
		pass(time.Minute)
		if s := f.stats(); len(r.n) != 20 || s.Parked != 0 || s.Done != 20 {
			t.Errorf("%d of 20 ran, the store says %+v", len(r.n), s)
		}
		for _, stop := range []func() error{stopFirst, stopSecond} {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
	})
}

// Fences grow at any instant of the server's clock, also at those of a bubble, whose microseconds have one digit less than today's.
func TestFencesGrowInABubble(t *testing.T) {
	onEmbedded(t, func(t *testing.T, f *fixture) {
		var fences []int64
		var log strings.Builder
		w := f.worker(chime.WorkerOptions{Concurrency: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		w.Handle("a", func(_ context.Context, job *chime.Job) error {
			fences = append(fences, job.Fence)
			if job.Attempt == 1 {
				return errors.New("again")
			}
			return nil
		})
		f.add("a", 0, "one", "two", "three")
		stop := f.run(w)
		pass(time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if len(fences) != 6 {
			t.Errorf("%d attempts, want 6", len(fences))
		}
		for i := 1; i < len(fences); i++ {
			if fences[i] <= fences[i-1] {
				t.Errorf("fence %d follows %d", fences[i], fences[i-1])
			}
		}
		if strings.Contains(log.String(), "store.unreadable") {
			t.Errorf("nothing was unreadable, and logged is\n%s", log.String())
		}
	})
}

// Where no scheduler leads a worker says that nobody takes the jobs of a queue, also of one whose jobs were delayed; once.
func TestAWorkerSaysThatNobodyServesAQueue(t *testing.T) {
	for name, in := range map[string]time.Duration{"jobs that wait": 0, "a job that was delayed": time.Second} {
		onEmbedded(t, func(t *testing.T, f *fixture) {
			var log strings.Builder
			w := f.worker(chime.WorkerOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			w.Handle("a", func(context.Context, *chime.Job) error { return nil })
			stop := f.run(w)
			enqueuer := chime.NewEnqueuer(f.server.Store(), chime.EnqueuerOptions{})
			for _, queue := range []string{"default", "nobodys"} {
				if _, err := enqueuer.Enqueue(t.Context(), "a", nil, chime.Queue(queue), chime.In(in)); err != nil {
					t.Fatal(err)
				}
			}
			pass(2 * time.Hour)
			if err := stop(); err != nil {
				t.Error(err)
			}
			if n := strings.Count(log.String(), "event=queue.unserved"); n != 1 || !strings.Contains(log.String(), "queue=nobodys") {
				t.Errorf("%s: %d lines say that nobody serves a queue, want one of nobodys:\n%s", name, n, log.String())
			}
		})
	}
}
