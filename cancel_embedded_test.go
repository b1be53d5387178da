package chime_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
)

// cancel cancels a job of the queue default.
func (f *fixture) cancel(id string) chime.CancelResult {
	f.t.Helper()
	result, err := chime.NewJobs(f.server.Store()).Cancel(f.t.Context(), "default", id)
	if err != nil {
		f.t.Fatal(err)
	}
	return result
}

// Whatever a cancelled handler returns, its ctx ends at once with ErrCancelled and the job is not tried again.
func TestACancelledHandlersCtxEndsAndItsJobIsNotTriedAgain(t *testing.T) {
	returned := map[string]error{
		"nothing": nil, "its cause": chime.ErrCancelled, "a failure": errors.New("no"), "discard": chime.Discard(errors.New("no")),
		"snooze": chime.Snooze(time.Minute), "retry": chime.RetryAfter(time.Second, errors.New("no")),
	}
	for name, err := range returned {
		t.Run(name, func(t *testing.T) {
			onEmbedded(t, func(t *testing.T, f *fixture) {
				var r runs
				var cause error
				took := time.Duration(0)
				w := f.worker(chime.WorkerOptions{Concurrency: 1})
				w.Handle("work", func(ctx context.Context, job *chime.Job) error {
					r.add(job.ID)
					began := time.Now()
					<-ctx.Done()
					cause, took = context.Cause(ctx), time.Since(began)
					return err
				})
				stop := f.run(w)
				f.add("work", 0, "a")
				pass(time.Second)
				if result := f.cancel("a"); result != chime.CancelAsked {
					t.Errorf("cancelled: %s, want asked", result)
				}
				pass(time.Hour)
				if r.n["a"] != 1 || !errors.Is(cause, chime.ErrCancelled) || took > 1100*time.Millisecond {
					t.Errorf("it ran %d times and its ctx ended after %v with %v; want once, at once, ErrCancelled", r.n["a"], took, cause)
				}
				if s := f.stats(); s.Cancelled != 1 || s.Done+s.Failed+s.Died+s.Retried+s.Running+s.Waiting+s.Delayed+s.Dead != 0 {
					t.Errorf("stats %+v, want one cancelled and nothing else", s)
				}
				if _, err := chime.NewJobs(f.server.Store()).Cancel(t.Context(), "default", "a"); !errors.Is(err, chime.ErrNotFound) {
					t.Errorf("cancelled when it had ended: %v, want ErrNotFound", err)
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A job that waits, is delayed, or waits for its retry never starts again once it was cancelled.
func TestACancelledJobThatWaitsNeverStarts(t *testing.T) {
	onEmbedded(t, func(t *testing.T, f *fixture) {
		var r runs
		w := f.worker(chime.WorkerOptions{Concurrency: 1})
		w.Handle("work", func(ctx context.Context, job *chime.Job) error {
			r.add(job.ID)
			if job.ID == "fails" {
				return errors.New("no")
			}
			time.Sleep(10 * time.Minute) // fake time: it keeps the only slot
			return nil
		})
		stop := f.run(w)
		f.add("work", 0, "fails")
		pass(100 * time.Millisecond)
		f.add("work", 0, "blocks")
		pass(100 * time.Millisecond)
		f.add("work", 0, "waits", "follows")
		f.add("work", time.Hour, "delayed")
		pass(time.Second) // what was taken ahead is given back
		for _, id := range []string{"waits", "delayed", "fails"} {
			if result := f.cancel(id); result != chime.CancelDone {
				t.Errorf("%s cancelled: %s, want cancelled", id, result)
			}
		}
		pass(3 * time.Hour)
		if got, want := fmt.Sprint(r.n), "map[blocks:1 fails:1 follows:1]"; got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
		if s := f.stats(); s.Cancelled != 3 || s.Waiting+s.Delayed+s.Running != 0 {
			t.Errorf("stats %+v, want three cancelled and none left", s)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A job that was taken ahead of a slot and is cancelled before it gets one does not begin.
func TestACancelledJobThatWasTakenAheadDoesNotBegin(t *testing.T) {
	onEmbedded(t, func(t *testing.T, f *fixture) {
		var r runs
		w := f.worker(chime.WorkerOptions{Concurrency: 1})
		w.Handle("work", func(ctx context.Context, job *chime.Job) error {
			r.add(job.ID)
			if job.ID == "blocks" {
				time.Sleep(10 * time.Millisecond) // fake time: what waits is given back after 20 ms
			}
			return nil
		})
		stop := f.run(w)
		f.add("work", 0, names("short", 50)...)
		pass(time.Second)
		f.add("work", 0, "blocks", "ahead", "follows")
		synctest.Wait()
		if result := f.cancel("ahead"); result != chime.CancelAsked || r.of("blocks") != 1 {
			t.Fatalf("cancelled: %s; want asked, for it was taken ahead of the one that blocks", result)
		}
		pass(time.Second)
		if r.of("ahead") != 0 || r.of("follows") != 1 {
			t.Errorf("the cancelled one ran %d times, the one behind it %d times; want 0 and 1", r.of("ahead"), r.of("follows"))
		}
		if s := f.stats(); s.Cancelled != 1 || s.Done != 52 || s.Running+s.Waiting != 0 {
			t.Errorf("stats %+v, want one cancelled, 52 done", s)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// The schedule of an occurrence that was cancelled before its instant goes on with the next.
func TestAScheduleGoesOnAfterACancelledOccurrence(t *testing.T) {
	onEmbedded(t, func(t *testing.T, f *fixture) {
		f.declare("tick", `{"cron":"0 * * * *"}`, "run_once", chime.OverlapSkip)
		var r runs
		w := f.worker(chime.WorkerOptions{Concurrency: 1})
		w.Handle("tick", func(ctx context.Context, job *chime.Job) error {
			r.add(job.ID)
			return nil
		})
		stop := f.run(w)
		for range 2 {
			pass(time.Hour)
		}
		if result := f.cancel("tick@2000-01-01T03:00:00Z"); result != chime.CancelDone {
			t.Errorf("cancelled: %s, want cancelled", result)
		}
		pass(3 * time.Hour)
		if len(r.n) != 4 || r.n["tick@2000-01-01T03:00:00Z"] != 0 {
			t.Errorf("ran %v, want 1, 2, 4 and 5 o'clock", r.n)
		}
		if s := f.stored("tick"); s.Cancelled != 1 || s.Started != 4 || s.Cursor.Used != 6 {
			t.Errorf("the store says %+v, want one cancelled, four started, and six used up with the next", s)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
