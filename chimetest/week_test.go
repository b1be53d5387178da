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
		first := time.Now().UTC().Truncate(time.Hour).Add(time.Hour)
		c.Start(worker, scheduler)
		runs := c.Advance(7 * 24 * time.Hour)
		if len(runs) != 7*24 {
			t.Fatalf("%d runs in a week, want %d", len(runs), 7*24)
		}
		for i, run := range runs {
			if want := first.Add(time.Duration(i) * time.Hour); !run.Planned.Equal(want) || run.Started.Sub(want) > time.Millisecond || run.Outcome != chime.RunDone {
				t.Errorf("run %d: %v, started at %v, want %v", i, run, run.Started, want)
			}
		}
	})
}

// At the time at which a test begins, a rule usually has no instant. So a test sees the run at creation.
func TestTheRunAtCreationIsSeen(t *testing.T) {
	for name, c := range map[string]struct {
		rule    recurrence.Recurrence
		options []chime.ScheduleOption
		runs    int
	}{
		"a day":                         {recurrence.Recurrence{Frequency: recurrence.Day, Hours: []int{9}, Minutes: []int{0}}, nil, 2},
		"a day, without that run":       {recurrence.Recurrence{Frequency: recurrence.Day, Hours: []int{9}, Minutes: []int{0}}, []chime.ScheduleOption{chime.NoImmediateRun()}, 1},
		"working hours":                 {recurrence.Recurrence{Cron: "0 9-16 * * 1-5"}, nil, 7},
		"a month's first, with a start": {recurrence.Recurrence{Frequency: recurrence.Month, StartTime: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			Run(t, func(t *testing.T, chimes *Chime) {
				if now, want := time.Now().UTC(), "Wednesday, 12 January 2000, 10:17:00"; now.Format("Monday, 2 January 2006, 15:04:05") != want {
					t.Errorf("a test begins at %v, want %s", now, want)
				}
				worker := newWorker(chimes, chime.WorkerOptions{})
				worker.Handle("report", func(context.Context, *chime.Job) error { return nil })
				scheduler := newScheduler(chimes)
				if err := scheduler.Schedule("report", c.rule, c.options...); err != nil {
					t.Fatal(err)
				}
				chimes.Start(worker, scheduler)
				if runs := chimes.Advance(23 * time.Hour); len(runs) != c.runs {
					t.Errorf("got %v within 23 hours, want %d", runs, c.runs)
				}
			})
		})
	}
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
