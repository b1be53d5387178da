package jobs_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A worker's entry in the store is gone minutes after the worker. The host and the process of an attempt remain known for as long as the attempt.
func TestARunNamesHostAndPIDOfItsWorker(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		w := f.Worker(chime.WorkerOptions{})
		var own string
		w.Handle("fail", func(_ context.Context, job *chime.Job) error { own = job.Worker; return errors.New("no bank") }, chime.MaxAttempts(1))
		stop := f.Start(w)
		rule, err := recurrence.Cron("0 0 1 7 *")
		if err != nil {
			t.Fatal(err)
		}
		rule.NoImmediateRun = true
		schedules := chime.NewSchedules(f.Server.Store())
		if _, err := schedules.Put(t.Context(), "yearly", rule, chime.JobName("fail")); err != nil {
			t.Fatal(err)
		}
		receipt, err := schedules.Trigger(t.Context(), "yearly")
		if err != nil {
			t.Fatal(err)
		}
		fixture.Pass(time.Minute)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(time.Hour)
		info, err := chime.NewJobs(f.Server.Store()).Get(t.Context(), "default", receipt.ID)
		if err != nil || len(info.Failures) != 1 {
			t.Fatalf("the job is %+v, %v, want one failure", info, err)
		}
		names := []string{own, info.Failures[0].Worker}
		for run, err := range schedules.Runs(t.Context(), "yearly") {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, run.Worker)
		}
		if len(names) != 3 {
			t.Errorf("the history has %q, want one run", names)
		}
		want, _ := os.Hostname()
		for _, name := range names {
			if host, pid, _, ok := chime.ParseWorker(name); !ok || host != want || pid != os.Getpid() || name != own {
				t.Errorf("worker %q is on host %q, process %d, %v; want %q, %d", name, host, pid, ok, want, os.Getpid())
			}
		}
	})
}
