package queues_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

func TestQueuesShowTheirJobs(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		queues := chime.NewQueues(f.Server.Store())
		if all, err := queues.List(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("an empty store lists %v, %v", all, err)
		}
		added := time.Now().UTC()
		f.Add("good", 0, "g1", "g2")
		f.Add("bad", 0, "b1")
		f.Add("good", time.Hour, "later")
		f.Add("elsewhere", 0, "parked")
		if _, err := chime.NewSchedules(f.Server.Store()).Put(t.Context(), "nightly", recurrence.Recurrence{Cron: "0 3 * * *"}, chime.Queue("mail")); err != nil {
			t.Fatal(err)
		}
		w := f.Worker(chime.WorkerOptions{})
		hold := make(chan struct{})
		w.Handle("good", func(_ context.Context, job *chime.Job) error {
			if job.ID == "g2" {
				<-hold
			}
			return nil
		})
		w.Handle("bad", func(context.Context, *chime.Job) error { return chime.Discard(errors.New("no")) })
		stop := f.Start(w)
		fixture.Pass(time.Second)

		all, err := queues.List(t.Context())
		if err != nil || len(all) != 2 || all[0].Name != "default" || all[1].Name != "mail" {
			t.Fatalf("lists %v, %v; want default and mail", all, err)
		}
		now := time.Now()
		want := chime.QueueInfo{
			Name: "default", Partitions: 1, Delayed: 1, Running: 1, Parked: 1, Dead: 1, Enqueued: 5, Done: 1, Failed: 1, Died: 1, Sessions: 1, Next: added.Add(time.Hour), Now: all[0].Now,
		}
		if *all[0] != want {
			t.Errorf("got  %+v\nwant %+v", *all[0], want)
		}
		if d := now.Sub(all[0].Now).Abs(); d > time.Second {
			t.Errorf("Now is %v away from the store's clock", d)
		}
		if all[1].Schedules != 1 || all[1].Delayed != 1 {
			t.Errorf("mail: %+v, want its schedule and the placed occurrence", *all[1])
		}
		close(hold)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAPausedQueueKeepsItsJobsUntilItIsResumed(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		queues := chime.NewQueues(f.Server.Store())
		f.Add("work", 0, "a")
		if err := queues.Pause(t.Context(), "default"); err != nil {
			t.Fatal(err)
		}
		w := f.Worker(chime.WorkerOptions{})
		ran := 0
		w.Handle("work", func(context.Context, *chime.Job) error { ran++; return nil })
		stop := f.Start(w)
		fixture.Pass(time.Minute)
		if info, err := queues.Get(t.Context(), "default"); err != nil || !info.Paused || info.Waiting != 1 || ran != 0 {
			t.Errorf("paused: %+v, %v, %d ran", info, err, ran)
		}
		for range 2 { // the second call changes nothing
			if err := queues.Resume(t.Context(), "default"); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if ran != 1 {
			t.Errorf("%d ran at once when the queue was resumed, want 1", ran)
		}
		fixture.Pass(time.Second)
		if info, err := queues.Get(t.Context(), "default"); err != nil || info.Paused || info.Done != 1 {
			t.Errorf("resumed: %+v, %v; want one done", info, err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// Getting or pausing a queue does not register it, so a misspelt name is not found.
func TestAnUnregisteredQueueIsNotFound(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		queues := chime.NewQueues(f.Server.Store())
		for action, do := range map[string]func() error{
			"get":    func() error { _, err := queues.Get(t.Context(), "mial"); return err },
			"pause":  func() error { return queues.Pause(t.Context(), "mial") },
			"resume": func() error { return queues.Resume(t.Context(), "mial") },
		} {
			if err := do(); !errors.Is(err, chime.ErrNotFound) {
				t.Errorf("%s: %v, want ErrNotFound", action, err)
			}
		}
		if err := queues.Pause(t.Context(), "a b"); err == nil || errors.Is(err, chime.ErrNotFound) {
			t.Errorf("a bad name: %v, want an error with the reason", err)
		}
		if all, err := queues.List(t.Context()); err != nil || len(all) > 0 {
			t.Errorf("afterwards %v are registered, %v; want none", all, err)
		}
	})
}

// A queue reports since when its oldest job waits. It considers the first jobs of the list, of any size, and overdue jobs.
func TestAQueueReportsSinceWhenItsOldestJobWaits(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		queues := chime.NewQueues(f.Server.Store())
		oldest := func(what string, want time.Time) {
			t.Helper()
			info, err := queues.Get(t.Context(), "default")
			if err != nil {
				t.Fatal(err)
			}
			if d := info.Oldest.Sub(want).Abs(); info.Oldest.IsZero() != want.IsZero() || d > time.Second {
				t.Errorf("%s: since %v, want %v", what, info.Oldest, want)
			}
		}
		enqueuer := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		enqueue := func(id string, args any, options ...chime.EnqueueOption) {
			t.Helper()
			if _, err := enqueuer.Enqueue(t.Context(), "work", args, append(options, chime.ID(id))...); err != nil {
				t.Fatal(err)
			}
		}
		enqueue("later", nil, chime.In(90*time.Minute))
		oldest("one is due later", time.Time{})
		fixture.Pass(time.Hour)
		first := time.Now()
		enqueue("a", nil)
		fixture.Pass(time.Minute)
		enqueue("b", nil)
		oldest("two wait", first)
		enqueue("long", strings.Repeat("x", 80<<10))
		oldest("a long one is behind them", first)
		for _, id := range []string{"a", "b"} {
			if _, err := chime.NewJobs(f.Server.Store()).Delete(t.Context(), chime.JobFilter{Queue: "default", IDs: []string{id}}, nil); err != nil {
				t.Fatal(err)
			}
		}
		oldest("those in front are void", time.Time{})
		fixture.Pass(time.Hour)
		oldest("another one is overdue", first.Add(30*time.Minute))
	})
}

// A queue whose jobs all belong to groups reports its oldest job too, as do its samples: of each group that may start a job it considers the first one.
func TestAQueueReportsSinceWhenTheOldestJobOfItsGroupsWaits(t *testing.T) {
	withGroups(t, func(t *testing.T, g *groups) {
		oldest := func(what string, want time.Time) {
			t.Helper()
			info, err := g.queues.Get(t.Context(), "default")
			if err != nil {
				t.Fatal(err)
			}
			if d := info.Oldest.Sub(want).Abs(); info.Oldest.IsZero() != want.IsZero() || d > time.Millisecond {
				t.Errorf("%s: since %v, want %v", what, info.Oldest, want)
			}
			var waited, old time.Duration
			if !want.IsZero() {
				waited = time.Since(want).Truncate(time.Minute)
			}
			if a := g.Server.Store().Protocol().Sample(t.Context(), []protocol.Partition{{Queue: "default"}}, 1); a[0].Err != nil || !a[0].Taken {
				t.Fatalf("%s: sample %+v", what, a[0])
			}
			samples, err := g.queues.Samples(t.Context(), "default", time.Now().Add(-2*time.Minute), time.Now(), time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range samples {
				old = s.Oldest.Truncate(time.Minute)
			}
			if old != waited {
				t.Errorf("%s: the sample has %v, want %v", what, old, waited)
			}
		}
		start := time.Now()
		g.add("z", "z1")
		fixture.Pass(time.Minute)
		for i := range 30 {
			g.add(fmt.Sprint("g", i), fmt.Sprint("g", i, "a"), fmt.Sprint("g", i, "b"))
		}
		second := time.Now()
		fixture.Pass(time.Minute)
		oldest("all groups may start", start)
		if err := g.queues.PauseGroup(t.Context(), "default", "z"); err != nil {
			t.Fatal(err)
		}
		g.add("g1", "later") // a sample is only stored if a number of jobs has changed
		fixture.Pass(time.Minute)
		oldest("the group of the oldest job is paused", second)
		for i := range 30 {
			if _, err := g.queues.PurgeGroup(t.Context(), "default", fmt.Sprint("g", i), nil); err != nil {
				t.Fatal(err)
			}
		}
		fixture.Pass(time.Minute)
		oldest("only the paused group has jobs", time.Time{})
	})
}
