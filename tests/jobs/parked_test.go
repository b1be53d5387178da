package jobs_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// Jobs that no worker could run for a week die once, no matter which process sweeps. Their OnDeath job is added: for an ordinary job, an occurrence
// and a manual run. The history of a schedule contains both runs.
func TestAParkedJobThatDiesAddsItsOnDeathJob(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		fixture.Pass(time.Second)
		schedules, jobs, ctx := chime.NewSchedules(f.Server.Store()), chime.NewJobs(f.Server.Store()), t.Context()
		alert := chime.OnDeath(chime.Item{Name: "alert", Args: "#billing"})
		once := recurrence.Recurrence{StartTime: time.Now().Add(time.Minute)}
		if _, err := schedules.Put(ctx, "report", once, chime.JobName("make"), alert); err != nil {
			t.Fatal(err)
		}
		if _, err := schedules.Trigger(ctx, "report", chime.ID("manual")); err != nil {
			t.Fatal(err)
		}
		e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		for id, option := range map[string]chime.EnqueueOption{"with": alert, "without": chime.MaxAttempts(2)} {
			if _, err := e.Enqueue(ctx, "payout", "c1", chime.ID(id), option); err != nil {
				t.Fatal(err)
			}
		}
		w := f.Worker(chime.WorkerOptions{Concurrency: 1})
		deaths(w)
		run := func(d time.Duration, roles ...chime.Role) {
			ctx, stop := context.WithCancel(ctx)
			done := make(chan error, len(roles))
			for _, role := range roles {
				go func() { done <- chime.Run(ctx, role) }()
			}
			fixture.Pass(d)
			stop()
			for range roles {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
		}
		scheduler := func() chime.Role { return chime.NewScheduler(f.Server.Store(), chime.SchedulerOptions{}) }
		run(2*time.Minute, scheduler(), w)
		if parked := f.Stats().Parked; parked != 4 {
			t.Fatalf("%d jobs are parked, want 4", parked)
		}
		fixture.Pass(8 * 24 * time.Hour)
		run(time.Minute, scheduler(), scheduler())
		if s, err := schedules.Get(ctx, "report"); err != nil || s.Last.Unfinished != 2 || s.Last.Outcome != chime.RunDead {
			t.Errorf("the schedule's last result is %+v, %v; want two unfinished deaths", s.Last, err)
		}
		w = f.Worker(chime.WorkerOptions{Concurrency: 1})
		alerts := deaths(w)
		run(time.Minute, w)

		var got []string
		for _, d := range *alerts {
			info, err := jobs.Get(ctx, "default", d.of.ID)
			if err != nil || info.State != chime.JobDead || info.LastError != d.of.LastError || !strings.HasPrefix(d.id, d.of.ID+"#dead-") || d.args != "#billing" || d.of.Ended.Before(time.Now().Add(-time.Hour)) {
				t.Errorf("alert %q with arguments %q has the death %+v; the job is %+v, %v", d.id, d.args, d.of, info, err)
			}
			got = append(got, fmt.Sprint(d.of.ID, " ", d.of.Name, " ", d.schedule, ": ", d.of.LastError))
		}
		const why = ": no worker came that can run it"
		occurrence := "report@" + once.StartTime.UTC().Format(time.RFC3339)
		if slices.Sort(got); !slices.Equal(got, []string{"report#manual make report" + why, occurrence + " make report" + why, "with payout " + why}) {
			t.Errorf("alerts\n%s", strings.Join(got, "\n"))
		}
		got = nil
		for run, err := range schedules.Runs(ctx, "report") {
			if err != nil {
				t.Fatal(err)
			}
			id, _, _ := strings.Cut(run.ID, "#dead-")
			got = append(got, fmt.Sprint(id, " ", run.Name, " ", run.Outcome, " ", run.Attempt, " ", run.Manual, " ", run.Error))
		}
		want := []string{
			"report#manual alert done 1 false ", "report#manual make dead 0 true no worker came that can run it",
			occurrence + " alert done 1 false ", occurrence + " make dead 0 false no worker came that can run it",
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("runs\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if s, err := schedules.Get(ctx, "report"); err != nil || s.Last.Unfinished != 0 {
			t.Errorf("the schedule's last result is %+v, %v; want nothing unfinished", s.Last, err)
		}
		if report, err := chime.Verify(ctx, f.Server.Store(), chime.VerifyOptions{}); err != nil || len(report.Findings) > 0 || f.Stats().Dead != 4 {
			t.Errorf("%d dead, report %+v, %v; want 4 and an empty report", f.Stats().Dead, report, err)
		}
		if s, err := schedules.Get(ctx, "report"); err != nil || s.Counters.Dead != 1 || f.Stats().Died != 4 {
			t.Errorf("counted %+v, %v, %d deaths of the queue; want 1 and 4", s.Counters, err, f.Stats().Died)
		}
	})
}

// Parked jobs without an OnDeath are counted when they die, have a reason, end the calls that wait for them, and can be requeued. This includes an
// occurrence, for which only its schedule is stored.
func TestADeadParkedJobIsTreatedLikeOtherDeadJobs(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		fixture.Pass(time.Second)
		schedules, jobs, ctx := chime.NewSchedules(f.Server.Store()), chime.NewJobs(f.Server.Store()), t.Context()
		once := recurrence.Recurrence{StartTime: time.Now().Add(time.Minute)}
		if _, err := schedules.Put(ctx, "report", once, chime.JobName("make"), chime.Args("#7")); err != nil {
			t.Fatal(err)
		}
		e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		for id, options := range map[string][]chime.EnqueueOption{"plain": nil, "kept": {chime.Keep(time.Hour), chime.MaxAttempts(3)}} {
			if _, err := e.Enqueue(ctx, "payout", "c1", append(options, chime.ID(id))...); err != nil {
				t.Fatal(err)
			}
		}
		waited := make(chan time.Time, 1)
		run := func(d time.Duration, roles ...chime.Role) {
			ctx, stop := context.WithCancel(ctx)
			done := make(chan error)
			roles = append(roles, chime.NewScheduler(f.Server.Store(), chime.SchedulerOptions{}))
			go func() { done <- chime.Run(ctx, roles...) }()
			fixture.Pass(d)
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		run(2*time.Minute, f.Worker(chime.WorkerOptions{}))
		fixture.Pass(8 * 24 * time.Hour)
		go func() {
			if err := jobs.Wait(ctx, "default", "kept", nil); err == nil || !strings.Contains(err.Error(), "is dead: no worker came") {
				t.Errorf("waiting ends with %v", err)
			}
			waited <- time.Now()
		}()
		fixture.Pass(3 * time.Second)
		run(30 * time.Second)
		occurrence := "report@" + once.StartTime.UTC().Format(time.RFC3339)
		for _, id := range []string{occurrence, "plain", "kept"} {
			info, err := jobs.Get(ctx, "default", id)
			if err != nil || info.State != chime.JobDead || info.LastError != "no worker came that can run it" {
				t.Errorf("%s is %+v, %v", id, info, err)
			}
			if at := info.Ended; id == "kept" {
				if returned := <-waited; returned.Sub(at) > time.Second {
					t.Errorf("Wait returned the death at %v, %v late", at, returned.Sub(at))
				}
			}
		}
		s, err := schedules.Get(ctx, "report")
		if q := f.Stats(); err != nil || s.Counters.Dead != 1 || q.Died != 3 || q.Failed+s.Counters.Failed != 0 {
			t.Errorf("schedule %+v, %v, queue %+v; want the deaths counted", s.Counters, err, q)
		}
		if result, err := jobs.Requeue(ctx, chime.JobFilter{Queue: "default", State: chime.JobDead, Error: "no worker"}, nil); err != nil || result.Changed != 3 {
			t.Errorf("requeued %+v, %v; want all three", result, err)
		}
		var ran []string
		w := f.Worker(chime.WorkerOptions{Concurrency: 1})
		for _, name := range []string{"make", "payout"} {
			w.Handle(name, func(_ context.Context, job *chime.Job) error {
				var args string
				err := job.Decode(&args)
				ran = append(ran, fmt.Sprint(job.ID, " ", job.Attempt, " ", args))
				return err
			})
		}
		end := f.Start(w)
		fixture.Pass(time.Second)
		if err := end(); err != nil {
			t.Error(err)
		}
		if slices.Sort(ran); !slices.Equal(ran, []string{"kept 1 c1", "plain 1 c1", occurrence + " 1 #7"}) {
			t.Errorf("ran %q", ran)
		}
		if s, err := schedules.Get(ctx, "report"); err != nil || s.Counters.Done != 1 || s.Last.Outcome != chime.RunDone || s.Last.Unfinished != 0 {
			t.Errorf("the schedule has %+v, %+v, %v", s.Counters, s.Last, err)
		}
		if report, err := chime.Verify(ctx, f.Server.Store(), chime.VerifyOptions{}); err != nil || len(report.Findings) > 0 {
			t.Errorf("%+v, %v", report, err)
		}
	})
}
