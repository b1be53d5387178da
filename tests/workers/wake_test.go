package workers_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

func TestAnIdleWorkerMakesSafetyPollsOnly(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		f.Partition("default", 3)
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 4, Logger: fixture.Quiet()})
		var ran time.Time
		w.Handle("work", func(context.Context, *chime.Job) error { ran = time.Now(); return nil })
		stop := fixture.Start(w)
		fixture.Pass(10 * time.Minute)
		if calls, polls := store.Count("work"), store.Count("poll"); calls != 3 || polls > 3*61 || polls < 3*49 {
			t.Errorf("in ten idle minutes %d calls and %d polls on 3 partitions, want 3 calls, and 50 to 60 polls on each", calls, polls)
		}
		f.Enqueue("default", job("work"), "a1")
		synctest.Wait()
		if !ran.Equal(time.Now()) {
			t.Errorf("a job enqueued while the worker slept ran at %v, want at once", ran)
		}
		due := time.Now().Add(90 * time.Second)
		f.EnqueueAt("default", due, job("work"), "a2")
		fixture.Pass(3 * time.Minute)
		if ran.Before(due) || ran.After(due.Add(time.Millisecond)) {
			t.Errorf("a job due at %v ran at %v", due, ran)
		}
		if n := store.Count("extend"); n > 0 {
			t.Errorf("%d heartbeats for sessions without jobs, want none", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}

// A wake-up has its partition, so the other queues of a worker are not called.
func TestAWakeUpCallsItsPartitionAlone(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		f.Partition("q3", 2)
		queues := map[string]int{}
		for i := range 8 {
			queues[fmt.Sprint("q", i)] = 1
		}
		w := chime.NewWorker(store, chime.WorkerOptions{Queues: queues, Concurrency: 4, Logger: fixture.Quiet()})
		var ran time.Time
		w.Handle("work", func(context.Context, *chime.Job) error { ran = time.Now(); return nil })
		stop := fixture.Start(w)
		fixture.Pass(20 * time.Second)
		for i := range 10 {
			before, at := store.Count("work"), time.Now()
			f.Enqueue("q3", job("work"), fmt.Sprint("a", i))
			synctest.Wait()
			if !ran.Equal(at) {
				t.Fatalf("job %d ran at %v, want at once, at %v", i, ran, at)
			}
			fixture.Pass(5 * time.Second)
			if calls := store.Count("work") - before; calls != 2 {
				t.Errorf("a job of one of nine partitions was taken and settled with %d calls, want 2", calls)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}

func TestAFullWorkerPassesWakeUpsOn(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		var ran atomic.Int64
		var stops []func() error
		for i := range 2 {
			w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 1, Logger: fixture.Quiet()})
			w.Handle("long", func(context.Context, *chime.Job) error { time.Sleep(time.Hour); return nil }) // fake time: it fills its slot
			w.Handle("short", func(context.Context, *chime.Job) error { ran.Add(1); return nil })
			if i == 1 {
				f.Enqueue("default", job("long"), "l")
			}
			stops = append(stops, fixture.Start(w))
		}
		for i := range 10 {
			f.Enqueue("default", job("short"), fmt.Sprint("s", i))
			synctest.Wait()
			if ran.Load() != int64(i+1) {
				t.Fatalf("%d of %d jobs ran at once although another worker is full", ran.Load(), i+1)
			}
		}
		for _, stop := range stops {
			go stop()
		}
		fixture.Pass(time.Hour)
	})
}

func TestAWakeUpThatArrivesBeforeTheAnswerIsKept(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		store.Lag = 100 * time.Millisecond
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 2, Logger: fixture.Quiet()})
		var ran atomic.Int64
		w.Handle("work", func(context.Context, *chime.Job) error { ran.Add(1); return nil })
		stop := fixture.Start(w) // the worker is asleep in the store, and the answer is on its way
		f.Enqueue("default", job("work"), "a")
		fixture.Pass(time.Second)
		if ran.Load() != 1 {
			t.Error("the wake-up came before the answer that there is no job, and the job did not run")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAWakeUpForAnotherQueueIsPassedOn(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		ran := make(chan string, 10)
		var stops []func() error
		for range 2 {
			w := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"a": 1, "b": 1}, Concurrency: 1, Logger: fixture.Quiet()})
			w.Handle("work", func(_ context.Context, job *chime.Job) error {
				ran <- job.ID
				time.Sleep(time.Hour) // fake time: it fills its slot
				return nil
			})
			stops = append(stops, fixture.Start(w))
		}
		f.Enqueue("a", job("work"), "1")
		f.Enqueue("b", job("work"), "2") // wakes the same worker, which has one slot
		fixture.Pass(time.Millisecond)
		if len(ran) != 2 {
			t.Errorf("%d of 2 jobs run at the same time on two workers, want both", len(ran))
		}
		for _, stop := range stops {
			go stop()
		}
		fixture.Pass(2 * time.Hour)
	})
}

// Two wake-ups that come during one call look like one to the worker that gets them. It has one slot, and uses it for one queue.
func TestTheSecondOfTwoWakeUpsIsPassedOn(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		store.Lag = 100 * time.Millisecond
		var running atomic.Int64
		var stops []func() error
		for range 2 {
			w := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"a": 1, "b": 1}, Concurrency: 1, Logger: fixture.Quiet()})
			w.Handle("work", func(context.Context, *chime.Job) error {
				running.Add(1)
				time.Sleep(time.Hour) // fake time: it fills its slot
				return nil
			})
			stops = append(stops, fixture.Start(w)) // asleep in the store, and the answer is on its way
		}
		f.Enqueue("a", job("work"), "1")
		f.Enqueue("b", job("work"), "2")
		fixture.Pass(time.Second)
		if running.Load() != 2 {
			t.Errorf("%d of 2 jobs run at the same time on two workers, want both", running.Load())
		}
		for _, stop := range stops {
			go stop()
		}
		fixture.Pass(2 * time.Hour)
	})
}

// While every slot runs a long handler, an empty queue is not polled, even if earlier handlers were short. It is polled as soon as a slot is free.
func TestAWorkerWithoutAFreeSlotDoesNotPollAnEmptyQueue(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 2, Queues: map[string]int{"default": 1, "other": 1}, Logger: fixture.Quiet()})
		begun, release := 0, make(chan struct{})
		w.Handle("short", func(context.Context, *chime.Job) error { return nil })
		w.Handle("long", func(context.Context, *chime.Job) error { begun++; <-release; return nil })
		f.Enqueue("default", job("short"), "short")
		stop := fixture.Start(w)
		fixture.Pass(time.Second)
		f.Enqueue("default", job("long"), "long 1")
		fixture.Pass(time.Second)
		f.Enqueue("default", job("long"), "long 2")
		fixture.Pass(time.Second)
		before := store.Count("work") + store.Count("leave")
		fixture.Pass(4 * time.Second)
		if calls := store.Count("work") + store.Count("leave") - before; begun != 2 || calls > 4 {
			t.Errorf("%d handlers run, and in 4 s there were %d calls; want 2, and at most 4", begun, calls)
		}
		f.Enqueue("other", job("long"), "long 3") // no sleeping worker can be woken
		fixture.Pass(time.Second)
		release <- struct{}{}
		synctest.Wait()
		fixture.Pass(10 * time.Millisecond)
		if begun != 3 {
			t.Errorf("%d handlers have begun when a slot was free again, want 3", begun)
		}
		close(release)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A single job costs a sleeping worker two calls. The first takes it and finds no more jobs, so the second, which settles it, does not request
// jobs. A third call closes the session.
func TestALoneJobCostsTwoCalls(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		store.KeepWork = true
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 4, Logger: fixture.Quiet()})
		var ran []time.Time
		w.Handle("work", func(context.Context, *chime.Job) error { ran = append(ran, time.Now()); return nil })
		stop := fixture.Start(w)
		fixture.Pass(time.Second)
		for _, id := range fixture.Names("job", 20) {
			store.WorkCalls()
			closed := store.Count("close")
			f.Enqueue("default", job("work"), id)
			added := time.Now()
			fixture.Pass(2 * time.Second)
			if last := ran[len(ran)-1]; !last.Equal(added) {
				t.Fatalf("a job enqueued at %v ran at %v", added, last)
			}
			if calls := store.WorkCalls(); len(calls) != 2 || !calls[0].Sleep || calls[0].Take == 0 || !calls[1].SleepOn || calls[1].Take > 0 || len(calls[1].Settle) != 1 {
				t.Fatalf("calls %+v, want one that takes, and one that settles and continues to sleep", calls)
			}
			if n := store.Count("close") - closed; n != 1 {
				t.Fatalf("%d sessions were closed within two seconds, want 1", n)
			}
		}
		if n := store.Count("extend"); n > 0 {
			t.Errorf("%d heartbeats for sessions without jobs, want none", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}
