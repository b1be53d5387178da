package chime

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A job that comes alone to a sleeping worker costs two calls. The first takes it and finds nothing more, so the second, which settles
// it, need not ask for jobs. A third call closes the session.
func TestALoneJobCostsTwoCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeJobStore(t)
		store.keepCalls = true
		w := NewWorker(asStore(store), WorkerOptions{Concurrency: 4, Logger: quiet()})
		var ran []time.Time
		w.Handle("work", func(context.Context, *Job) error { ran = append(ran, time.Now()); return nil })
		stop := startWorker(t, w)
		pass(time.Second)
		for _, id := range ids(20) {
			store.workCalls = nil
			closed := store.count("close")
			store.add("default", job("work"), id)
			added := time.Now()
			pass(2 * time.Second)
			if last := ran[len(ran)-1]; !last.Equal(added) {
				t.Fatalf("a job enqueued at %v ran at %v", added, last)
			}
			if calls := store.workCalls; len(calls) != 2 || !calls[0].Sleep || calls[0].Take == 0 || !calls[1].SleepOn || calls[1].Take > 0 || len(calls[1].Settle) != 1 {
				t.Fatalf("calls %+v, want one that takes, and one that settles and sleeps on", calls)
			}
			if n := store.count("close") - closed; n != 1 {
				t.Fatalf("%d sessions were closed within two seconds, want 1", n)
			}
		}
		if n := store.count("extend"); n > 0 {
			t.Errorf("%d heartbeats for sessions that held nothing, want none", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		store.checkEmpty()
	})
}
