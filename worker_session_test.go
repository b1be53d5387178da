package chime

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func TestTheJobsOfAVanishedWorkerRunAfterTheSecondLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeJobStore(t)
		part := store.part(protocol.Partition{Queue: "default"})
		part.jobs["a"] = encoded(job("work"))
		part.sessions["gone"] = &fakeSession{number: 1, lapse: time.Now().Add(12 * time.Second), inflight: map[string]*fakeHeld{"a": {fence: 1}}}
		w := NewWorker(asStore(store), WorkerOptions{Concurrency: 1, Logger: quiet()})
		begun := time.Now()
		var after time.Duration
		w.Handle("work", func(_ context.Context, job *Job) error {
			after = time.Since(begun)
			if job.Crashes != 1 || job.Attempt != 1 {
				t.Errorf("crashes %d and attempt %d, want 1 and 1", job.Crashes, job.Attempt)
			}
			return nil
		})
		stop := startWorker(t, w)
		pass(time.Minute)
		if want := 12*time.Second + 4400*time.Millisecond; after != want {
			t.Errorf("the job ran after %v, want %v", after, want)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		store.checkEmpty()
	})
}

func TestASessionThatIsExtendedIsNotReaped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeJobStore(t)
		part := store.part(protocol.Partition{Queue: "default"})
		session := &fakeSession{number: 1, lapse: time.Now(), inflight: map[string]*fakeHeld{"a": {fence: 1}}}
		part.sessions["slow"] = session
		w := NewWorker(asStore(store), WorkerOptions{Concurrency: 1, Logger: quiet()})
		w.Handle("work", func(context.Context, *Job) error { return nil })
		stop := startWorker(t, w)
		for range 20 {
			pass(4 * time.Second)
			store.mu.Lock()
			session.lapse = time.Now()
			store.mu.Unlock()
		}
		if part.sessions["slow"] == nil {
			t.Error("a session that was late but alive was reaped")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A session has heartbeats as long as it holds a job, also if it held none for a while before.
func TestASessionIsKeptAliveWhileItHoldsAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeJobStore(t)
		w := NewWorker(asStore(store), WorkerOptions{Concurrency: 4, Logger: quiet()})
		w.Handle("short", func(context.Context, *Job) error { return nil })
		var lost error
		w.Handle("long", func(ctx context.Context, _ *Job) error {
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
				lost = context.Cause(ctx)
			}
			return nil
		})
		stop := startWorker(t, w)
		store.add("default", job("short"), "before")
		pass(500 * time.Millisecond) // the session holds no job
		store.add("default", job("long"), "long")
		synctest.Wait()
		store.add("default", job("short"), "meanwhile")
		pass(30 * time.Second)
		if n := store.count("extend"); n < 6 || n > 8 {
			t.Errorf("%d heartbeats in half a minute for a session that holds a job, want one in four seconds", n)
		}
		pass(time.Minute)
		if lost != nil {
			t.Errorf("the handler's ctx ended: %v", lost)
		}
		if got := store.kinds()[protocol.SettleDone]; got != 3 {
			t.Errorf("%d done, want 3", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		store.checkEmpty()
	})
}

func TestALostSessionEndsItsHandlersAndDropsTheirOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeJobStore(t)
		w := NewWorker(asStore(store), WorkerOptions{Concurrency: 4, Logger: quiet()})
		var mu sync.Mutex
		var causes []error
		runs := 0
		w.Handle("work", func(ctx context.Context, job *Job) error {
			mu.Lock()
			runs++
			mu.Unlock()
			if job.Crashes > 0 {
				return nil
			}
			<-ctx.Done()
			mu.Lock()
			defer mu.Unlock()
			causes = append(causes, context.Cause(ctx))
			return errors.New("ended")
		})
		store.add("default", job("work"), "a", "b", "c")
		stop := startWorker(t, w)
		pass(time.Second)
		store.reapAll()
		pass(time.Minute)
		if len(causes) != 3 || !errors.Is(causes[0], ErrSessionLost) {
			t.Errorf("handlers ended for %v, want ErrSessionLost three times", causes)
		}
		if got := store.kinds(); got[protocol.SettleDone] != 3 || len(got) != 1 || runs != 6 {
			t.Errorf("%d runs settled as %v, want 6 and three done", runs, got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		store.checkEmpty()
	})
}

func TestASilentSessionEndsItsHandlersButTheirOutcomesCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeJobStore(t)
		w := NewWorker(asStore(store), WorkerOptions{Concurrency: 4, Logger: quiet()})
		var ended time.Time
		begun := time.Now()
		w.Handle("work", func(ctx context.Context, job *Job) error {
			<-ctx.Done()
			ended = time.Now()
			return nil
		})
		store.add("default", job("work"), "a")
		stop := startWorker(t, w)
		pass(time.Second)
		store.mu.Lock()
		store.fault = func(string, protocol.Partition) (error, error) { return errFake, nil }
		store.mu.Unlock()
		pass(30 * time.Second)
		if d := ended.Sub(begun); d < 12*time.Second || d > 17*time.Second {
			t.Errorf("the handler's ctx ended after %v without a heartbeat, want 12 s", d)
		}
		store.mu.Lock()
		store.fault = nil
		store.mu.Unlock()
		pass(10 * time.Second)
		if got := store.kinds(); got[protocol.SettleDone] != 1 {
			t.Errorf("settled %v, want the outcome kept and sent: one done", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		store.checkEmpty()
	})
}
