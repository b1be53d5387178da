package sealing_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

type args struct{ Secret string }

var secret = args{canary}

// secretive handles the jobs of these tests. What a job does is the first word of its name.
func secretive(t *testing.T, w *chime.Worker, got map[string]int, names ...string) {
	var mu sync.Mutex // of got: handlers run at the same time
	for _, name := range names {
		w.Handle(name, func(_ context.Context, job *chime.Job) error {
			var a args
			if err := job.Decode(&a); err != nil || a != secret {
				t.Errorf("%s: got %+v, %v; want the arguments in clear", job.ID, a, err)
			}
			mu.Lock()
			got[name]++
			mu.Unlock()
			if job.Death != nil {
				if err := job.Death.Decode(&a); err != nil || a != secret || !strings.Contains(job.Death.LastError, canary) {
					t.Errorf("%s: the dead job has %+v, %v, %q; want all in clear", job.ID, a, err, job.Death.LastError)
				}
			}
			if job.Prior != nil {
				if err := errors.Join(job.Prior.Decode(&a), chime.Decode(job.Prior.Result, &a)); err != nil || a != secret {
					t.Errorf("%s: the job before it has %+v, %v; want all in clear", job.ID, a, err)
				}
			}
			if job.Attempt > 1 && !strings.Contains(job.LastError, canary) {
				t.Errorf("%s: the last error is %q, want it in clear", job.ID, job.LastError)
			}
			job.Note("note " + canary)
			if err := job.Progress(secret); err != nil {
				t.Error(err)
			}
			switch what, _, _ := strings.Cut(name, "-"); what {
			case "fail":
				return errors.New("error " + canary)
			case "panic":
				panic("panic " + canary)
			case "wait":
				time.Sleep(10 * time.Second) // fake time
			}
			return job.Return(secret)
		})
	}
}

func TestNothingOfAJobIsStoredInClear(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Server.Client().AddHook(sniffer{t})
		store, log := sealed(f, 1), new(fixture.LogBuffer)
		enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: log.Logger()})
		ctx := t.Context()
		after := chime.OnDeath(chime.Item{Name: "done-after", Args: secret, Options: []chime.EnqueueOption{chime.Keep(time.Hour)}})
		next := chime.OnDone(chime.Item{Name: "nobody", Args: secret, Options: []chime.EnqueueOption{chime.OnDeath(chime.Item{Name: "done-after", Args: secret})}})
		for name, options := range map[string][]chime.EnqueueOption{
			"done":   {chime.ID("done"), chime.Keep(time.Hour), chime.OnDone(chime.Item{Name: "done-next", Args: secret, Options: []chime.EnqueueOption{chime.In(time.Minute), next}})},
			"wait":   {chime.ID("wait"), chime.Keep(time.Hour)},
			"fail":   {chime.ID("fail"), chime.MaxAttempts(2), chime.Retry(chime.Fixed(time.Minute)), after, chime.Keep(time.Hour), chime.Header("tenant", "t")},
			"panic":  {chime.ID("panic"), chime.MaxAttempts(1), chime.OnDeath(chime.Item{Name: "nobody", Args: secret})},
			"nobody": {chime.ID("nobody"), after},
			"later":  {chime.ID("later"), chime.In(time.Hour), chime.Expire(time.Hour)},
			"group":  {chime.ArgsID(), chime.Group("g")},
		} {
			if _, err := enqueuer.Enqueue(ctx, name, secret, options...); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := enqueuer.Enqueue(ctx, "later", secret, chime.ID("later"), chime.Replace(), chime.In(2*time.Hour), chime.Expire(time.Hour)); err != nil {
			t.Fatal(err)
		}
		noCanary(f, "enqueued")
		got := map[string]int{}
		worker := chime.NewWorker(store, chime.WorkerOptions{Logger: log.Logger(), HideErrors: true})
		secretive(t, worker, got, "done", "wait", "fail", "panic", "done-after", "done-next", "group")
		stop := fixture.Start(worker)
		fixture.Pass(3 * time.Second)
		noCanary(f, "while a handler runs")
		jobs := chime.NewJobs(store)
		if info, err := jobs.Get(ctx, "default", "wait"); err != nil || info.State != chime.JobRunning || chime.Decode(info.Progress, new(args)) != nil || info.Sealed != "" {
			t.Errorf("the running job is %+v, %v; want its progress in clear", info, err)
		}
		fixture.Pass(2 * time.Minute)
		noCanary(f, "ended")
		if want := map[string]int{"done": 1, "wait": 1, "fail": 2, "panic": 1, "done-after": 1, "done-next": 1, "group": 1}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("the handlers ran %v times, want %v", got, want)
		}
		var result args
		if err := jobs.Wait(ctx, "default", "done", &result); err != nil || result != secret {
			t.Errorf("the result is %+v, %v", result, err)
		}
		if info, err := jobs.Get(ctx, "default", "done"); err != nil || info.Note != "note "+canary {
			t.Errorf("the note is %q, %v", info.Note, err)
		}
		info, err := jobs.Get(ctx, "default", "fail")
		if err != nil || info.LastError != "error "+canary || len(info.Failures) != 2 || info.Failures[0].Error != info.LastError || info.Decode(&result) != nil {
			t.Errorf("the dead job is %+v, %v; want its errors in clear", info, err)
		}
		if n, err := jobs.Requeue(ctx, chime.JobFilter{Queue: "default", State: chime.JobDead}, nil); err != nil || n.Changed != 2 {
			t.Errorf("requeued %+v, %v", n, err)
		}
		fixture.Pass(time.Second)
		if _, err := jobs.Cancel(ctx, "default", "fail"); err != nil {
			t.Error(err)
		}
		fixture.Pass(5 * time.Hour)
		noCanary(f, "requeued and cancelled")
		if shapes, err := chime.NewQueues(store).Errors(ctx, "default", ""); err != nil || len(shapes) != 2 || shapes[0].Shape+shapes[1].Shape != "" || shapes[0].Failed+shapes[1].Failed != 5 {
			t.Errorf("the errors are counted as %+v, %v; want 3 and 2, without shapes", shapes, err)
		}
		if got["fail"] != 3 || got["panic"] != 2 {
			t.Errorf("after the requeue the handlers ran %v times", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if leaks(log.String()) || strings.Contains(log.String(), "goroutine ") || log.Count("handler.panic") == 0 {
			t.Errorf("the log has the canary or a stack, or no panic:\n%s", log)
		}
	})
}

func TestNothingOfAScheduleIsStoredInClear(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Server.Client().AddHook(sniffer{t})
		store, log := sealed(f, 1), new(fixture.LogBuffer)
		ctx, schedules := t.Context(), chime.NewSchedules(store)
		rule := recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 1}
		after := chime.OnDeath(chime.Item{Name: "done-after", Args: secret})
		for _, name := range []string{"done", "fail"} {
			put, err := schedules.Put(ctx, name, rule, chime.JobName(name), chime.Args(secret), after, chime.OnDone(chime.Item{Name: "done-next", Args: secret}), chime.MaxAttempts(2), chime.Retry(chime.Fixed(time.Second)), chime.Keep(time.Hour), chime.Meta([]byte(`{"a":1}`)))
			if err != nil {
				t.Fatal(err)
			}
			var a args
			follower, err := put.OnDoneJob()
			if err != nil || follower.Decode(&a) != nil || a != secret {
				t.Errorf("what follows is %+v, %v", follower, err)
			}
			follower, err = put.OnDeathJob()
			if err != nil || put.Decode(&a) != nil || a != secret || put.Sealed != "" || follower.Decode(&a) != nil {
				t.Errorf("put %+v, %+v, %v", put, follower, err)
			}
		}
		noCanary(f, "put")
		got := map[string]int{}
		worker := chime.NewWorker(store, chime.WorkerOptions{Logger: log.Logger(), HideErrors: true})
		secretive(t, worker, got, "done", "fail", "done-after", "done-next")
		stop := fixture.Start(worker)
		fixture.Pass(10 * time.Minute)
		if _, err := schedules.Trigger(ctx, "done"); err != nil {
			t.Error(err)
		}
		begin := time.Now().Add(-5 * time.Minute)
		if filled, err := schedules.Backfill(ctx, "done", begin, begin.Add(2*time.Minute)); err != nil || filled.Placed != 2 {
			t.Errorf("backfilled %+v, %v", filled, err)
		}
		noCanary(f, "triggered")
		fixture.Pass(time.Minute)
		if got["done"] < 13 || got["fail"] < 20 || got["done-after"] < 9 || got["done-next"] < 13 {
			t.Errorf("the handlers ran %v times", got)
		}
		runs := 0
		for run, err := range schedules.Runs(ctx, "fail") {
			if err != nil {
				t.Fatal(err)
			}
			runs++
			if run.Error != "" && run.Error != "error "+canary || run.Note != "" && run.Note != "note "+canary {
				t.Errorf("the history has error %q and note %q, want them in clear", run.Error, run.Note)
			}
		}
		if runs < 10 {
			t.Errorf("%d runs, want 10 or more", runs)
		}
		noCanary(f, "run")
		if err := stop(); err != nil {
			t.Error(err)
		}
		if leaks(log.String()) {
			t.Errorf("the log has the canary:\n%s", log)
		}
	})
}

// In the history of a schedule errors and notes have few bytes: what is sealed is cut before, and is not lost.
func TestLongTextsOfAHistoryAreCut(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Server.Client().AddHook(sniffer{t})
		store, ctx := sealed(f, 1), t.Context()
		if _, err := chime.NewSchedules(store).Put(ctx, "s", recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 1}, chime.JobName("fail"), chime.Args(secret)); err != nil {
			t.Fatal(err)
		}
		long := canary + strings.Repeat("x", 2048-len(canary))
		worker := chime.NewWorker(store, chime.WorkerOptions{Logger: fixture.Quiet()})
		worker.Handle("fail", func(_ context.Context, job *chime.Job) error { job.Note(long); return errors.New(long) })
		stop := fixture.Start(worker)
		fixture.Pass(90 * time.Second)
		_ = stop()
		runs := 0
		for run, err := range chime.NewSchedules(store).Runs(ctx, "s") {
			if err != nil {
				t.Fatal(err)
			}
			if runs++; len(run.Error) < 90 || len(run.Note) < 1400 || !strings.HasPrefix(run.Error, canary+"xx") || !strings.HasPrefix(run.Note, canary+"xx") {
				t.Errorf("the history has an error of %d bytes, %.20q, and a note of %d, %.20q", len(run.Error), run.Error, len(run.Note), run.Note)
			}
		}
		if runs == 0 {
			t.Error("there are no runs")
		}
	})
}
