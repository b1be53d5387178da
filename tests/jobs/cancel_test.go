package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// The ctx of a cancelled handler ends at once with ErrCancelled. Its job is not tried again, no matter what the handler returns.
func TestACancelledHandlersCtxEndsAndItsJobIsNotTriedAgain(t *testing.T) {
	returned := map[string]error{
		"nothing": nil, "its cause": chime.ErrCancelled, "a failure": errors.New("no"), "discard": chime.Discard(errors.New("no")),
		"snooze": chime.Snooze(time.Minute), "retry": chime.RetryAfter(time.Second, errors.New("no")),
	}
	for name, err := range returned {
		t.Run(name, func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				var r fixture.Runs
				var cause error
				took := time.Duration(0)
				w := f.Worker(chime.WorkerOptions{Concurrency: 1})
				w.Handle("work", func(ctx context.Context, job *chime.Job) error {
					r.Add(job.ID)
					began := time.Now()
					<-ctx.Done()
					cause, took = context.Cause(ctx), time.Since(began)
					return err
				})
				stop := f.Start(w)
				f.Add("work", 0, "a")
				fixture.Pass(time.Second)
				if result := f.Cancel("a"); result != chime.CancelAsked {
					t.Errorf("Cancel returned %s, want asked", result)
				}
				fixture.Pass(time.Hour)
				if r.N["a"] != 1 || !errors.Is(cause, chime.ErrCancelled) || took > 1100*time.Millisecond {
					t.Errorf("it ran %d times and its ctx ended after %v with %v; want once, at once, ErrCancelled", r.N["a"], took, cause)
				}
				if s := f.Stats(); s.Cancelled != 1 || s.Done+s.Failed+s.Died+s.Retried+s.InFlight()+s.Waiting+s.Delayed+s.Dead != 0 {
					t.Errorf("stats %+v, want one cancelled and nothing else", s)
				}
				if _, err := chime.NewJobs(f.Server.Store()).Cancel(t.Context(), "default", "a"); !errors.Is(err, chime.ErrNotFound) {
					t.Errorf("Cancel after its end: %v, want ErrNotFound", err)
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A cancelled job that waits, is delayed, or waits for a retry never starts again.
func TestACancelledJobThatWaitsNeverStarts(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var r fixture.Runs
		w := f.Worker(chime.WorkerOptions{Concurrency: 1})
		w.Handle("work", func(ctx context.Context, job *chime.Job) error {
			r.Add(job.ID)
			if job.ID == "fails" {
				return errors.New("no")
			}
			time.Sleep(10 * time.Minute) // fake time: it occupies the only slot
			return nil
		})
		stop := f.Start(w)
		f.Add("work", 0, "fails")
		fixture.Pass(100 * time.Millisecond)
		f.Add("work", 0, "blocks")
		fixture.Pass(100 * time.Millisecond)
		f.Add("work", 0, "waits", "follows")
		f.Add("work", time.Hour, "delayed")
		fixture.Pass(time.Second) // the worker returns jobs taken ahead
		for _, id := range []string{"waits", "delayed", "fails"} {
			if result := f.Cancel(id); result != chime.CancelDone {
				t.Errorf("%s cancelled: %s, want cancelled", id, result)
			}
		}
		fixture.Pass(3 * time.Hour)
		if got, want := fmt.Sprint(r.N), "map[blocks:1 fails:1 follows:1]"; got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
		if s := f.Stats(); s.Cancelled != 3 || s.Waiting+s.Delayed+s.InFlight() != 0 {
			t.Errorf("stats %+v, want three cancelled and none left", s)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A job that was taken ahead and is cancelled before it gets a slot does not begin.
func TestACancelledJobThatWasTakenAheadDoesNotBegin(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var r fixture.Runs
		w := f.Worker(chime.WorkerOptions{Concurrency: 1})
		w.Handle("work", func(ctx context.Context, job *chime.Job) error {
			r.Add(job.ID)
			if job.ID == "blocks" {
				time.Sleep(10 * time.Millisecond) // fake time: waiting jobs are returned after 20 ms
			}
			return nil
		})
		stop := f.Start(w)
		f.Add("work", 0, fixture.Names("short", 50)...)
		fixture.Pass(time.Second)
		f.Add("work", 0, "blocks", "ahead", "follows")
		synctest.Wait()
		if result := f.Cancel("ahead"); result != chime.CancelAsked || r.Of("blocks") != 1 {
			t.Fatalf("Cancel returned %s; want asked, because the job was taken ahead", result)
		}
		fixture.Pass(time.Second)
		if r.Of("ahead") != 0 || r.Of("follows") != 1 {
			t.Errorf("the cancelled job ran %d times, the one behind it %d times; want 0 and 1", r.Of("ahead"), r.Of("follows"))
		}
		if s := f.Stats(); s.Cancelled != 1 || s.Done != 52 || s.InFlight()+s.Waiting != 0 {
			t.Errorf("stats %+v, want one cancelled, 52 done", s)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// After an occurrence is cancelled before its instant, its schedule continues with the next one.
func TestAScheduleContinuesAfterACancelledOccurrence(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Declare("tick", `{"cron":"0 * * * *"}`, "run_once", chime.OverlapSkip)
		var r fixture.Runs
		w := f.Worker(chime.WorkerOptions{Concurrency: 1})
		w.Handle("tick", func(ctx context.Context, job *chime.Job) error {
			r.Add(job.ID)
			return nil
		})
		stop := f.Start(w)
		for range 2 {
			fixture.Pass(time.Hour)
		}
		if result := f.Cancel("tick@2000-01-01T03:00:00Z"); result != chime.CancelDone {
			t.Errorf("cancelled: %s, want cancelled", result)
		}
		fixture.Pass(3 * time.Hour)
		if len(r.N) != 4 || r.N["tick@2000-01-01T03:00:00Z"] != 0 {
			t.Errorf("ran %v, want 1, 2, 4 and 5 o'clock", r.N)
		}
		if s := f.Stored("tick"); s.Cancelled != 1 || s.Started != 4 || s.Cursor.Used != 6 {
			t.Errorf("the store has %+v, want one cancelled, four started, and six used up with the next", s)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
