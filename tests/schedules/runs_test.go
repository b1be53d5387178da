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
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// runsOf returns the runs of a schedule, newest first, each as its outcome, attempt, error and note.
func runsOf(t *testing.T, schedules *chime.Schedules, name string) (runs []string) {
	t.Helper()
	for run, err := range schedules.Runs(t.Context(), name) {
		if err != nil {
			t.Fatal(err)
		}
		if run.Schedule != name || run.Name != "j" || !strings.HasPrefix(run.ID, name+"@") || run.Ended.Before(run.Started) {
			t.Fatalf("run %+v, want one of schedule %s", run, name)
		}
		runs = append(runs, strings.TrimSpace(fmt.Sprint(run.Outcome, " ", run.Attempt, " ", run.Error, run.Note)))
	}
	return runs
}

// A schedule's runs show how each occurrence ended, newest first, up to the kept number. They move with the schedule to another queue, and are
// deleted with it.
func TestRunsListTheEndOfEachOccurrence(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		hourly := recurrence.Recurrence{Cron: "30 * * * *"}
		for name, keep := range map[string]int{"all": 20, "three": 3, "none": 0} {
			if _, err := schedules.Put(t.Context(), name, hourly, chime.JobName("j"), chime.MaxAttempts(1), chime.Misfire(chime.MisfireSkip), chime.KeepRuns(keep)); err != nil {
				t.Fatal(err)
			}
		}
		begin := func() (stop func()) {
			worker := chime.NewWorker(f.Server.Store(), chime.WorkerOptions{Logger: fixture.Quiet()})
			n := map[string]int{}
			worker.Handle("j", func(_ context.Context, job *chime.Job) error {
				if n[job.Schedule]++; n[job.Schedule] == 2 {
					return errors.New("no disk")
				}
				job.Note("went well")
				return nil
			})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- worker.Run(ctx) }()
			return func() {
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
		}
		stop := begin()
		time.Sleep(3 * time.Hour) // fake time
		stop()
		time.Sleep(2 * time.Hour) // fake time
		stop = begin()
		time.Sleep(time.Minute) // fake time
		stop()

		want := []string{"missed 0", "done 1 went well", "dead 1 no disk", "done 1 went well"}
		if got := runsOf(t, schedules, "all"); !slices.Equal(got, want) {
			t.Errorf("all: runs %q, want %q", got, want)
		}
		if got := runsOf(t, schedules, "three"); !slices.Equal(got, want[:3]) {
			t.Errorf("three: runs %q, want %q", got, want[:3])
		}
		if got := runsOf(t, schedules, "none"); len(got) > 0 {
			t.Errorf("none: runs %q, want none", got)
		}
		s, err := schedules.Get(t.Context(), "none")
		if err != nil || s.Last.Outcome != chime.RunDone || s.Last.Failures != 0 || s.Last.Unfinished != 0 || s.Counters.Done != 2 || s.Counters.Dead != 1 || s.Counters.Failed != 1 {
			t.Errorf("none: %+v, %+v, %v; want the last one done, and 2 done, 1 dead, 1 failed", s.Last, s.Counters, err)
		}
		if _, err := schedules.Put(t.Context(), "all", hourly, chime.JobName("j"), chime.Queue("other")); err != nil {
			t.Fatal(err)
		}
		if got := runsOf(t, schedules, "all"); !slices.Equal(got, want) {
			t.Errorf("all, moved: runs %q, want %q", got, want)
		}
		if err := schedules.Delete(t.Context(), "all"); err != nil {
			t.Fatal(err)
		}
		for run, err := range schedules.Runs(t.Context(), "all") {
			if run != nil || !errors.Is(err, chime.ErrNotFound) {
				t.Errorf("a deleted one: %+v, %v; want ErrNotFound", run, err)
			}
		}
		if _, err := schedules.Put(t.Context(), "all", hourly, chime.JobName("j"), chime.NoImmediateRun()); err != nil {
			t.Fatal(err)
		}
		if got := runsOf(t, schedules, "all"); len(got) > 0 {
			t.Errorf("created again: runs %q, want none", got)
		}
	})
}
