package jobs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// The line ends of an error and of a note are stored as such, wherever they are stored: in a dead job, its failures, a kept result and the history of a
// schedule.
func TestLineEndsAreLineEnds(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		const want = "exit status 1\nno bank:\n\tC:\\new"
		w := f.Worker(chime.WorkerOptions{})
		w.Handle("fail", func(_ context.Context, job *chime.Job) error {
			job.Note(want)
			return errors.New("exit status 1\r\nno bank:\n\tC:\\new")
		}, chime.MaxAttempts(1))
		w.Handle("done", func(_ context.Context, job *chime.Job) error { job.Note(want); return nil })
		defer f.Start(w)()
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
		kept, err := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{}).Enqueue(t.Context(), "done", nil, chime.Keep(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		fixture.Pass(time.Minute)
		jobs := chime.NewJobs(f.Server.Store())
		info, err := jobs.Get(t.Context(), "default", receipt.ID)
		if err != nil || info.LastError != want || len(info.Failures) != 1 || info.Failures[0].Error != want {
			t.Errorf("the dead job is %+v, %v; want the error %q", info, err, want)
		}
		if info, err := jobs.Get(t.Context(), "default", kept.ID); err != nil || info.Note != want {
			t.Errorf("the kept result has the note %q, %v; want %q", info.Note, err, want)
		}
		n := 0
		for run, err := range schedules.Runs(t.Context(), "yearly") {
			if n++; err != nil {
				t.Fatal(err)
			}
			if want := "exit status 1\nno bank:\n C:\\new"; run.Error != want || run.Note != "exit status 1\nno bank:\n\tC:\\new" {
				t.Errorf("the run has the error %q and the note %q, want %q", run.Error, run.Note, want)
			}
		}
		if n != 1 {
			t.Errorf("the history has %d runs, want 1", n)
		}
	})
}
