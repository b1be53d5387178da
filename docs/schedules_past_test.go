package docs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
	"github.com/chimejobs/chime/recurrence"
)

func syncCustomers(scheduler *chime.Scheduler, customers []string) error {
	for _, customer := range customers {
		err := scheduler.Schedule("sync/"+customer, recurrence.Recurrence{Cron: "@hourly"},
			chime.JobName("sync"), chime.Spread(time.Hour), chime.PauseAfter(3), chime.MaxAttempts(1))
		if err != nil {
			return err
		}
	}
	return nil
}

// Each customer's hour begins at a different minute. A schedule whose runs die is paused, and its note gives the reason.
func TestCustomersAreSpreadAndPaused(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		customers := []string{"anna", "bert", "carl"}
		scheduler := chime.NewScheduler(c.Store(), chime.SchedulerOptions{})
		if err := syncCustomers(scheduler, customers); err != nil {
			t.Fatal(err)
		}
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
		worker.Handle("sync", func(_ context.Context, job *chime.Job) error {
			if job.Schedule == "sync/bert" {
				return errors.New("no such account")
			}
			return nil
		})
		c.Start(worker, scheduler)
		minutes := map[int]string{}
		for _, run := range c.Advance(10 * time.Hour) {
			if other := minutes[run.Started.Minute()]; other != "" && other != run.Schedule {
				t.Errorf("%s and %s begin in the same minute", other, run.Schedule)
			}
			minutes[run.Started.Minute()] = run.Schedule
			if run.Planned.Minute() != 0 {
				t.Errorf("%s is planned for %v, want the hour", run.Schedule, run.Planned)
			}
		}
		schedules := chime.NewSchedules(c.Store())
		for _, customer := range customers {
			s, err := schedules.Get(t.Context(), "sync/"+customer)
			if err != nil {
				t.Fatal(err)
			}
			if paused := s.State == chime.StatePaused; paused != (customer == "bert") || paused && s.Note.Text != "3 occurrences in a row ended dead" {
				t.Errorf("%s: %s, %q", s.Name, s.State, s.Note.Text)
			}
		}
	})
}

func fillIn(ctx context.Context, schedules *chime.Schedules, name string, from, to time.Time) (placed int, err error) {
	for !from.IsZero() {
		filled, err := schedules.Backfill(ctx, name, from, to)
		if err != nil {
			return placed, err
		}
		placed, from = placed+filled.Placed, filled.Next
	}
	return placed, nil
}

func lastDays(ctx context.Context, schedules *chime.Schedules, name string) error {
	days, err := schedules.Days(ctx, name)
	if err != nil {
		return err
	}
	for _, day := range days {
		fmt.Println(day.Day.Format(time.DateOnly), day.Done, "done", day.Failed, "failed", day.Skipped, "skipped", day.Missed, "missed")
	}
	return nil
}

func TestHoursThatHavePassedAreFilledIn(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		scheduler := chime.NewScheduler(c.Store(), chime.SchedulerOptions{})
		if err := keepMore(scheduler); err != nil {
			t.Fatal(err)
		}
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
		worker.Handle("backup", func(context.Context, *chime.Job) error { return nil })
		c.Start(worker, scheduler)
		c.Advance(3 * time.Hour)
		schedules := chime.NewSchedules(c.Store())
		now := time.Now()
		placed, err := fillIn(t.Context(), schedules, "backup", now.AddDate(0, 0, -30), now.AddDate(0, 0, -2))
		if want := 28 * 24; err != nil || placed != want {
			t.Fatalf("%d placed, %v; want %d", placed, err, want)
		}
		ran := map[time.Time]int{}
		for _, run := range c.Advance(time.Hour) {
			ran[run.Planned]++
		}
		for at := now.AddDate(0, 0, -30).Truncate(time.Hour); at.Before(now.AddDate(0, 0, -2)); at = at.Add(time.Hour) {
			if !at.Before(now.AddDate(0, 0, -30)) && ran[at.UTC()] != 1 {
				t.Errorf("%v ran %d times, want once", at, ran[at.UTC()])
			}
		}
		if err := lastDays(t.Context(), schedules, "backup"); err != nil {
			t.Fatal(err)
		}
	})
}
