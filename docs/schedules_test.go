package docs_test

import (
	"bytes"
	"context"
	"encoding/json"
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

// docs/schedules.md shows the code of this file, and all of it runs here.

type ReportArgs struct{ Customer string }

var Report = chime.Define[ReportArgs]("report", chime.MaxAttempts(3))

func declare(scheduler *chime.Scheduler) error {
	nightly := recurrence.Recurrence{Cron: "30 2 * * *", TimeZone: "Europe/Berlin"}
	return Report.Schedule(scheduler, "report.nightly", nightly, ReportArgs{Customer: "all"})
}

func TestADeclaredScheduleRuns(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
		scheduler := chime.NewScheduler(c.Store(), chime.SchedulerOptions{})
		var got []string
		Report.Handle(worker, func(_ context.Context, job *chime.Job, args ReportArgs) error {
			got = append(got, job.ID+" "+args.Customer)
			return nil
		})
		if err := declare(scheduler); err != nil {
			t.Fatal(err)
		}
		stop := c.Start(worker, scheduler)
		c.Advance(48 * time.Hour)
		stop()
		want := []string{"report.nightly@2000-01-13T01:30:00Z all", "report.nightly@2000-01-14T01:30:00Z all"}
		if !slices.Equal(got, want) {
			t.Errorf("ran %q, want %q", got, want)
		}
	})
}

var rules = map[string]recurrence.Recurrence{
	"every 15 minutes": {Frequency: recurrence.Minute, Interval: 15},
	"in office hours":  {Cron: "*/15 9-16 * * 1-5"},
	"every 10 seconds": {Frequency: recurrence.Second, Interval: 10},
	"last day, 23:30": {
		Frequency: recurrence.Month, MonthDays: []int{-1}, Hours: []int{23}, Minutes: []int{30},
	},
	"last Friday, 18:00": {
		Frequency: recurrence.Month, Hours: []int{18}, Minutes: []int{0},
		MonthlyOccurrences: []recurrence.NthWeekday{{Day: time.Friday, N: -1}},
	},
	"every second Monday, 08:00": {
		StartTime: time.Date(2000, 1, 3, 8, 0, 0, 0, time.UTC), Frequency: recurrence.Week, Interval: 2,
	},
	"once, at noon": {StartTime: time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC)},
}

func TestEachRuleRunsAtItsTimes(t *testing.T) {
	wants := map[string]string{
		"every 15 minutes":           "Jan 1 00:15, Jan 1 00:30",
		"in office hours":            "Jan 3 09:00, Jan 3 09:15",
		"every 10 seconds":           "Jan 1 00:00, Jan 1 00:00",
		"last day, 23:30":            "Jan 31 23:30, Feb 29 23:30",
		"last Friday, 18:00":         "Jan 28 18:00, Feb 25 18:00",
		"every second Monday, 08:00": "Jan 3 08:00, Jan 17 08:00",
		"once, at noon":              "Jan 1 12:00",
	}
	for name, rule := range rules {
		if got := strings.Join(preview(t, rule, 2), ", "); got != wants[name] {
			t.Errorf("%s runs at %s, want %s", name, got, wants[name])
		}
	}
}

var newYear = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// preview returns when a rule created at midnight of 1 January 2000 runs, without the run at creation.
func preview(t *testing.T, rule recurrence.Recurrence, n int) (times []string) {
	t.Helper()
	series, err := rule.Series(newYear)
	if err != nil {
		t.Fatal(err)
	}
	for at, ok := series.Next(newYear); ok && len(times) < n; at, ok = series.Next(at) {
		times = append(times, at.Format("Jan 2 15:04"))
	}
	return times
}

func TestTheRunAtCreation(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		schedules := chime.NewSchedules(c.Store())
		ctx := t.Context()
		hourly := recurrence.Recurrence{Frequency: recurrence.Hour}
		_, err := schedules.Put(ctx, "at once", hourly, Report.With(ReportArgs{}))
		if err != nil {
			t.Fatal(err)
		}
		_, err = schedules.Put(ctx, "in an hour", hourly, Report.With(ReportArgs{}), chime.NoImmediateRun())
		if err != nil {
			t.Fatal(err)
		}
		_, err = schedules.Put(ctx, "cron", recurrence.Recurrence{Cron: "10 * * * *"}, Report.With(ReportArgs{}))
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"at once": "10:17 11:17", "in an hour": "11:17 12:17", "cron": "11:10 12:10"} {
			if got := next(t, schedules, name, 2); got != want {
				t.Errorf("%q runs at %s, want %s", name, got, want)
			}
		}
	})
}

// next returns the next run of a schedule, in UTC.
func next(t *testing.T, schedules *chime.Schedules, name string, n int) string {
	t.Helper()
	times, err := schedules.Upcoming(t.Context(), name, n)
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, at := range times {
		text = append(text, at.UTC().Format("15:04"))
	}
	return strings.Join(text, " ")
}

func subscribe(ctx context.Context, schedules *chime.Schedules, customer, zone string) error {
	daily := recurrence.Recurrence{Cron: "0 9 * * *", TimeZone: zone} // "09:00, where the customer is"
	_, err := schedules.Put(ctx, "report/"+customer, daily, Report.With(ReportArgs{Customer: customer}))
	var rule *recurrence.Error      // what is wrong with a rule: here the zone
	var invalid *chime.InvalidError // for any invalid value, also of the rule: here it is the name
	switch {
	case errors.As(err, &rule):
		return fmt.Errorf("please check %s: it %s", rule.Field, rule.Reason)
	case errors.As(err, &invalid):
		return fmt.Errorf("please check %s: want %s", invalid.Field, invalid.Limit)
	}
	return err
}

func TestASubscriptionIsPut(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		schedules := chime.NewSchedules(c.Store())
		for range 2 {
			if err := subscribe(t.Context(), schedules, "anna@example.com", "Asia/Tokyo"); err != nil {
				t.Fatal(err)
			}
		}
		if got := next(t, schedules, "report/anna@example.com", 1); got != "00:00" {
			t.Errorf("the next report is at %s, want 00:00, which is 09:00 in Tokyo", got)
		}
		if err := subscribe(t.Context(), schedules, " ", "Asia/Tokyo"); err == nil || !strings.HasPrefix(err.Error(), "please check name") {
			t.Errorf("a bad name: %v", err)
		}
		if err := subscribe(t.Context(), schedules, "bert", "Mars"); err == nil || !strings.HasPrefix(err.Error(), "please check timeZone: it must be an IANA name") {
			t.Errorf("a zone that does not exist: %v", err)
		}
	})
}

func TestCreatedOnceAndPaused(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		schedules := chime.NewSchedules(c.Store())
		ctx := t.Context()
		daily := recurrence.Recurrence{Cron: "@daily"}
		asked := json.RawMessage(`{"asked_by":"anna"}`)
		_, err := schedules.Put(ctx, "export", daily, chime.Meta(asked), chime.IfAbsent(), chime.Paused(chime.Note{Text: "until the disk is there"}))
		if err != nil {
			t.Fatal(err)
		}
		s, err := schedules.Get(ctx, "export")
		if err != nil || s.State != chime.StatePaused || s.Note.Text == "" || string(s.Meta) != string(asked) {
			t.Errorf("got %+v, %v", s, err)
		}
		var conflict *chime.ConflictError
		if _, err = schedules.Put(ctx, "export", recurrence.Recurrence{Cron: "@weekly"}, chime.IfAbsent()); !errors.As(err, &conflict) {
			t.Errorf("put again: %v", err)
		}
	})
}

func TestABadNightInBerlin(t *testing.T) {
	rule := recurrence.Recurrence{Cron: "30 2 * * *", TimeZone: "Europe/Berlin"}
	series, err := rule.Series(time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC)) // as if created at that time
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for at := range series.Between(time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC)) {
		got = append(got, at.Format("2 January 15:04"))
	}
	if want := "28 March 02:30, 29 March 03:30, 30 March 02:30"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %s", got, want)
	}
}

func TestStartCountAndEnd(t *testing.T) {
	course := recurrence.Recurrence{
		StartTime: time.Date(1999, 12, 6, 7, 0, 0, 0, time.UTC), // a Monday, weeks ago
		Frequency: recurrence.Week,
		Interval:  2, // every second week, counted from the start
		Count:     10,
		EndTime:   time.Date(2000, 2, 1, 0, 0, 0, 0, time.UTC),
	}
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		schedules := chime.NewSchedules(c.Store())
		if _, err := schedules.Put(t.Context(), "course", course, chime.JobName("remind")); err != nil {
			t.Fatal(err)
		}
		times, err := schedules.Upcoming(t.Context(), "course", 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(times) != 2 || times[0].Day() != 17 || times[1].Day() != 31 {
			t.Errorf("the course's times are %v, want 17 and 31 January", times)
		}
		for _, at := range times { // between them nothing happens
			c.Advance(time.Until(at) - time.Hour)
			worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
			worker.Handle("remind", func(context.Context, *chime.Job) error { return nil })
			stop := c.Start(worker)
			c.Advance(2 * time.Hour)
			stop()
		}
		if s, err := schedules.Get(t.Context(), "course"); err != nil || s.State != chime.StateCompleted || s.Used != 2 {
			t.Errorf("after the end: %v, %s, %d used, %v", s, s.State, s.Used, err)
		}
		course.EndTime = time.Time{}
		s, err := schedules.Put(t.Context(), "course", course, chime.JobName("remind"))
		if err != nil || s.State != chime.StateLive || s.Next.Day() != 14 {
			t.Errorf("with no end: %v, %s, next %v, %v", s, s.State, s.Next, err)
		}
	})
}

func policies(scheduler *chime.Scheduler) error {
	everyHalfHour := recurrence.Recurrence{Cron: "*/30 * * * *"}
	return errors.Join(
		scheduler.Schedule("import", everyHalfHour, chime.Overlap(chime.OverlapWait), chime.Misfire(chime.MisfireCatchUp)),
		scheduler.Schedule("mirror", everyHalfHour, chime.Overlap(chime.OverlapCancel)),
		scheduler.Schedule("ping", everyHalfHour, chime.Misfire(chime.MisfireSkip), chime.Grace(10*time.Minute)),
	)
}

func mirror(ctx context.Context, job *chime.Job) error {
	err := copyFiles(ctx)
	if errors.Is(context.Cause(ctx), chime.ErrReplaced) {
		fmt.Println("the next run has come: this one ends as superseded")
	}
	return err
}

// copyFiles takes forty minutes.
func copyFiles(ctx context.Context) error {
	select {
	case <-time.After(40 * time.Minute):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestAMirrorIsReplacedByTheNext(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
		worker.Handle("mirror", mirror, chime.Timeout(2*time.Hour))
		for _, name := range []string{"import", "ping"} {
			worker.Handle(name, func(context.Context, *chime.Job) error { return nil })
		}
		scheduler := chime.NewScheduler(c.Store(), chime.SchedulerOptions{})
		if err := policies(scheduler); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Minute)
		c.Start(worker, scheduler)
		c.Advance(65 * time.Minute)
		schedules := chime.NewSchedules(c.Store())
		if err := schedules.Pause(t.Context(), "mirror"); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Hour)
		var how []chime.RunOutcome
		for run, err := range schedules.Runs(t.Context(), "mirror") {
			if err != nil {
				t.Fatal(err)
			}
			how = append(how, run.Outcome)
		}
		if !slices.Equal(how, []chime.RunOutcome{chime.RunDone, chime.RunSuperseded}) {
			t.Errorf("the newest first: %v, want done, superseded", how)
		}
	})
}

// The program starts again some minutes after an occurrence was due.
func TestAStartDeadline(t *testing.T) {
	for late, want := range map[time.Duration]chime.RunOutcome{5 * time.Minute: chime.RunDone, 15 * time.Minute: chime.RunMissed} {
		chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
			program := func() []chime.Role {
				worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
				for _, name := range []string{"mirror", "import", "ping"} {
					worker.Handle(name, func(context.Context, *chime.Job) error { return nil })
				}
				scheduler := chime.NewScheduler(c.Store(), chime.SchedulerOptions{})
				if err := policies(scheduler); err != nil {
					t.Fatal(err)
				}
				return []chime.Role{worker, scheduler}
			}
			c.Advance(time.Until(midnight.Add(time.Minute)))
			stop := c.Start(program()...)
			stop()
			c.Advance(29*time.Minute + late) // 00:30 passes
			c.Start(program()...)
			c.Advance(time.Second)
			ends := map[string]chime.RunOutcome{}
			for _, name := range []string{"import", "ping"} {
				for run, err := range chime.NewSchedules(c.Store()).Runs(t.Context(), name) {
					if err != nil {
						t.Fatal(err)
					}
					ends[name] = run.Outcome
				}
			}
			if ends["ping"] != want || ends["import"] != chime.RunDone {
				t.Errorf("%v late: %v, want ping %s and import done", late, ends, want)
			}
		})
	}
}

// What the page says about the limits of catching up: only the last 24 hours, and at most the newest 100 occurrences.
func TestLimitsOfCatchingUp(t *testing.T) {
	for every, want := range map[int]int64{60: 24, 10: 100} {
		chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
			schedules := chime.NewSchedules(c.Store())
			rule := recurrence.Recurrence{Frequency: recurrence.Minute, Interval: every}
			_, err := schedules.Put(t.Context(), "import", rule, chime.Misfire(chime.MisfireCatchUp), chime.NoImmediateRun())
			if err != nil {
				t.Fatal(err)
			}
			c.Advance(30*time.Hour + 5*time.Minute)
			worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
			worker.Handle("import", func(context.Context, *chime.Job) error { return nil })
			stop := c.Start(worker)
			c.Advance(time.Minute)
			stop()
			s, err := schedules.Get(t.Context(), "import")
			if err != nil {
				t.Fatal(err)
			}
			// The first occurrence that is taken is more than a day late. It counts towards the hundred, and is missed.
			if total := int64(30 * 60 / every); s.Counters.Done > want || s.Counters.Done < want-1 || s.Counters.Done+s.Counters.Missed != total {
				t.Errorf("every %d minutes: %d ran and %d were missed, want %d of %d to run", every, s.Counters.Done, s.Counters.Missed, want, total)
			}
		})
	}
}

func moveToSeven(ctx context.Context, schedules *chime.Schedules) error {
	s, err := schedules.Put(ctx, "report.daily", recurrence.Recurrence{Cron: "0 7 * * *"}, Report.With(ReportArgs{Customer: "all"}))
	if err != nil {
		return err
	}
	fmt.Println(s, "next:", s.Next)
	return nil
}

func TestAChangeWithdrawsTheNextOccurrence(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		schedules := chime.NewSchedules(c.Store())
		before, err := schedules.Put(t.Context(), "report.daily", recurrence.Recurrence{Cron: "0 9 * * *"}, Report.With(ReportArgs{Customer: "some"}))
		if err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Until(midnight.Add(8 * time.Hour)))
		if err := moveToSeven(t.Context(), schedules); err != nil {
			t.Fatal(err)
		}
		after, err := schedules.Get(t.Context(), "report.daily")
		if err != nil {
			t.Fatal(err)
		}
		if want := midnight.Add(31 * time.Hour); !after.Next.Equal(want) || !after.Created.Equal(before.Created) || after.Revision <= before.Revision {
			t.Errorf("changed at 08:00: %+v, want the next run at %v", after, want)
		}
	})
}

// What the page says about occurrences that exist when a schedule changes: a due one runs with the new arguments, one that waits for a retry keeps
// its own.
func TestPendingOccurrencesWhenAScheduleChanges(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		schedules := chime.NewSchedules(c.Store())
		put := func(customer string) {
			_, err := schedules.Put(t.Context(), "hourly", recurrence.Recurrence{Cron: "@hourly"}, Report.With(ReportArgs{customer}), chime.Retry(chime.Fixed(90*time.Minute)))
			if err != nil {
				t.Fatal(err)
			}
		}
		var ran []string
		program := func() *chime.Worker {
			worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
			Report.Handle(worker, func(_ context.Context, job *chime.Job, args ReportArgs) error {
				ran = append(ran, fmt.Sprint(job.Planned.Hour(), " ", job.Attempt, " ", args.Customer))
				if job.Attempt == 1 && args.Customer == "old" {
					return errors.New("busy")
				}
				return nil
			})
			return worker
		}
		c.Advance(time.Until(midnight.Add(10 * time.Minute)))
		put("old")
		stop := c.Start(program())
		c.Advance(80 * time.Minute)
		stop()
		c.Advance(31 * time.Minute) // 02:00 is due and not taken yet, and 01:00 waits for a retry
		put("new")
		stop = c.Start(program())
		c.Advance(45 * time.Minute)
		stop()
		if want := []string{"1 1 old", "2 1 new", "1 2 old"}; !slices.Equal(ran, want) {
			t.Errorf("ran %q, want %q", ran, want)
		}
	})
}

func deployment(store chime.Store, deployed time.Time) *chime.Scheduler {
	return chime.NewScheduler(store, chime.SchedulerOptions{
		Owner:   "billing",
		Version: deployed.Unix(), // the instant of the deployment, not of the build
		Prune:   true,
	})
}

func TestTwoDeployments(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		daily := recurrence.Recurrence{Cron: "@daily"}
		deploy := func(deployed time.Time, names ...string) func() {
			scheduler := deployment(c.Store(), deployed)
			for _, name := range names {
				if err := scheduler.Schedule(name, daily, chime.JobName("j"), chime.Args(deployed)); err != nil {
					t.Fatal(err)
				}
			}
			return c.Start(scheduler)
		}
		schedules := chime.NewSchedules(c.Store())
		if _, err := schedules.Put(t.Context(), "customer", daily, chime.JobName("j")); err != nil {
			t.Fatal(err)
		}
		first := time.Now()
		deploy(first, "invoices", "reminders")
		c.Advance(time.Hour)
		deploy(time.Now(), "invoices")
		c.Advance(time.Hour)
		deploy(first, "invoices", "reminders") // a process of the first deployment starts again
		c.Advance(time.Minute)
		var names []string
		for s, err := range schedules.List(t.Context(), chime.ScheduleFilter{}) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, fmt.Sprint(s.Name, " ", s.Version-first.Unix()))
		}
		if want := []string{fmt.Sprint("customer ", -first.Unix()), "invoices 3600"}; !slices.Equal(names, want) {
			t.Errorf("there are %q, want %q", names, want)
		}
	})
}

func save(ctx context.Context, schedules *chime.Schedules, seen *chime.Schedule, cron string) error {
	rule := seen.Recurrence
	rule.Cron = cron
	_, err := schedules.Put(ctx, seen.Name, rule, append(seen.Options(), chime.IfRevision(seen.Revision))...)
	var conflict *chime.ConflictError
	if errors.As(err, &conflict) {
		return fmt.Errorf("it was changed in the meantime: it is now %q", conflict.Schedule.Recurrence.Cron)
	}
	return err
}

func TestTheSecondOfTwoEditorsGetsAConflict(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		schedules := chime.NewSchedules(c.Store())
		seen, err := schedules.Put(t.Context(), "export", recurrence.Recurrence{Cron: "@daily"}, chime.JobName("copy"), chime.Args("all"), chime.Queue("late"),
			chime.Overlap(chime.OverlapAllow), chime.MaxAttempts(2), chime.Meta([]byte(`{"by":"anna"}`)), chime.Header("tenant", "c1"))
		if err != nil {
			t.Fatal(err)
		}
		if err := save(t.Context(), schedules, seen, "0 5 * * *"); err != nil {
			t.Fatal(err)
		}
		if err := save(t.Context(), schedules, seen, "0 6 * * *"); err == nil || !strings.Contains(err.Error(), `it is now "0 5 * * *"`) {
			t.Errorf("the second editor: %v", err)
		}
		if err := save(t.Context(), schedules, seen, "0 5 * * *"); err != nil {
			t.Errorf("the first editor's call, sent twice: %v", err)
		}
		s, err := schedules.Get(t.Context(), "export")
		if err != nil || s.JobName != "copy" || !bytes.Equal(s.Payload, seen.Payload) || s.Queue != "late" || s.Overlap != chime.OverlapAllow || s.MaxAttempts != 2 ||
			string(s.Meta) != `{"by":"anna"}` || s.Header["tenant"] != "c1" {
			t.Errorf("%+v, %v; want another rule, and the options as they were", s, err)
		}
	})
}

func maintenance(ctx context.Context, schedules *chime.Schedules, work func() error) error {
	if err := schedules.Pause(ctx, "import", chime.Note{Text: "the supplier moves house", By: "anna"}); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err // it remains paused, and its note has the reason
	}
	return schedules.Resume(ctx, "import", chime.SkipGap())
}

// What the page says about pauses: due occurrences run, and so do retries.
func TestPendingOccurrencesWhenAScheduleIsPaused(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		var ran []string
		program := func() *chime.Worker {
			worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
			worker.Handle("hourly", func(_ context.Context, job *chime.Job) error {
				ran = append(ran, fmt.Sprint(job.Planned.Hour(), " ", job.Attempt))
				if job.Attempt == 1 {
					return chime.RetryAfter(70*time.Minute, errors.New("busy"))
				}
				return nil
			})
			return worker
		}
		schedules := chime.NewSchedules(c.Store())
		c.Advance(time.Until(midnight.Add(10 * time.Minute)))
		if _, err := schedules.Put(t.Context(), "hourly", recurrence.Recurrence{Cron: "@hourly"}); err != nil {
			t.Fatal(err)
		}
		stop := c.Start(program())
		c.Advance(time.Hour)
		stop()
		c.Advance(51 * time.Minute) // it is 02:01
		if err := schedules.Pause(t.Context(), "hourly"); err != nil {
			t.Fatal(err)
		}
		stop = c.Start(program())
		c.Advance(5 * time.Hour)
		stop()
		if want := []string{"1 1", "2 1", "1 2", "2 2"}; !slices.Equal(ran, want) {
			t.Errorf("ran %q, want %q", ran, want)
		}
	})
}

func TestMaintenance(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		schedules := chime.NewSchedules(c.Store())
		c.Advance(time.Until(midnight.Add(30 * time.Minute)))
		if _, err := schedules.Put(t.Context(), "import", recurrence.Recurrence{Cron: "@hourly"}); err != nil {
			t.Fatal(err)
		}
		err := maintenance(t.Context(), schedules, func() error {
			c.Advance(3 * time.Hour)
			s, err := schedules.Get(t.Context(), "import")
			if err == nil && (s.State != chime.StatePaused || s.Note.By != "anna" || s.Note.At.IsZero()) {
				t.Errorf("paused: %+v", s)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := next(t, schedules, "import", 2); got != "04:00 05:00" {
			t.Errorf("then it runs at %s, want 04:00 05:00", got)
		}
	})
}

func runNow(ctx context.Context, schedules *chime.Schedules, jobs *chime.Jobs, request string) error {
	receipt, err := schedules.Trigger(ctx, "report.nightly", chime.Args(ReportArgs{Customer: "c1"}), chime.ID(request), chime.Keep(time.Hour))
	if err != nil {
		return err
	}
	return jobs.Wait(ctx, receipt.Queue, receipt.ID, nil)
}

func TestAManualRun(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
		scheduler := chime.NewScheduler(c.Store(), chime.SchedulerOptions{})
		var ran []string
		Report.Handle(worker, func(_ context.Context, job *chime.Job, args ReportArgs) error {
			ran = append(ran, fmt.Sprintln(job.ID, job.Schedule, args.Customer))
			return nil
		})
		if err := declare(scheduler); err != nil {
			t.Fatal(err)
		}
		stop := c.Start(worker, scheduler)
		for range 2 { // the same request twice
			if err := runNow(t.Context(), chime.NewSchedules(c.Store()), chime.NewJobs(c.Store()), "request-17"); err != nil {
				t.Fatal(err)
			}
		}
		stop()
		if want := []string{"report.nightly#request-17 report.nightly c1\n"}; !slices.Equal(ran, want) {
			t.Errorf("ran %q, want %q", ran, want)
		}
	})
}

func whyNot(ctx context.Context, schedules *chime.Schedules, name string) error {
	s, err := schedules.Get(ctx, name)
	if err != nil {
		return err // chime.ErrNotFound: it was never created, or it was deleted
	}
	fmt.Println(s.State, s.Note.Text, "next:", s.Next) // paused? completed?
	fmt.Println(s.Last.Outcome, s.Last.Failures, "failures in a row", s.Counters.Missed, "missed", s.Counters.Skipped, "skipped")
	for run, err := range schedules.Runs(ctx, name) { // the newest first
		if err != nil {
			return err
		}
		fmt.Println(run.Planned, run.Outcome, run.Attempt, run.Started, run.Ended, run.Worker, run.Error, run.Note)
	}
	return nil
}

func failing(ctx context.Context, schedules *chime.Schedules) (names []string, err error) {
	for s, err := range schedules.List(ctx, chime.ScheduleFilter{Prefix: "report", Failing: true}) {
		if err != nil {
			return nil, err
		}
		names = append(names, s.Name)
	}
	return names, nil
}

func TestWhyItDidNotRun(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		schedules := chime.NewSchedules(c.Store())
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
		Report.Handle(worker, func(_ context.Context, job *chime.Job, _ ReportArgs) error {
			job.Note("nothing came")
			return chime.Discard(errors.New("the file is empty"))
		})
		scheduler := chime.NewScheduler(c.Store(), chime.SchedulerOptions{})
		if err := declare(scheduler); err != nil {
			t.Fatal(err)
		}
		stop := c.Start(worker, scheduler)
		c.Advance(24 * time.Hour)
		stop()
		if err := whyNot(t.Context(), schedules, "report.nightly"); err != nil {
			t.Fatal(err)
		}
		for run, err := range schedules.Runs(t.Context(), "report.nightly") {
			if err != nil || run.Outcome != chime.RunDead || run.Error != "the file is empty" || run.Note != "nothing came" {
				t.Errorf("got %v, %v", run, err)
			}
		}
		if names, err := failing(t.Context(), schedules); err != nil || !slices.Equal(names, []string{"report.nightly"}) {
			t.Errorf("failing: %q, %v", names, err)
		}
		if err := whyNot(t.Context(), schedules, "another"); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("a run that does not exist: %v", err)
		}
	})
}

func keepMore(scheduler *chime.Scheduler) error {
	return scheduler.Schedule("backup", recurrence.Recurrence{Cron: "@hourly"}, chime.KeepRuns(24*7))
}

func coming(ctx context.Context, schedules *chime.Schedules) error {
	times, err := schedules.Upcoming(ctx, "backup", 3) // of one schedule
	if err != nil {
		return err
	}
	first, err := schedules.Soonest(ctx, 10) // of all schedules
	if err != nil {
		return err
	}
	fmt.Println(times, first)
	return nil
}

func TestWhatComesNext(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		scheduler := chime.NewScheduler(c.Store(), chime.SchedulerOptions{})
		if err := keepMore(scheduler); err != nil {
			t.Fatal(err)
		}
		c.Start(scheduler)
		schedules := chime.NewSchedules(c.Store())
		if err := coming(t.Context(), schedules); err != nil {
			t.Fatal(err)
		}
		if s, err := schedules.Get(t.Context(), "backup"); err != nil || s.KeepRuns != 168 {
			t.Errorf("got %+v, %v", s, err)
		}
	})
}

func unsubscribe(ctx context.Context, schedules *chime.Schedules, customer string) error {
	err := schedules.Delete(ctx, "report/"+customer, chime.DeleteWaiting())
	if errors.Is(err, chime.ErrNotFound) {
		return nil // there was no subscription, or the call was repeated
	}
	return err
}

func TestUnsubscribing(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		schedules := chime.NewSchedules(c.Store())
		if err := subscribe(t.Context(), schedules, "anna", ""); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := unsubscribe(t.Context(), schedules, "anna"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := schedules.Get(t.Context(), "report/anna"); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("afterwards: %v", err)
		}
	})
}
