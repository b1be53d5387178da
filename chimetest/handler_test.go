package chimetest

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/chimejobs/chime"
)

// A job of NewJob equals the job that a worker passes to a handler, including the defaults of package chime.
func TestANewJobIsAsAWorkerGivesIt(t *testing.T) {
	type arguments struct{ Width int }
	kind := chime.Define[arguments]("handler.like", chime.Queue("media"), chime.MaxAttempts(7))
	for name, item := range map[string]chime.Item{
		"by name":      {Name: "handler.like", Args: arguments{3}, Options: []chime.EnqueueOption{chime.Queue("media")}},
		"of a kind":    kind.Item(arguments{3}),
		"with options": kind.Item(arguments{4}, chime.ID("mine"), chime.Timeout(time.Minute), chime.Header("tenant", "t1"), chime.Group("t1"), chime.In(time.Hour)),
		"no arguments": {Name: "handler.like", Options: []chime.EnqueueOption{chime.Queue("media")}},
	} {
		Run(t, func(t *testing.T, c *Chime) {
			var got *chime.Job
			worker := newWorker(c, chime.WorkerOptions{Queues: map[string]int{"media": 1}})
			worker.Handle("handler.like", func(_ context.Context, job *chime.Job) error {
				got = job
				return nil
			})
			c.Start(worker)
			made := NewJob(t, item)
			if _, err := newEnqueuer(c).EnqueueMany(t.Context(), []chime.Item{item}); err != nil {
				t.Fatal(err)
			}
			c.Advance(2 * time.Hour)
			if got == nil {
				t.Fatalf("%s: it did not run", name)
			}
			want := *got
			for _, at := range []*time.Time{&want.Planned, &want.Started, &made.Planned, &made.Started} {
				*at = at.UTC().Truncate(time.Millisecond)
			}
			want.Fence, want.Worker = made.Fence, made.Worker // no worker holds the job of NewJob
			if want.ID == "mine" != (made.ID == "mine") || made.ID == "" {
				t.Errorf("%s: ID %q, a worker's is %q", name, made.ID, want.ID)
			}
			want.ID = made.ID
			testFields(t, name, made, &want)
		})
	}
}

func testFields(t *testing.T, name string, got, want *chime.Job) {
	t.Helper()
	g, w := reflect.ValueOf(*got), reflect.ValueOf(*want)
	for i := range g.NumField() {
		field := g.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		if a, b := g.Field(i).Interface(), w.Field(i).Interface(); !reflect.DeepEqual(a, b) && !(field.Name == "Payload" && len(got.Payload)+len(want.Payload) == 0) {
			t.Errorf("%s: %s is %v, a worker's is %v", name, field.Name, a, b)
		}
	}
}

func TestWorkReturnsAllThatAHandlerReports(t *testing.T) {
	job := NewJob(t, chime.Item{Name: "says"})
	for range 2 { // nothing remains of the first time
		worked := Work(t, func(ctx context.Context, j *chime.Job) error {
			if chime.JobFrom(ctx) != j || j != job {
				t.Error("chime.JobFrom is not the job")
			}
			j.Note("half of it")
			return errors.Join(j.Progress(50), j.Return("result"))
		}, job)
		var value string
		var progress int
		if err := errors.Join(chime.Decode(worked.Value, &value), chime.Decode(worked.Progress, &progress)); err != nil {
			t.Fatal(err)
		}
		if value != "result" || progress != 50 || worked.Note != "half of it" || worked.Action != chime.Succeeded || worked.Err != nil {
			t.Errorf("got %+v, %q, %d", worked, value, progress)
		}
	}
	if worked := Work(t, func(context.Context, *chime.Job) error { return nil }, job); worked.Value != nil || worked.Progress != nil || worked.Note != "" {
		t.Errorf("of a handler that reports nothing: %+v", worked)
	}
}

func TestWorkReturnsWhatTheHandlersErrorMeans(t *testing.T) {
	failed := errors.New("failed")
	for want, err := range map[chime.Action]error{chime.Succeeded: nil, chime.Retried: failed, chime.Discarded: chime.Discard(failed), chime.Snoozed: chime.Snooze(time.Hour)} {
		worked := Work(t, func(context.Context, *chime.Job) error { return err }, NewJob(t, chime.Item{Name: "fails"}))
		if worked.Action != want || !errors.Is(worked.Err, err) {
			t.Errorf("%v: got %+v, want %v", err, worked, want)
		}
	}
	var panicked *chime.PanicError
	worked := Work(t, func(context.Context, *chime.Job) error { panic("broken") }, NewJob(t, chime.Item{Name: "panics"}))
	if worked.Action != chime.Retried || !errors.As(worked.Err, &panicked) || panicked.Value != "broken" || len(panicked.Stack) == 0 {
		t.Errorf("a panic: got %+v", worked)
	}
}

func TestAHandlersCtxEndsAtTheTimeout(t *testing.T) {
	Run(t, func(t *testing.T, c *Chime) {
		job := NewJob(t, chime.Item{Name: "slow", Options: []chime.EnqueueOption{chime.Timeout(time.Hour)}})
		begin := time.Now()
		worked := Work(t, func(ctx context.Context, _ *chime.Job) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}, job)
		if !errors.Is(worked.Err, chime.ErrTimeout) || time.Since(begin) != time.Hour {
			t.Errorf("after %v: %v, want ErrTimeout after an hour", time.Since(begin), worked.Err)
		}
	})
}

func TestWorkManyReturnsWhatEachJobGot(t *testing.T) {
	bad := errors.New("bad")
	var jobs []*chime.Job
	for _, id := range []string{"a", "b", "c"} {
		jobs = append(jobs, NewJob(t, chime.Item{Name: "many", Options: []chime.EnqueueOption{chime.ID(id)}}))
	}
	worked := WorkMany(t, func(ctx context.Context, got []*chime.Job) error {
		if len(got) != 3 || got[1].ID != "b" || chime.JobFrom(ctx) != nil {
			t.Errorf("got %v, and the job %v of ctx; want three and none", got, chime.JobFrom(ctx))
		}
		if _, limited := ctx.Deadline(); !limited {
			t.Error("the ctx has no deadline")
		}
		got[1].Note("b's note")
		return chime.Each{"a": chime.Discard(bad), "b": nil}
	}, jobs...)
	if worked[0].Action != chime.Discarded || !errors.Is(worked[0].Err, bad) || worked[1].Action != chime.Succeeded || worked[1].Note != "b's note" || worked[2].Action != chime.Succeeded || worked[2].Note != "" {
		t.Errorf("got %+v", worked)
	}
	for _, one := range WorkMany(t, func(context.Context, []*chime.Job) error { panic("slip") }, jobs...) {
		var panicked *chime.PanicError
		if one.Action != chime.Retried || !errors.As(one.Err, &panicked) {
			t.Errorf("after a panic: %+v", one)
		}
	}
}

// Advance returns an attempt for each job of a call.
func TestAdvanceReturnsEachJobOfACall(t *testing.T) {
	Run(t, func(t *testing.T, c *Chime) {
		worker := newWorker(c, chime.WorkerOptions{})
		worker.HandleMany("many", chime.Many{Size: 3, Wait: 10 * time.Second}, func(_ context.Context, jobs []*chime.Job) error {
			time.Sleep(time.Second) // simulated time
			jobs[0].Note("first")
			return chime.Each{jobs[2].ID: errors.New("bad")}
		})
		c.Start(worker)
		for _, id := range []string{"a", "b", "c"} {
			if _, err := newEnqueuer(c).Enqueue(t.Context(), "many", nil, chime.ID(id)); err != nil {
				t.Fatal(err)
			}
		}
		runs := c.Advance(2 * time.Second)
		if len(runs) != 3 {
			t.Fatalf("%v, want three attempts", runs)
		}
		for _, run := range runs {
			want := chime.RunDone
			if run.ID == "c" {
				want = chime.RunFailed
			}
			if run.Outcome != want || run.Ended.Sub(run.Started) != time.Second || (run.ID == "a") != (run.Note == "first") {
				t.Errorf("%s: %s after %v, note %q; want %s after 1s", run.ID, run.Outcome, run.Ended.Sub(run.Started), run.Note, want)
			}
		}
	})
}
