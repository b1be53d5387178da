package chime

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnIdleWorkerMakesSafetyPollsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeJobStore(t)
		store.sizes["default"] = 3
		w := NewWorker(asStore(store), WorkerOptions{Concurrency: 4, Logger: quiet()})
		var ran time.Time
		w.Handle("work", func(context.Context, *Job) error { ran = time.Now(); return nil })
		stop := startWorker(t, w)
		pass(10 * time.Minute)
		if calls, polls := store.count("work"), store.count("poll"); calls != 3 || polls > 3*61 || polls < 3*49 {
			t.Errorf("in ten idle minutes %d calls and %d polls on 3 partitions, want 3 calls, and 50 to 60 polls on each", calls, polls)
		}
		store.add("default", job("work"), "a1")
		synctest.Wait()
		if !ran.Equal(time.Now()) {
			t.Errorf("a job enqueued while the worker slept ran at %v, want at once", ran)
		}
		due := time.Now().Add(90 * time.Second)
		store.addAt("default", due, job("work"), "a2")
		pass(3 * time.Minute)
		if !ran.Equal(due) {
			t.Errorf("a job due at %v ran at %v", due, ran)
		}
		if n := store.count("extend"); n > 0 {
			t.Errorf("%d heartbeats for sessions that held no job, want none", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		store.checkEmpty()
	})
}

func TestAFullWorkerPassesWakeUpsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeJobStore(t)
		var ran atomic.Int64
		var stops []func() error
		for i := range 2 {
			w := NewWorker(asStore(store), WorkerOptions{Concurrency: 1, Logger: quiet()})
			w.Handle("long", func(context.Context, *Job) error { time.Sleep(time.Hour); return nil }) // fake time: it fills its slot
			w.Handle("short", func(context.Context, *Job) error { ran.Add(1); return nil })
			if i == 1 {
				store.add("default", job("long"), "l")
			}
			stops = append(stops, startWorker(t, w))
		}
		for i := range 10 {
			store.add("default", job("short"), fmt.Sprint("s", i))
			synctest.Wait()
			if ran.Load() != int64(i+1) {
				t.Fatalf("%d of %d jobs ran at once although another worker is full", ran.Load(), i+1)
			}
		}
		for _, stop := range stops {
			go stop()
		}
		pass(time.Hour)
	})
}

func TestAWakeUpThatArrivesBeforeTheAnswerIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeJobStore(t)
		store.lag = 100 * time.Millisecond
		w := NewWorker(asStore(store), WorkerOptions{Concurrency: 2, Logger: quiet()})
		var ran atomic.Int64
		w.Handle("work", func(context.Context, *Job) error { ran.Add(1); return nil })
		stop := startWorker(t, w) // the store has it as asleep, the answer is under way
		store.add("default", job("work"), "a")
		pass(time.Second)
		if ran.Load() != 1 {
			t.Error("the wake-up came before the answer that there is no job, and the job did not run")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAWakeUpForAnotherQueueIsPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeJobStore(t)
		ran := make(chan string, 10)
		var stops []func() error
		for range 2 {
			w := NewWorker(asStore(store), WorkerOptions{Queues: map[string]int{"a": 1, "b": 1}, Concurrency: 1, Logger: quiet()})
			w.Handle("work", func(_ context.Context, job *Job) error {
				ran <- job.ID
				time.Sleep(time.Hour) // fake time: it fills its slot
				return nil
			})
			stops = append(stops, startWorker(t, w))
		}
		store.add("a", job("work"), "1")
		store.add("b", job("work"), "2") // wakes the same worker, which has one slot
		pass(time.Millisecond)
		if len(ran) != 2 {
			t.Errorf("%d of 2 jobs run at the same time on two workers, want both", len(ran))
		}
		for _, stop := range stops {
			go stop()
		}
		pass(2 * time.Hour)
	})
}

// While every slot runs a long handler an empty queue is not asked, however short the handlers before were; and it is as soon as a slot is free.
func TestAWorkerWithoutAFreeSlotDoesNotAskAnEmptyQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeJobStore(t)
		w := NewWorker(asStore(store), WorkerOptions{Concurrency: 2, Queues: map[string]int{"default": 1, "other": 1}, Logger: quiet()})
		begun, release := 0, make(chan struct{})
		w.Handle("short", func(context.Context, *Job) error { return nil })
		w.Handle("long", func(context.Context, *Job) error { begun++; <-release; return nil })
		store.add("default", job("short"), "short")
		stop := startWorker(t, w)
		pass(time.Second)
		store.add("default", job("long"), "long 1")
		pass(time.Second)
		store.add("default", job("long"), "long 2")
		pass(time.Second)
		before := store.count("work") + store.count("leave")
		pass(4 * time.Second)
		if calls := store.count("work") + store.count("leave") - before; begun != 2 || calls > 4 {
			t.Errorf("%d handlers run, and in 4 s there were %d calls; want 2, and 4 at most", begun, calls)
		}
		store.add("other", job("long"), "long 3") // nobody sleeps who could be woken
		pass(time.Second)
		release <- struct{}{}
		synctest.Wait()
		pass(10 * time.Millisecond)
		if begun != 3 {
			t.Errorf("%d handlers have begun when a slot was free again, want 3", begun)
		}
		close(release)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
