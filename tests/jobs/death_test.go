package jobs_test

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

// A death is what the handler of "alert" received.
type receivedDeath struct {
	id, args string
	of       *chime.JobInfo
	schedule string
}

// deaths handles "alert", and returns the deaths that it receives.
func deaths(w *chime.Worker) *[]receivedDeath {
	received := new([]receivedDeath)
	w.Handle("alert", func(_ context.Context, job *chime.Job) error {
		var args string
		if err := job.Decode(&args); err != nil {
			return err
		}
		*received = append(*received, receivedDeath{job.ID, args, job.Death, job.Schedule})
		return nil
	})
	return received
}

func TestADeathAddsItsJobOnce(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		alert := chime.OnDeath(chime.Item{Name: "alert", Args: "#billing", Options: []chime.EnqueueOption{chime.MaxAttempts(2)}})
		w := f.Worker(chime.WorkerOptions{})
		received := deaths(w)
		w.Handle("work", func(_ context.Context, job *chime.Job) error {
			if job.Death != nil {
				t.Errorf("%v has a death: %v", job, job.Death)
			}
			return chime.RetryAfter(time.Second, fmt.Errorf("attempt %d failed", job.Attempt))
		})
		w.Handle("hopeless", func(context.Context, *chime.Job) error { return chime.Discard(errors.New("no such customer")) })
		e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		for _, job := range []struct {
			name string
			args any
			id   string
		}{{"work", "c1", "w"}, {"hopeless", make([]byte, 70_000), "h"}} {
			if _, err := e.Enqueue(t.Context(), job.name, job.args, chime.ID(job.id), chime.MaxAttempts(3), chime.Header("tenant", "a"), alert); err != nil {
				t.Fatal(err)
			}
		}
		scheduler := chime.NewScheduler(f.Server.Store(), chime.SchedulerOptions{})
		once := recurrence.Recurrence{StartTime: time.Now().Add(time.Minute)}
		if err := scheduler.Schedule("nightly", once, chime.JobName("hopeless"), alert); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- chime.Run(ctx, scheduler, w) }()
		fixture.Pass(10 * time.Minute)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if len(*received) != 3 {
			t.Fatalf("three jobs died, and %d alerts ran: %+v", len(*received), *received)
		}
		by := map[string]receivedDeath{}
		for _, d := range *received {
			if d.of == nil || d.args != "#billing" || !strings.HasPrefix(d.id, d.of.ID+"#dead-") || d.of.State != chime.JobDead || d.of.Queue != "default" || d.of.Ended.IsZero() {
				t.Fatalf("an alert has ID %q, arguments %q, death %+v", d.id, d.args, d.of)
			}
			by[d.of.Name+d.of.Schedule] = d
		}
		work := by["work"].of
		var args string
		if err := work.Decode(&args); err != nil || args != "c1" || work.Attempt != 3 || work.LastError != "attempt 3 failed" || len(work.Failures) != 3 || work.Header["tenant"] != "a" {
			t.Errorf("the death has arguments %q (%v), attempt %d, error %q, failures %v, header %v", args, err, work.Attempt, work.LastError, work.Failures, work.Header)
		}
		if h := by["hopeless"].of; h.Payload != nil || h.LastError != "no such customer" {
			t.Errorf("a death with arguments of 70,000 bytes has %d bytes of them, error %q; want none", len(h.Payload), h.LastError)
		}
		if n := by["hopelessnightly"]; n.schedule != "nightly" || n.of.ID != "nightly@"+once.StartTime.UTC().Format(time.RFC3339) || !n.of.Planned.Equal(once.StartTime) {
			t.Errorf("the alert of an occurrence has schedule %q, death %+v", n.schedule, n.of)
		}
	})
}

// ended runs jobs until all have ended.
type endedJob struct {
	Rows int
}

func TestWaitReturnsWhatTheJobReturned(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		w := f.Worker(chime.WorkerOptions{Concurrency: 20})
		w.Handle("export", func(ctx context.Context, job *chime.Job) error {
			time.Sleep(3 * time.Second) // fake time
			job.Note("all of it")
			if err := job.Return(1); err != nil {
				return err
			}
			return job.Return(endedJob{Rows: 1000})
		})
		w.Handle("fails", func(context.Context, *chime.Job) error { return chime.Discard(errors.New("no rows")) })
		w.Handle("endless", func(ctx context.Context, job *chime.Job) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		w.Handle("silent", func(context.Context, *chime.Job) error { return nil })
		stop := f.Start(w)
		e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		jobs := chime.NewJobs(f.Server.Store())
		enqueue := func(name, id string, options ...chime.EnqueueOption) {
			if _, err := e.Enqueue(t.Context(), name, nil, append(options, chime.ID(id))...); err != nil {
				t.Fatal(err)
			}
		}
		keep := chime.Keep(time.Hour)
		enqueue("export", "e", keep)
		enqueue("fails", "f", keep, chime.In(time.Second))
		enqueue("endless", "c", keep)
		enqueue("endless", "later", keep, chime.In(time.Hour))
		enqueue("silent", "s", keep, chime.In(time.Second))
		enqueue("silent", "gone", chime.In(time.Second))

		began := time.Now()
		var waits sync.WaitGroup
		waits.Go(func() {
			var got endedJob
			if err := jobs.Wait(t.Context(), "default", "e", &got); err != nil || got.Rows != 1000 || time.Since(began) > 4*time.Second {
				t.Errorf("Wait returned %+v, %v after %v; want 1000 rows after 3s", got, err, time.Since(began))
			}
		})
		failed := func(id string, outcome chime.RunOutcome, message string, is error, within time.Duration) {
			waits.Go(func() {
				err := jobs.Wait(t.Context(), "default", id, nil)
				var ended *chime.JobError
				if !errors.As(err, &ended) || ended.Outcome != outcome || ended.Message != message || ended.ID != id || ended.Queue != "default" {
					t.Errorf("%s: got %v, want a JobError with %s %q", id, err, outcome, message)
				}
				if is != nil && !errors.Is(err, is) || time.Since(began) > within {
					t.Errorf("%s: %v came after %v, want %v within %v", id, err, time.Since(began), is, within)
				}
			})
		}
		failed("f", chime.RunDead, "no rows", nil, 2*time.Second)
		failed("c", chime.RunCancelled, "", chime.ErrCancelled, 6*time.Second)
		failed("later", chime.RunCancelled, "", chime.ErrCancelled, 6*time.Second)
		waits.Go(func() {
			untouched := endedJob{Rows: 7}
			if err := jobs.Wait(t.Context(), "default", "s", &untouched); err != nil || untouched.Rows != 7 {
				t.Errorf("a job that returned nothing gave %+v, %v", untouched, err)
			}
		})
		waits.Go(func() {
			if err := jobs.Wait(t.Context(), "default", "gone", nil); !errors.Is(err, chime.ErrNotFound) {
				t.Errorf("a finished job without Keep: %v, want ErrNotFound", err)
			}
		})
		fixture.Pass(5 * time.Second)
		for id, want := range map[string]chime.CancelResult{"c": chime.CancelAsked, "later": chime.CancelDone} {
			if got, err := jobs.Cancel(t.Context(), "default", id); got != want || err != nil {
				t.Errorf("Cancel %s: %v, %v; want %v", id, got, err, want)
			}
		}
		waits.Wait()

		info, err := jobs.Get(t.Context(), "default", "e")
		if err != nil || info.State != chime.JobDone || info.Outcome != chime.RunDone || info.Note != "all of it" || info.Ended.Sub(info.Started) != 3*time.Second ||
			!info.KeptUntil.After(info.Ended.Add(59*time.Minute)) {
			t.Errorf("the kept job is %+v, %v", info, err)
		}
		var ids []string
		for job, err := range jobs.List(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobDone}) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, job.ID)
		}
		if got := fmt.Sprint(ids); got != "[s e c later]" && got != "[s e later c]" {
			t.Errorf("kept jobs are %s, want s, e, and then c and later", got)
		}
		if err := jobs.Wait(t.Context(), "default", "nobody", nil); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("an unused ID: %v, want ErrNotFound", err)
		}
		if err := jobs.Wait(t.Context(), "default", "e", endedJob{}); err == nil || !strings.Contains(err.Error(), "a pointer") {
			t.Errorf("a target that is not a pointer: %v", err)
		}
		fixture.Pass(time.Hour)
		if err := jobs.Wait(t.Context(), "default", "e", nil); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("an hour after its end: %v, want ErrNotFound", err)
		}
		fixture.Pass(time.Hour) // a sweep: without a leader it comes half an hour and some minutes after the last one
		if err := stop(); err != nil {
			t.Error(err)
		}
		for _, key := range f.KeysLike("results", "kept", "progress") {
			t.Errorf("key %s is left", key)
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Add("work", time.Hour, "a")
		jobs := chime.NewJobs(f.Server.Store())
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		began := time.Now()
		if err := jobs.Wait(ctx, "default", "a", nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 25*time.Second {
			t.Errorf("got %v after %v, want DeadlineExceeded after 25s", err, time.Since(began))
		}
	})
}

func TestAnIDEnqueuedAgainIsNotAnsweredWithTheLastResult(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		n := 0
		w := f.Worker(chime.WorkerOptions{})
		w.Handle("count", func(_ context.Context, job *chime.Job) error {
			n++
			return job.Return(n)
		})
		stop := f.Start(w)
		e, jobs := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{}), chime.NewJobs(f.Server.Store())
		for want := 1; want <= 3; want++ {
			if _, err := e.Enqueue(t.Context(), "count", nil, chime.ID("a"), chime.Keep(time.Hour), chime.In(time.Minute)); err != nil {
				t.Fatal(err)
			}
			got := 0
			if err := jobs.Wait(t.Context(), "default", "a", &got); err != nil || got != want {
				t.Errorf("run %d gave %d, %v", want, got, err)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A deleted, purged or cancelled job has no result, and Wait does not return the result of an earlier job with its ID.
func TestAJobThatIsRemovedIsNotAnsweredWithAnEarlierResult(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		jobs, queues := chime.NewJobs(f.Server.Store()), chime.NewQueues(f.Server.Store())
		removals := []struct {
			how    string
			delay  time.Duration
			remove func() error
		}{
			{"deleted", time.Minute, func() error {
				_, err := jobs.Delete(t.Context(), chime.JobFilter{Queue: "default", IDs: []string{"j"}}, nil)
				return err
			}},
			{"purged", 0, func() error {
				_, err := queues.Purge(t.Context(), "default", "default", nil)
				return err
			}},
			{"cancelled", 0, func() error {
				_, err := jobs.Cancel(t.Context(), "default", "j")
				return err
			}},
		}
		e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		for _, removal := range removals {
			w := f.Worker(chime.WorkerOptions{})
			w.Handle("work", func(_ context.Context, job *chime.Job) error { return job.Return("first") })
			stop := f.Start(w)
			if _, err := e.Enqueue(t.Context(), "work", nil, chime.ID("j"), chime.Keep(time.Hour)); err != nil {
				t.Fatal(err)
			}
			var result string
			if err := jobs.Wait(t.Context(), "default", "j", &result); err != nil || result != "first" {
				t.Fatalf("the first gave %q, %v", result, err)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			if _, err := e.Enqueue(t.Context(), "work", nil, chime.ID("j"), chime.In(removal.delay)); err != nil {
				t.Fatal(err)
			}
			if err := removal.remove(); err != nil {
				t.Fatal(err)
			}
			if err := jobs.Wait(t.Context(), "default", "j", nil); !errors.Is(err, chime.ErrNotFound) {
				t.Errorf("Wait for the second, which was %s, returns %v, want ErrNotFound", removal.how, err)
			}
		}
	})
}

func TestErrorsOfWaitAndCancelNameTheActionOnce(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		e, jobs := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{}), chime.NewJobs(f.Server.Store())
		w := f.Worker(chime.WorkerOptions{})
		w.Handle("work", func(_ context.Context, job *chime.Job) error { return job.Return("a text") })
		stop := f.Start(w)
		if _, err := e.Enqueue(t.Context(), "work", nil, chime.ID("j"), chime.Keep(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if err := jobs.Wait(t.Context(), "default", "j", nil); err != nil {
			t.Error(err)
		}
		var number int
		_, cancelled := jobs.Cancel(t.Context(), "default", "none")
		for _, c := range []struct {
			err  error
			want string
		}{
			{jobs.Wait(t.Context(), "default", "none", nil), `chime: wait for job "none" of queue "default": not found`},
			{jobs.Wait(t.Context(), "", "none", nil), `chime: wait for job "none" of queue "": `},
			{jobs.Wait(t.Context(), "default", "j", &number), `chime: result of job "j" of queue "default": chime: decode into *int: `},
			{cancelled, `chime: cancel job "none" of queue "default": not found`},
		} {
			if text := fmt.Sprint(c.err); !strings.HasPrefix(text, c.want) {
				t.Errorf("error %q, want %q", text, c.want)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestProgressIsSeenWhileTheJobRunsAndGoesWithIt(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		w := f.Worker(chime.WorkerOptions{})
		w.Handle("export", func(ctx context.Context, job *chime.Job) error {
			for n := range 1000 {
				if err := job.Progress(n); err != nil {
					return err
				}
				time.Sleep(10 * time.Millisecond) // fake time
			}
			if job.Attempt == 1 {
				return chime.RetryAfter(time.Minute, errors.New("again"))
			}
			return nil
		})
		stop := f.Start(w)
		f.Add("export", 0, "a")
		jobs := chime.NewJobs(f.Server.Store())
		fixture.Pass(5500 * time.Millisecond)
		var at int
		info, err := jobs.Get(t.Context(), "default", "a")
		if err == nil {
			err = chime.Decode(info.Progress, &at)
		}
		if err != nil || at < 400 || at > 560 {
			t.Errorf("after 5.5s of 10 the progress is %d, %v; want about the 500th of 1000, at most a second old", at, err)
		}
		fixture.Pass(10 * time.Second)
		if info, err := jobs.Get(t.Context(), "default", "a"); err != nil || info.Progress != nil || info.State != chime.JobRetrying {
			t.Errorf("between two attempts: %v with progress %q, %v; want none", info, info.Progress, err)
		}
		if keys := f.KeysLike("progress"); len(keys) > 0 {
			t.Errorf("keys left between two attempts: %v", keys)
		}
		fixture.Pass(2 * time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if keys := f.KeysLike("progress"); len(keys) > 0 {
			t.Errorf("left: %v", keys)
		}
	})
}

func TestResultsAndProgressOfAHandlerHaveLimits(t *testing.T) {
	job := &chime.Job{ID: "a"}
	for want, err := range map[string]error{
		"result 65539 bytes: want at most 65536 bytes": job.Return(make([]byte, 65539)),
		"progress 4097 bytes: want at most 4096 bytes": job.Progress(make([]byte, 4097)),
		`result of job "a"`:                            job.Return(func() {}),
		"":                                             job.Return("x"),
	} {
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
