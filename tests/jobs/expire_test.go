package jobs_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A job that has not begun when its time is over ends without an attempt: its end is shown everywhere, and what follows its death runs.
func TestAJobThatHasNotBegunExpires(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		var ended []chime.JobEvent
		var runs, alerts fixture.Runs
		var of *chime.JobInfo
		worker := f.Worker(chime.WorkerOptions{Observers: []*chime.Observer{{Ended: func(events []chime.JobEvent) { ended = append(ended, events...) }}}})
		worker.Handle("a", func(_ context.Context, job *chime.Job) error { runs.Add(job.ID); return nil })
		worker.Handle("alert", func(_ context.Context, job *chime.Job) error { alerts.Add(job.ID); of = job.Death; return nil })
		e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		add := func(id string, options ...chime.EnqueueOption) {
			t.Helper()
			if _, err := e.Enqueue(ctx, "a", nil, append(options, chime.ID(id))...); err != nil {
				t.Fatal(err)
			}
		}
		alert := chime.OnDeath(chime.Item{Name: "alert"})
		add("late", chime.Expire(time.Minute), chime.Keep(time.Hour), alert)
		add("in time", chime.Expire(time.Hour))
		add("delayed", chime.Expire(time.Minute), chime.In(10*time.Minute))
		add("delayed for less", chime.Expire(time.Minute), chime.At(time.Now().Add(time.Second)))
		add("always")
		jobs := chime.NewJobs(f.Server.Store())
		if info, err := jobs.Get(ctx, "default", "delayed"); err != nil || !info.Expires.Equal(time.Now().Add(11*time.Minute)) {
			t.Errorf("expires %v, %v; want 11 minutes from now", info.Expires, err)
		}
		fixture.Pass(time.Minute + time.Second) // to the millisecond for the last but one
		stop := f.Start(worker)
		fixture.Pass(15 * time.Minute)
		if got, want := strings.Join(runs.IDs(), ", "), "always, delayed, in time"; got != want {
			t.Errorf("ran: %s; want %s", got, want)
		}
		info, err := jobs.Get(ctx, "default", "late")
		if err != nil || info.State != chime.JobDone || info.Outcome != chime.RunExpired || info.LastError == "" {
			t.Errorf("kept: %+v, %v; want done, expired, with a reason", info, err)
		}
		failed := (*chime.JobError)(nil)
		if err := jobs.Wait(ctx, "default", "late", nil); !errors.As(err, &failed) || failed.Outcome != chime.RunExpired {
			t.Errorf("Wait: %v, want a JobError with expired", err)
		}
		if len(alerts.IDs()) != 1 || of == nil || of.ID != "late" || !strings.Contains(of.LastError, "expired") {
			t.Errorf("%v follow, of %+v; want one, of the job that expired", alerts.IDs(), of)
		}
		expired := 0
		for _, event := range ended {
			if event.Outcome == chime.RunExpired {
				expired++
			}
		}
		if q := f.Stats(); q.Expired != 2 || expired != 2 || q.Dead != 0 || q.Died != 0 || q.Failed != 0 || q.Done != 4 || q.Waiting+q.Delayed+q.InFlight() != 0 {
			t.Errorf("%+v; observers received %d; want 2 expired, 4 done", q, expired)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}

// A job that has begun once does not expire after a failure, a snooze, a crash, or the shutdown of its worker.
func TestAJobThatHasBegunDoesNotExpire(t *testing.T) {
	for name, first := range map[string]func(ctx context.Context, f *fixture.Fixture) error{
		"it failed":  func(context.Context, *fixture.Fixture) error { return chime.RetryAfter(time.Hour, errors.New("no")) },
		"it snoozed": func(context.Context, *fixture.Fixture) error { return chime.Snooze(time.Hour) },
		"its worker vanished": func(_ context.Context, f *fixture.Fixture) error {
			f.LoseSessions()
			return nil
		},
		"its worker stopped": func(ctx context.Context, _ *fixture.Fixture) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				n := 0
				begin := func() (stop func() error) {
					worker := f.Worker(chime.WorkerOptions{DrainTimeout: time.Second})
					worker.Handle("a", func(ctx context.Context, job *chime.Job) error {
						if n++; n == 1 {
							return first(ctx, f)
						}
						return nil
					})
					return f.Start(worker)
				}
				e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
				if _, err := e.Enqueue(t.Context(), "a", nil, chime.Expire(time.Minute)); err != nil {
					t.Fatal(err)
				}
				stop := begin()
				fixture.Pass(time.Second)
				_ = stop()
				fixture.Pass(2 * time.Minute)
				defer begin()()
				fixture.Pass(2 * time.Hour)
				if q := f.Stats(); n != 2 || q.Expired != 0 {
					t.Errorf("%d attempts, %d expired; want 2 and 0", n, q.Expired)
				}
			})
		})
	}
}

func TestRequeueEndsAnExpiryAndReplaceSetsIt(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var runs fixture.Runs
		worker := f.Worker(chime.WorkerOptions{})
		worker.Handle("a", func(_ context.Context, job *chime.Job) error { runs.Add(job.ID); return nil })
		e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		add := func(id string, options ...chime.EnqueueOption) {
			t.Helper()
			if _, err := e.Enqueue(t.Context(), "a", nil, append(options, chime.ID(id))...); err != nil {
				t.Fatal(err)
			}
		}
		add("requeued", chime.Expire(time.Minute), chime.In(time.Second))
		add("replaced", chime.Expire(time.Minute))
		add("replaced delayed", chime.Expire(time.Minute), chime.In(time.Second))
		add("replaced by one without", chime.Expire(time.Minute))
		add("replaced too early", chime.Expire(time.Hour))
		jobs := chime.NewJobs(f.Server.Store())
		if _, err := jobs.Requeue(t.Context(), chime.JobFilter{Queue: "default", IDs: []string{"requeued"}}, nil); err != nil {
			t.Fatal(err)
		}
		if info, err := jobs.Get(t.Context(), "default", "requeued"); err != nil || !info.Expires.IsZero() {
			t.Errorf("requeued: expires %v, %v; want no expiry", info.Expires, err)
		}
		fixture.Pass(30 * time.Second)
		add("replaced", chime.Expire(time.Minute), chime.Replace())
		add("replaced delayed", chime.Expire(time.Minute), chime.In(time.Minute), chime.Replace())
		add("replaced by one without", chime.Replace())
		add("replaced too early", chime.Expire(time.Minute), chime.Replace(), chime.In(time.Hour)) // it waits: its In is ignored
		for id, want := range map[string]time.Duration{"replaced": time.Minute, "replaced delayed": 2 * time.Minute, "replaced too early": time.Minute} {
			if info, err := jobs.Get(t.Context(), "default", id); err != nil || !info.Expires.Equal(time.Now().Add(want)) {
				t.Errorf("%s: expires %v, %v; want in %v", id, info.Expires, err, want)
			}
		}
		fixture.Pass(59 * time.Second)
		defer f.Start(worker)()
		fixture.Pass(5 * time.Minute)
		if n := len(runs.IDs()); n != 5 {
			t.Errorf("ran: %v; want all five", runs.IDs())
		}
	})
}

func TestAManualRunMayExpire(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		rec, err := recurrence.Cron("0 0 1 6 *")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := schedules.Put(t.Context(), "s", rec, chime.JobName("a"), chime.NoImmediateRun()); err != nil {
			t.Fatal(err)
		}
		if _, err := schedules.Trigger(t.Context(), "s", chime.Expire(time.Minute)); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(2 * time.Minute)
		worker := f.Worker(chime.WorkerOptions{})
		worker.Handle("a", func(context.Context, *chime.Job) error { t.Error("it runs"); return nil })
		defer f.Start(worker)()
		fixture.Pass(time.Minute)
		var history []*chime.RunInfo
		for run, err := range schedules.Runs(t.Context(), "s") {
			if err != nil {
				t.Fatal(err)
			}
			history = append(history, run)
		}
		if len(history) != 1 || history[0].Outcome != chime.RunExpired || !history[0].Manual {
			t.Errorf("history: %+v; want a manual run that expired", history)
		}
		s, err := schedules.Get(t.Context(), "s")
		if err != nil || s.Last.Unfinished != 0 {
			t.Errorf("unfinished: %d, %v; want 0", s.Last.Unfinished, err)
		}
	})
}

func TestAnExpiryIsCheckedWhereItIsSet(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		for name, option := range map[string]chime.EnqueueOption{
			"zero":          chime.Expire(0),
			"a microsecond": chime.Expire(time.Microsecond),
			"366 days":      chime.Expire(366 * 24 * time.Hour),
			"of OnDeath":    chime.OnDeath(chime.Item{Name: "b", Options: []chime.EnqueueOption{chime.Expire(time.Minute)}}),
		} {
			invalid := (*chime.InvalidError)(nil)
			if _, err := e.Enqueue(t.Context(), "a", nil, option); !errors.As(err, &invalid) {
				t.Errorf("%s: %v, want an InvalidError", name, err)
			}
		}
		synctest.Wait()
	})
}

// A worker that vanished may have begun a job that it had taken ahead. Such a job does not expire: its attempt may be half done.
func TestAJobThatMayHaveBegunDoesNotExpire(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var runs fixture.Runs
		worker := f.Worker(chime.WorkerOptions{})
		worker.Handle("a", func(_ context.Context, job *chime.Job) error { runs.Add(job.ID); return nil })
		e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		for _, id := range []string{"may have begun", "has not begun"} {
			if _, err := e.Enqueue(t.Context(), "a", nil, chime.ID(id), chime.Expire(time.Minute)); err != nil {
				t.Fatal(err)
			}
		}
		client := f.Server.Client() // writes what reap.lua writes for a job that was taken ahead
		client.HSet(t.Context(), "chime:{default}:crashes", "may have begun", "v")
		client.HSet(t.Context(), "chime:{default}:state", "crashed", "1")
		fixture.Pass(2 * time.Minute)
		defer f.Start(worker)()
		fixture.Pass(time.Minute)
		if got, want := strings.Join(runs.IDs(), ", "), "may have begun"; got != want {
			t.Errorf("ran: %s; want %s", got, want)
		}
	})
}
