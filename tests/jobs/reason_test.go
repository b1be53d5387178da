package jobs_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/chimejobs/chime/tests/internal/hookstore"
)

// The reason of a job is the true one in each situation.
func TestTheReasonWhyAJobDoesNotRun(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store, ctx := f.Server.Store(), t.Context()
		jobs, queues, enqueuer := chime.NewJobs(store), chime.NewQueues(store), chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: fixture.Quiet()})
		add := func(queue, id string, options ...chime.EnqueueOption) {
			t.Helper()
			if _, err := enqueuer.Enqueue(ctx, "a", nil, append(options, chime.ID(id), chime.Queue(queue))...); err != nil {
				t.Fatal(err)
			}
		}
		why := func(queue, id string) chime.Reason {
			t.Helper()
			job, err := jobs.Get(ctx, queue, id)
			if err != nil {
				t.Fatal(err)
			}
			all, err := jobs.Reasons(ctx, job)
			if err != nil {
				t.Fatal(err)
			}
			return all[0]
		}
		want := func(queue, id string, kind chime.ReasonKind) chime.Reason {
			t.Helper()
			r := why(queue, id)
			if r.Kind != kind {
				t.Errorf("%s of %s: %+v, want %q", id, queue, r, kind)
			}
			return r
		}
		release := make(chan struct{})
		worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"default": 1, "limited": 1, "paused": 1}, Concurrency: 3, Logger: fixture.Quiet()})
		worker.Handle("a", func(ctx context.Context, _ *chime.Job) error {
			select {
			case <-release:
			case <-ctx.Done():
			}
			return nil
		})
		if err := queues.Limit(ctx, "limited", chime.Limit{Running: 1}); err != nil {
			t.Fatal(err)
		}
		schedules := chime.NewSchedules(store)
		if _, err := schedules.Put(ctx, "tick", recurrence.Recurrence{Frequency: recurrence.Minute}, chime.JobName("a"), chime.Overlap(chime.OverlapWait)); err != nil {
			t.Fatal(err)
		}
		stop := fixture.Start(worker)
		add("limited", "l1")
		fixture.Pass(time.Second)
		add("limited", "l2")
		add("limited", "l3")
		if r := want("limited", "l3", chime.ReasonLimited); r.Limit.Running != 1 || r.Place != 2 {
			t.Errorf("limited: %+v, want a limit of 1 and the second place", r)
		}
		want("limited", "l1", "")
		add("paused", "later", chime.In(time.Hour))
		want("paused", "later", "")
		if err := queues.Pause(ctx, "paused", chime.Note{By: "anna", Text: "migration"}); err != nil {
			t.Fatal(err)
		}
		if r := want("paused", "later", chime.ReasonPaused); r.Note.By != "anna" {
			t.Errorf("paused: %+v, want it by anna", r)
		}
		add("mail", "m")
		want("mail", "m", chime.ReasonUnserved)
		add("mail", "m-later", chime.In(time.Hour))
		want("mail", "m-later", chime.ReasonUnserved)
		fixture.Pass(61 * time.Second)
		occurrences, err := schedules.Upcoming(ctx, "tick", 1)
		if err != nil || len(occurrences) == 0 {
			t.Fatal(occurrences, err)
		}
		first := ""
		for job, err := range jobs.List(ctx, chime.JobFilter{Queue: "default", State: chime.JobRunning}) {
			if err != nil {
				t.Fatal(err)
			}
			first = job.ID
		}
		behind := 0
		for job, err := range jobs.List(ctx, chime.JobFilter{Queue: "default", State: chime.JobWaiting}) {
			if err != nil {
				t.Fatal(err)
			}
			if r := want("default", job.ID, chime.ReasonBehind); r.Behind != first || first == "" {
				t.Errorf("behind: %+v, want %s", r, first)
			}
			behind++
		}
		if behind != 1 {
			t.Errorf("%d occurrences wait, want one", behind)
		}
		for i := range 5 {
			add("default", fmt.Sprint("d", i))
		}
		fixture.Pass(time.Second)
		if r := why("default", "d4"); r.Kind != chime.ReasonInLine || r.Place < 1 || r.Place > 5 {
			t.Errorf("d4: %+v, want it in line", r)
		}
		close(release)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if report, err := chime.Verify(ctx, store, chime.VerifyOptions{}); err != nil || report.Total != 0 || !slices.Contains(report.Unserved, "mail") || slices.Contains(report.Unserved, "paused") {
			t.Errorf("verify found %d, and unserved %v, %v; want mail and not paused", report.Total, report.Unserved, err)
		}
	})
}

func TestAPlaceInLineIsKnownUpToTenThousand(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Add("a", 0, fixture.Names("j", protocol.MaxPlace+1)...)
		for id, want := range map[string]protocol.JobPlace{"j-0000": {Place: 1}, "j-9999": {Place: protocol.MaxPlace}, "j-10000": {Beyond: true}} {
			if got, err := f.Server.Store().Protocol().PlaceOf(t.Context(), "default", id); err != nil || got != want {
				t.Errorf("%s is at %+v, %v; want %+v", id, got, err, want)
			}
		}
	})
}

// A job of a worker that vanished is interrupted, not running, and the worker is gone with its session, in lists and sums.
func TestAJobOfAVanishedWorkerWaitsForAWorkerToStart(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		worker := chime.NewWorker(store, chime.WorkerOptions{Logger: fixture.Quiet()})
		release := make(chan struct{})
		worker.Handle("a", func(context.Context, *chime.Job) error { <-release; return nil })
		f.Add("a", 0, "j")
		stop := fixture.Start(worker)
		fixture.Pass(time.Minute)
		list := func() []*chime.WorkerInfo {
			all, err := chime.NewWorkers(f.Server.Store()).List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		if all := list(); len(all) != 1 || all[0].Busy != 1 || time.Since(all[0].Seen) > 6*time.Second || all[0].SessionTTL != 12*time.Second {
			t.Fatalf("workers %+v, want one that was seen within half a session", all)
		}
		// the worker cannot reach the store any more
		store.SetFault(func(string, protocol.Partition) (before, after error) { return context.DeadlineExceeded, nil })
		last := time.Now()
		fixture.Pass(15 * time.Minute)
		if all := list(); len(all) != 0 {
			t.Errorf("workers %+v, want none", all)
		}
		if s, err := overview.NewPoller(f.Server.Store()).Poll(t.Context(), overview.Hour); err != nil || s.Held != 0 || len(s.Running) != 0 || len(s.Workers) != 0 {
			t.Errorf("the overview has %d running jobs %v and the workers %v, %v; want none", s.Held, s.Running, s.Workers, err)
		}
		jobs := chime.NewJobs(f.Server.Store())
		job, err := jobs.Get(t.Context(), "default", "j")
		if err != nil {
			t.Fatal(err)
		}
		why, err := jobs.Reasons(t.Context(), job)
		if err != nil || why[0].Kind != chime.ReasonVanished || why[0].Served || why[0].Since.Before(last.Add(-5*time.Second)) || why[0].Since.After(last) {
			t.Errorf("the reason is %+v, %v; want a worker that vanished after %v", why, err, last.Add(-5*time.Second))
		}
		store.SetFault(nil)
		close(release)
		_ = stop()
	})
}

// A job of a vanished worker counts for the limit of its queue until it is returned.
func TestAJobWaitsForTheLimitThatAVanishedJobUses(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Add("a", 0, "j")
		if err := chime.NewQueues(f.Server.Store()).Limit(t.Context(), "default", chime.Limit{Running: 1}); err != nil {
			t.Fatal(err)
		}
		release := make(chan struct{})
		start := func(fault hookstore.Fault) (*hookstore.Store, func() error) {
			store := f.Hooked()
			store.SetFault(fault)
			worker := chime.NewWorker(store, chime.WorkerOptions{Logger: fixture.Quiet()})
			worker.Handle("a", func(context.Context, *chime.Job) error { <-release; return nil })
			return store, fixture.Start(worker)
		}
		first, stopFirst := start(nil)
		fixture.Pass(time.Second)
		first.SetFault(func(string, protocol.Partition) (before, after error) { return context.DeadlineExceeded, nil })
		second, stopSecond := start(func(action string, _ protocol.Partition) (before, after error) {
			if action == "reap" {
				return context.DeadlineExceeded, nil
			}
			return nil, nil
		})
		f.Add("a", 0, "k")
		fixture.Pass(30 * time.Second)
		if s := f.Stats(); s.Running != 0 || s.Vanished != 1 || s.Waiting != 1 {
			t.Errorf("%d run, %d have vanished, %d wait; want 0, 1, 1", s.Running, s.Vanished, s.Waiting)
		}
		jobs := chime.NewJobs(f.Server.Store())
		job, err := jobs.Get(t.Context(), "default", "k")
		if err != nil {
			t.Fatal(err)
		}
		if why, err := jobs.Reasons(t.Context(), job); err != nil || why[0].Kind != chime.ReasonLimited {
			t.Errorf("the reason is %+v, %v; want the limit", why, err)
		}
		first.SetFault(nil)
		second.SetFault(nil)
		close(release)
		_, _ = stopFirst(), stopSecond()
	})
}
