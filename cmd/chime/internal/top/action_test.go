package top_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/top"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func everyMinutes(t *testing.T) recurrence.Recurrence {
	return must(recurrence.Cron("*/5 * * * *"))(t)
}

// failSome creates four dead jobs, four that are retried, an empty queue, and two schedules.
func failSome(t *testing.T, store chime.Store) {
	t.Helper()
	var items []chime.Item
	for range 4 {
		items = append(items,
			chime.Item{Name: "bad", Options: []chime.EnqueueOption{chime.Queue("failing"), chime.MaxAttempts(1)}},
			chime.Item{Name: "retried", Options: []chime.EnqueueOption{chime.Queue("failing"), chime.MaxAttempts(9)}})
	}
	must(chime.NewEnqueuer(store, chime.EnqueuerOptions{}).EnqueueMany(t.Context(), items))(t)
	for _, name := range []string{"schedule-00000", "schedule-00001"} {
		must(chime.NewSchedules(store).Put(t.Context(), name, everyMinutes(t), chime.Queue("idle")))(t)
	}
	worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"failing": 1}})
	fails := func(context.Context, *chime.Job) error { return errors.New("refused") }
	worker.Handle("bad", fails)
	worker.Handle("retried", fails, chime.Backoff(func(int) time.Duration { return time.Hour }))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if err := chime.Run(ctx, worker); err != nil {
		t.Fatal(err)
	}
}

func TestActionsDoWhatTheySay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		defer server.Close()
		store := server.Store()
		failSome(t, store)
		poller := overview.NewPoller(store)
		act := func(want string, a top.Action) {
			t.Helper()
			if got, err := top.Act(t.Context(), store, "anna", a); err != nil || got != want {
				t.Errorf("%v: %q (%v), want %q", a, got, err, want)
			}
		}
		queue := []top.Target{{Name: "idle"}}
		act("idle paused", top.Action{Verb: top.Pause, Panel: overview.Queues, Targets: queue})
		if s := must(poller.Poll(t.Context(), overview.Hour))(t); !s.Queues[1].Paused || s.Queues[1].Note.By != "anna" {
			t.Errorf("idle is not paused by anna: %+v", s.Queues[1].QueueInfo)
		}
		act("idle resumed", top.Action{Verb: top.Resume, Panel: overview.Queues, Targets: queue})
		act("schedule-00000 triggered", top.Action{Verb: top.Trigger, Panel: overview.Next, Targets: []top.Target{{Name: "schedule-00000"}}})
		schedule := []top.Target{{Name: "schedule-00000"}}
		act("schedule-00000 paused", top.Action{Verb: top.Pause, Panel: overview.Next, Targets: schedule})
		if s := must(chime.NewSchedules(store).Get(t.Context(), "schedule-00000"))(t); s.State != chime.StatePaused || s.Note.By != "anna" {
			t.Errorf("schedule-00000 is not paused by anna: %+v", s)
		}
		act("schedule-00000 resumed", top.Action{Verb: top.Resume, Panel: overview.Next, Targets: schedule})
		if s := must(chime.NewSchedules(store).Get(t.Context(), "schedule-00000"))(t); s.State != chime.StateLive {
			t.Errorf("schedule-00000 is %s, want live", s.State)
		}
		act("schedule-00000 paused", top.Action{Verb: top.Pause, Panel: overview.Next, Targets: schedule})
		act("1 schedule deleted, 1 had gone", top.Action{Verb: top.Delete, Panel: overview.Next, Targets: []top.Target{{Name: "schedule-00001"}, {Name: "x"}}})
		if s := must(poller.Poll(t.Context(), overview.Hour))(t); len(s.Next) != 0 {
			t.Errorf("next %v, want none", s.Next)
		}
		if _, err := top.Act(t.Context(), store, "anna", top.Action{Verb: top.Delete, Panel: overview.Queues, Targets: queue}); !errors.Is(err, chime.ErrConflict) {
			t.Errorf("deleting a queue in use: %v, want ErrConflict", err)
		}

		var dead, retrying []string
		for _, g := range must(poller.Poll(t.Context(), overview.Hour))(t).Failures {
			for _, job := range g.Jobs {
				if job.State == chime.JobDead {
					dead = append(dead, job.ID)
				} else {
					retrying = append(retrying, job.ID)
				}
			}
		}
		if len(dead) != 4 || len(retrying) != 4 {
			t.Fatalf("%d dead and %d retrying, want 4 each", len(dead), len(retrying))
		}
		act("0 jobs cancelled, 1 had ended", top.Action{Verb: top.Cancel, Panel: overview.Running, Targets: []top.Target{{Queue: "failing", Name: dead[0]}}})
		act("0 jobs cancelled, 1 had ended", top.Action{Verb: top.Cancel, Panel: overview.Running, Targets: []top.Target{{Queue: "failing", Name: "x"}}})
		act("4 jobs retried", top.Action{Verb: top.Retry, Panel: overview.Failures, Targets: []top.Target{{Queue: "failing", State: chime.JobDead, IDs: dead}}})
		act("0 jobs deleted, 4 had gone", top.Action{Verb: top.Delete, Panel: overview.Failures, Targets: []top.Target{{Queue: "failing", State: chime.JobDead, IDs: dead}}})
		act("4 jobs deleted", top.Action{Verb: top.Delete, Panel: overview.Failures, Targets: []top.Target{{Queue: "failing", State: chime.JobRetrying, IDs: retrying}}})
		act(dead[0]+" cancelled", top.Action{Verb: top.Cancel, Panel: overview.Running, Targets: []top.Target{{Queue: "failing", Name: dead[0]}}})
		s := must(poller.Poll(t.Context(), overview.Hour))(t)
		for _, q := range s.Queues {
			if q.Name == "failing" && (q.Waiting != 3 || q.Dead != 0 || q.Delayed != 0) {
				t.Errorf("failing has %d waiting, %d dead, %d delayed, want 3, 0, 0", q.Waiting, q.Dead, q.Delayed)
			}
		}
		for _, g := range s.Failures {
			if len(g.Jobs) > 0 {
				t.Errorf("group %+v is still there", g)
			}
		}
	})
}
