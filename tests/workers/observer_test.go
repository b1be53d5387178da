package workers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A notebook is an observer that records its events.
type notebook struct {
	mu       sync.Mutex
	received []string
	ended    map[string]chime.JobEvent // the last event, by job ID
}

func (n *notebook) observer() *chime.Observer {
	jobs := func(what string) func([]chime.JobEvent) {
		return func(events []chime.JobEvent) {
			n.mu.Lock()
			defer n.mu.Unlock()
			for _, e := range events {
				line := fmt.Sprintf("%s %s %s/%s %d", what, e.ID, e.Queue, e.Name, e.Attempt)
				if what == "ended" {
					line += " " + string(e.Outcome)
					if e.Err != nil {
						line += " " + e.Err.Error()
					}
					n.ended[e.ID] = e
				}
				n.received = append(n.received, line)
			}
		}
	}
	record := func(line string) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.received = append(n.received, line)
	}
	n.ended = map[string]chime.JobEvent{}
	return &chime.Observer{
		Enqueued: jobs("enqueued"), Taken: jobs("taken"), Begun: jobs("begun"), Ended: jobs("ended"),
		Placed: func(events []chime.PlaceEvent) {
			for _, e := range events {
				record("placed " + e.Schedule + "@" + e.Planned.UTC().Format(time.RFC3339) + " " + e.Queue)
			}
		},
		Elected: func(leading bool, term int64) { record(fmt.Sprintf("elected %v %d", leading, term)) },
		Trouble: func(op string, err error) { record(fmt.Sprintf("trouble %s %v", op, err != nil)) },
	}
}

// about returns the recorded lines about an ID, or about IDs that contain it, in order.
func (n *notebook) about(id string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var lines []string
	for _, line := range n.received {
		if strings.Contains(line, id) {
			lines = append(lines, strings.ReplaceAll(line, " "+id, ""))
		}
	}
	return strings.Join(lines, "; ")
}

func TestObserversReceiveTheEventsOfEachJob(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var notes notebook
		both := []*chime.Observer{{}, notes.observer()} // one without callbacks
		w := f.Worker(chime.WorkerOptions{Observers: both, Concurrency: 3})
		w.Handle("work", func(_ context.Context, job *chime.Job) error {
			time.Sleep(2 * time.Second) // fake time
			switch {
			case job.ID == "fails" && job.Attempt == 1:
				return chime.RetryAfter(time.Second, errors.New("busy"))
			case job.ID == "dies":
				return chime.Discard(errors.New("no"))
			case job.ID == "snoozes" && time.Now().Second() < 10:
				return chime.Snooze(20 * time.Second)
			}
			return nil
		})
		scheduler := chime.NewScheduler(f.Server.Store(), chime.SchedulerOptions{Observers: both})
		if err := scheduler.Schedule("s", recurrence.Recurrence{StartTime: time.Now().Add(30 * time.Second)}, chime.JobName("work")); err != nil {
			t.Fatal(err)
		}
		e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{Observers: both})
		for _, id := range []string{"fine", "fails"} {
			if _, err := e.Enqueue(t.Context(), "work", nil, chime.ID(id)); err != nil {
				t.Fatal(err)
			}
		}
		items := []chime.Item{
			{Name: "work", Options: []chime.EnqueueOption{chime.ID("dies")}}, {Name: "work", Options: []chime.EnqueueOption{chime.ID("fine")}},
			{Name: "work", Options: []chime.EnqueueOption{chime.ID("snoozes"), chime.In(3 * time.Second)}},
		}
		if _, err := e.EnqueueMany(t.Context(), items); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- chime.Run(ctx, scheduler, w) }()
		fixture.Pass(time.Minute)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		for id, want := range map[string]string{
			"fine": "enqueued default/work 0; taken default/work 1; begun default/work 1; ended default/work 1 done",
			"fails": "enqueued default/work 0; taken default/work 1; begun default/work 1; ended default/work 1 failed busy; " +
				"taken default/work 2; begun default/work 2; ended default/work 2 done",
			"dies": "enqueued default/work 0; taken default/work 1; begun default/work 1; ended default/work 1 dead no",
			"snoozes": "enqueued default/work 0; taken default/work 1; begun default/work 1; ended default/work 1 snoozed snoozed for 20s; " +
				"taken default/work 1; begun default/work 1; ended default/work 1 done",
			"s@2000-01-01T00:00:30Z": "placed default; taken default/work 1; begun default/work 1; ended default/work 1 done",
			"elected":                "elected true 1; elected false 1",
			"trouble":                "",
		} {
			if got := notes.about(id); got != want {
				t.Errorf("events of %s:\n %s\nwant\n %s", id, got, want)
			}
		}
		if o := notes.ended["s@2000-01-01T00:00:30Z"]; o.Schedule != "s" || o.Ended.Sub(o.Started) != 2*time.Second || o.Started.Sub(o.Due) > time.Second {
			t.Errorf("the occurrence's end is %+v, want 2s after its start", o)
		}
	})
}

// A job that dies without an error of its handler has a reason too.
func TestObserversReceiveTheReasonOfADeath(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var notes notebook
		w := f.Worker(chime.WorkerOptions{Observers: []*chime.Observer{notes.observer()}})
		w.Handle("stuck", func(context.Context, *chime.Job) error {
			time.Sleep(time.Minute) // fake time: it ignores its timeout, and returns while the timeout is being settled
			return errors.New("late")
		}, chime.Timeout(time.Second), chime.MaxAttempts(1))
		f.Add("stuck", 0, "stuck", "unreadable")
		client := f.Server.Client()
		if err := client.HSet(t.Context(), "chime:{default}:jobs", "unreadable", "\x01garbage").Err(); err != nil {
			t.Fatal(err)
		}
		stop := f.Start(w)
		fixture.Pass(2 * time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		notes.mu.Lock()
		defer notes.mu.Unlock()
		for id, want := range map[string]string{"stuck": "job timed out", "unreadable": "its body cannot be read"} {
			e := notes.ended[id]
			if e.Outcome != chime.RunDead || e.Err == nil || !strings.Contains(e.Err.Error(), want) || id == "stuck" && !errors.Is(e.Err, chime.ErrTimeout) {
				t.Errorf("event of %s: %s, %v; want dead, %q", id, e.Outcome, e.Err, want)
			}
		}
	})
}

func TestANilObserverIsRefused(t *testing.T) {
	nobody := []*chime.Observer{nil}
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		_, err := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{Observers: nobody}).Enqueue(t.Context(), "work", nil)
		errs := []error{
			err, f.Worker(chime.WorkerOptions{Observers: nobody}).Run(t.Context()),
			chime.NewScheduler(f.Server.Store(), chime.SchedulerOptions{Observers: nobody}).Run(t.Context()),
		}
		if slices.ContainsFunc(errs, func(err error) bool {
			return err == nil || !strings.Contains(err.Error(), "Observers has a nil observer")
		}) {
			t.Errorf("got %v, want three errors that name the option", errs)
		}
	})
}
