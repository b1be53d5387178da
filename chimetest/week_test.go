package chimetest

import (
	"context"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// A week of an hourly schedule runs each hour once, at its instant. The duration of this test shows how fast a simulated week is.
func TestAWeekOfHours(t *testing.T) {
	Run(t, func(t *testing.T, c *Chime) {
		worker := newWorker(c, chime.WorkerOptions{})
		worker.Handle("hourly", func(context.Context, *chime.Job) error { return nil })
		scheduler := newScheduler(c)
		if err := scheduler.Schedule("hourly", recurrence.Recurrence{Cron: "@hourly"}, chime.NoImmediateRun()); err != nil {
			t.Fatal(err)
		}
		begin := time.Now().UTC()
		c.Start(worker, scheduler)
		runs := c.Advance(7 * 24 * time.Hour)
		if len(runs) < 7*24 || len(runs) > 7*24+1 {
			t.Fatalf("%d runs in a week, want %d, and perhaps one at its beginning", len(runs), 7*24)
		}
		for i, run := range runs[len(runs)-7*24:] {
			if want := begin.Add(time.Duration(i+1) * time.Hour); !run.Planned.Equal(want) || run.Started.Sub(want) > time.Millisecond || run.Outcome != chime.RunDone {
				t.Errorf("run %d: %v, started at %v, want %v", i, run, run.Started, want)
			}
		}
	})
}

// Limits end with time alone, and a quiet store must not forget them.
func TestALimitIsLiftedInTime(t *testing.T) {
	Run(t, func(t *testing.T, c *Chime) {
		if err := chime.NewQueues(c.Store()).Limit(t.Context(), "default", chime.Limit{Starts: 1, Per: 30 * time.Minute}); err != nil {
			t.Fatal(err)
		}
		worker := newWorker(c, chime.WorkerOptions{})
		worker.Handle("runs", func(context.Context, *chime.Job) error { return nil })
		c.Start(worker)
		if _, err := newEnqueuer(c).EnqueueMany(t.Context(), []chime.Item{{Name: "runs"}, {Name: "runs"}, {Name: "runs"}}); err != nil {
			t.Fatal(err)
		}
		runs := c.Advance(2 * time.Hour)
		if len(runs) != 3 || runs[2].Started.Sub(runs[0].Started).Round(time.Minute) != time.Hour {
			t.Errorf("got %v, want three half an hour apart", runs)
		}
	})
}
