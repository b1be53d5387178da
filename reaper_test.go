package chime

import (
	"context"
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
		stop := working(t, w)
		pass(time.Minute)
		if want := 12*time.Second + 4400*time.Millisecond; after != want {
			t.Errorf("it ran after %v, want %v", after, want)
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
		stop := working(t, w)
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
