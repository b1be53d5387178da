package docs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
	"github.com/chimejobs/chime/recurrence"
)

// docs/from-cron.md shows the code of this file, and all of it runs here.

func program(store chime.Store) []chime.Role {
	worker := chime.NewWorker(store, chime.WorkerOptions{})
	worker.Handle("nightly", func(ctx context.Context, job *chime.Job) error {
		return nightly(ctx)
	})
	scheduler := chime.NewScheduler(store, chime.SchedulerOptions{})
	scheduler.Schedule("nightly", recurrence.Recurrence{Cron: "30 2 * * *", TimeZone: "Europe/Berlin"})
	return []chime.Role{scheduler, worker} // for chime.Run(ctx, scheduler, worker)
}

var nights int

func nightly(context.Context) error {
	nights++
	return nil
}

// The program is down at 02:30 on the second night. On the third night three instances of it run.
func TestTheNightlyJobOfAMovedProgram(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		nights = 0
		c.Advance(time.Until(midnight))
		stop := c.Start(program(c.Store())...)
		c.Advance(12 * time.Hour)
		stop()
		c.Advance(24 * time.Hour)
		for range 3 {
			c.Start(program(c.Store())...)
		}
		c.Advance(24 * time.Hour)
		if nights != 3 {
			t.Errorf("three nights ran %d jobs", nights)
		}
	})
}

func crontab(scheduler *chime.Scheduler) error {
	var refused []error
	for name, line := range map[string]string{
		"backup":   "0 3 * * *",
		"invoices": "CRON_TZ=Europe/Berlin 0 6 1 * *",
		"poll":     "@every 90m",
	} {
		rule, err := recurrence.Cron(line)
		if err == nil {
			err = scheduler.Schedule(name, rule)
		}
		refused = append(refused, err)
	}
	return errors.Join(refused...)
}

func TestACrontabIsDeclared(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		scheduler := chime.NewScheduler(c.Store(), chime.SchedulerOptions{})
		if err := crontab(scheduler); err != nil {
			t.Fatal(err)
		}
		c.Start(scheduler)
		schedules := chime.NewSchedules(c.Store())
		for name, want := range map[string]string{"backup": "03:00 03:00", "poll": "11:47 13:17", "invoices": "05:00 05:00"} {
			if got := next(t, schedules, name, 2); got != want {
				t.Errorf("%s runs next at %s, want %s", name, got, want)
			}
		}
	})
}

var seconds = map[string]recurrence.Recurrence{
	"*/10 * * * * *": {Frequency: recurrence.Second, Interval: 10},
	"0 */5 * * * *":  {Cron: "*/5 * * * *"},
	"15 0 9 * * *":   {Frequency: recurrence.Day, StartTime: time.Date(2000, 1, 1, 9, 0, 15, 0, time.UTC)},
}

var moved = map[string]recurrence.Recurrence{
	"DurationJob(90 * time.Minute)":                {Frequency: recurrence.Minute, Interval: 90},
	"DailyJob(1, 10:00 and 14:00)":                 {Frequency: recurrence.Day, Hours: []int{10, 14}, Minutes: []int{0}},
	"WeeklyJob(2, Monday, 9:00)":                   {Frequency: recurrence.Week, Interval: 2, WeekDays: []time.Weekday{time.Monday}, Hours: []int{9}, Minutes: []int{0}},
	"MonthlyJob(1, day -1, 23:30)":                 {Frequency: recurrence.Month, MonthDays: []int{-1}, Hours: []int{23}, Minutes: []int{30}},
	"… WithLimitedRuns(10), WithStopDateTime(end)": {Cron: "0 9 * * *", Count: 10, EndTime: time.Date(2000, 6, 1, 0, 0, 0, 0, time.UTC)},
}

func moveDaily(scheduler *chime.Scheduler) error {
	daily := recurrence.Recurrence{Frequency: recurrence.Day, Hours: []int{10, 14}, Minutes: []int{0}}
	return scheduler.Schedule("daily", daily, chime.NoImmediateRun()) // without this option the first run is immediate
}

func TestAMovedDailyJobDoesNotRunAtOnce(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		scheduler := chime.NewScheduler(c.Store(), chime.SchedulerOptions{})
		if err := moveDaily(scheduler); err != nil {
			t.Fatal(err)
		}
		if err := scheduler.Schedule("at.once", moved["DailyJob(1, 10:00 and 14:00)"]); err != nil {
			t.Fatal(err)
		}
		c.Start(scheduler)
		schedules := chime.NewSchedules(c.Store())
		for name, want := range map[string]string{"daily": "14:00 10:00", "at.once": "10:17 14:00"} {
			if got := next(t, schedules, name, 2); got != want {
				t.Errorf("%s is next at %s, want %s", name, got, want)
			}
		}
	})
}

func TestMovedRules(t *testing.T) {
	for name, want := range map[string]string{
		"*/10 * * * * *":                               "Jan 1 00:00:10, Jan 1 00:00:20",
		"0 */5 * * * *":                                "Jan 1 00:05:00, Jan 1 00:10:00",
		"15 0 9 * * *":                                 "Jan 1 09:00:15, Jan 2 09:00:15",
		"DurationJob(90 * time.Minute)":                "Jan 1 01:30:00, Jan 1 03:00:00",
		"DailyJob(1, 10:00 and 14:00)":                 "Jan 1 10:00:00, Jan 1 14:00:00",
		"WeeklyJob(2, Monday, 9:00)":                   "Jan 10 09:00:00, Jan 24 09:00:00",
		"MonthlyJob(1, day -1, 23:30)":                 "Jan 31 23:30:00, Feb 29 23:30:00",
		"… WithLimitedRuns(10), WithStopDateTime(end)": "Jan 1 09:00:00, Jan 2 09:00:00",
	} {
		rule, ok := seconds[name]
		if !ok {
			rule = moved[name]
		}
		series, err := rule.Series(newYear)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for at, ok := series.Next(newYear); ok && len(got) < 2; at, ok = series.Next(at) {
			got = append(got, at.Format("Jan 2 15:04:05"))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s runs at %q, want %s", name, got, want)
		}
	}
}

func later(ctx context.Context, enqueuer *chime.Enqueuer, at time.Time) error {
	_, err := enqueuer.Enqueue(ctx, "nightly", nil, chime.At(at), chime.ID("nightly of "+at.Format(time.DateOnly)))
	return err
}

func TestAOneTimeJob(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		enqueuer := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{})
		for range 2 {
			if err := later(t.Context(), enqueuer, midnight.Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
		worker.Handle("nightly", func(context.Context, *chime.Job) error { return nil })
		c.Start(worker)
		if runs := c.Advance(15 * time.Hour); len(runs) != 1 || runs[0].Started.Hour() != 1 {
			t.Errorf("ran %v, want one at 01:00", runs)
		}
	})
}

func wrappers(scheduler *chime.Scheduler, rule recurrence.Recurrence) error {
	return errors.Join(
		scheduler.Schedule("skip", rule),                                    // SkipIfStillRunning, LimitModeReschedule
		scheduler.Schedule("delay", rule, chime.Overlap(chime.OverlapWait)), // DelayIfStillRunning, LimitModeWait; in chime at most one run waits
		scheduler.Schedule("both", rule, chime.Overlap(chime.OverlapAllow)), // a job without a wrapper
	)
}

func TestWrappersBecomePolicies(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		scheduler := chime.NewScheduler(c.Store(), chime.SchedulerOptions{})
		if err := wrappers(scheduler, recurrence.Recurrence{Cron: "*/10 * * * *"}); err != nil {
			t.Fatal(err)
		}
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{Concurrency: 20})
		for _, name := range []string{"skip", "delay", "both"} {
			worker.Handle(name, func(_ context.Context, job *chime.Job) error {
				if job.Planned.Minute() == 10 {
					time.Sleep(25 * time.Minute) // fake time passes
				}
				return nil
			})
		}
		c.Advance(time.Until(midnight.Add(time.Minute)))
		c.Start(worker, scheduler)
		ran := map[string][]string{}
		for _, run := range c.Advance(44 * time.Minute) { // until 00:45
			if run.Attempt > 0 && run.Outcome == chime.RunDone {
				ran[run.Schedule] = append(ran[run.Schedule], run.Planned.Format("04"))
			}
		}
		for name, want := range map[string]string{"skip": "[10 40]", "delay": "[10 20 40]", "both": "[20 30 10 40]"} {
			if got := fmt.Sprint(ran[name]); got != want {
				t.Errorf("%s: ran the minutes %s, want %s", name, got, want)
			}
		}
	})
}

// What the page says about the cron lines that chime accepts and refuses.
func TestCronLines(t *testing.T) {
	for _, line := range []string{"0 9 * * 7", "0 9 ? * mon-FRI", "@hourly", "TZ=Asia/Tokyo 0 6 * * *", "5/15 * * * *"} {
		if _, err := recurrence.Cron(line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	for line, hint := range map[string]string{
		"*/10 * * * * *": "frequency second", "@reboot": "not a time", "0 9 L * *": "-1", "0 0 30 2 *": "", "*/61 * * * *": "", "@every 1001s": "at most 1000 seconds",
	} {
		if _, err := recurrence.Cron(line); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: %v, want an error that names %q", line, err, hint)
		}
	}
	got := preview(t, recurrence.Recurrence{Cron: "0 0 */2 * 1"}, 3) // one matching day field is enough: odd days, and Mondays
	if want := []string{"Jan 3 00:00", "Jan 5 00:00", "Jan 7 00:00"}; !slices.Equal(got, want) {
		t.Errorf("every second day or Monday: %q, want %q", got, want)
	}
	got = preview(t, recurrence.Recurrence{Cron: "0 0 1-7 * 1"}, 8)
	if want := "Jan 10 00:00"; got[len(got)-1] != "Jan 17 00:00" || got[len(got)-2] != want {
		t.Errorf("the first seven days or Monday: %q", got)
	}
}
