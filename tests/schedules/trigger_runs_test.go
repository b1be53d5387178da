package schedules_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// Runs lists each attempt of a manual run and of its OnDeath job. Both are unfinished until they end. A manual run sets the schedule's last result,
// an OnDeath job does not, and neither is in the schedule's counters.
func TestRunsListManualRunsAndDeaths(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		fixture.Pass(1500 * time.Millisecond)
		schedules, jobs := chime.NewSchedules(f.Server.Store()), chime.NewJobs(f.Server.Store())
		before, err := schedules.Put(t.Context(), "report", fixture.Minutely, chime.JobName("make"), chime.MaxAttempts(2), chime.Retry(chime.Fixed(time.Second)), chime.Paused(chime.Note{}),
			chime.OnDeath(chime.Item{Name: "alert"}))
		if err != nil {
			t.Fatal(err)
		}
		unfinished := func(want int) {
			t.Helper()
			if s, err := schedules.Get(t.Context(), "report"); err != nil || s.Last.Unfinished != want {
				t.Errorf("%d are unfinished (%v), want %d", s.Last.Unfinished, err, want)
			}
		}
		for _, id := range []string{"well", "dies"} {
			if _, err := schedules.Trigger(t.Context(), "report", chime.ID(id), chime.Args(id)); err != nil {
				t.Fatal(err)
			}
			if _, err := schedules.Trigger(t.Context(), "report", chime.ID(id), chime.Args(id)); err != nil { // it exists
				t.Fatal(err)
			}
		}
		if _, err := schedules.Trigger(t.Context(), "report", chime.ID("late"), chime.In(time.Hour)); err != nil {
			t.Fatal(err)
		}
		unfinished(3)
		w := f.Worker(chime.WorkerOptions{Concurrency: 1})
		w.Handle("make", func(_ context.Context, job *chime.Job) error {
			var id string
			if err := job.Decode(&id); err != nil {
				return err
			}
			job.Note("for " + id)
			if id == "dies" {
				return errors.New("no disk")
			}
			return nil
		})
		w.Handle("alert", func(_ context.Context, job *chime.Job) error {
			job.Note("alert for " + job.Death.ID)
			return nil
		})
		stop := f.Start(w)
		fixture.Pass(time.Minute)
		unfinished(1)
		if how, err := jobs.Cancel(t.Context(), "default", "report#late"); err != nil || how != chime.CancelDone {
			t.Errorf("cancelled: %v, %v", how, err)
		}
		unfinished(0)
		if _, err := schedules.Trigger(t.Context(), "report", chime.Args("again")); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		var got []string
		for run, err := range schedules.Runs(t.Context(), "report") {
			if err != nil {
				t.Fatal(err)
			}
			if run.Schedule != "report" || run.Queue != "default" || run.Planned.Before(before.Created.Truncate(time.Second)) || run.Ended.Before(run.Started) {
				t.Errorf("run %+v", run)
			}
			id, _, _ := strings.Cut(run.ID, "#dead-")
			if len(id) == len("report#")+14 {
				id = "report#…"
			}
			got = append(got, fmt.Sprint(id, " ", run.Name, " ", run.Outcome, " ", run.Attempt, " ", run.Manual, " ", run.Error, run.Note))
		}
		want := []string{
			"report#… make done 1 true for again", "report#late make cancelled 0 true ", "report#dies alert done 1 false alert for report#dies",
			"report#dies make dead 2 true no diskfor dies", "report#well make done 1 true for well", "report#dies make failed 1 true no diskfor dies",
		}
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("runs\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		after, err := schedules.Get(t.Context(), "report")
		if err != nil || after.Last.Outcome != chime.RunDone || after.Last.Failures != 0 || after.Last.Unfinished != 0 || after.Counters != before.Counters {
			t.Errorf("the schedule's last result is %+v, counters %+v (%v); want done, and counters as before", after.Last, after.Counters, err)
		}
	})
}

// The OnDeath job of an occurrence is unfinished until it ends, and does not set the schedule's last result. A dead manual run that is requeued is
// unfinished again.
func TestADeathIsUnfinishedAndNotHowItsScheduleWentLast(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		fixture.Pass(time.Second)
		schedules, jobs := chime.NewSchedules(f.Server.Store()), chime.NewJobs(f.Server.Store())
		if _, err := schedules.Put(t.Context(), "report", fixture.Minutely, chime.JobName("make"), chime.MaxAttempts(1), chime.OnDeath(chime.Item{Name: "alert"})); err != nil {
			t.Fatal(err)
		}
		w := f.Worker(chime.WorkerOptions{})
		w.Handle("make", func(_ context.Context, job *chime.Job) error { return errors.New("no") })
		w.Handle("alert", func(_ context.Context, job *chime.Job) error { return chime.Snooze(time.Hour) })
		stop := f.Start(w)
		fixture.Pass(90 * time.Second)
		if err := schedules.Pause(t.Context(), "report", chime.Note{}); err != nil {
			t.Fatal(err)
		}
		dead := 0
		for _, err := range jobs.List(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobDead}) {
			if err != nil {
				t.Fatal(err)
			}
			dead++
		}
		s, err := schedules.Get(t.Context(), "report")
		if err != nil || dead == 0 || s.Last.Unfinished != dead || s.Last.Outcome != chime.RunDead || s.Last.Failures != dead || s.Counters.Dead != int64(dead) || s.Counters.Failed != int64(dead) {
			t.Errorf("%d have died: the schedule's last result is %+v, counters %+v, %v; want as many unfinished", dead, s.Last, s.Counters, err)
		}
		if _, err := schedules.Trigger(t.Context(), "report", chime.ID("x")); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if n, err := jobs.Requeue(t.Context(), chime.JobFilter{Queue: "default", IDs: []string{"report#x"}}, nil); err != nil || n.Changed != 1 {
			t.Errorf("requeued %+v, %v", n, err)
		}
		if s, err = schedules.Get(t.Context(), "report"); err != nil || s.Last.Unfinished != dead+2 {
			t.Errorf("%d are unfinished (%v), want the OnDeath jobs of %d occurrences and of the manual run, and the manual run", s.Last.Unfinished, err, dead)
		}
	})
}

// A schedule that is deleted, put again and triggered within a second: it is created in the next second, and the manual run is in its history.
func TestAManualRunRightAfterARecreationIsInTheHistory(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		fixture.Pass(1200 * time.Millisecond)
		schedules := chime.NewSchedules(f.Server.Store())
		put := func() {
			t.Helper()
			if _, err := schedules.Put(t.Context(), "report", fixture.Minutely, chime.JobName("make"), chime.Paused(chime.Note{})); err != nil {
				t.Fatal(err)
			}
		}
		put()
		if err := schedules.Delete(t.Context(), "report"); err != nil {
			t.Fatal(err)
		}
		put()
		if _, err := schedules.Trigger(t.Context(), "report"); err != nil {
			t.Fatal(err)
		}
		w := f.Worker(chime.WorkerOptions{Concurrency: 1})
		w.Handle("make", func(context.Context, *chime.Job) error { return nil })
		stop := f.Start(w)
		fixture.Pass(10 * time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		var got []string
		for run, err := range schedules.Runs(t.Context(), "report") {
			got = append(got, fmt.Sprint(run.Outcome, run.Manual, err))
		}
		if want := []string{fmt.Sprint(chime.RunDone, true, nil)}; !slices.Equal(got, want) {
			t.Errorf("the history has %v, want %v", got, want)
		}
	})
}
