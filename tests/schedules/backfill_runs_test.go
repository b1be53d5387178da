package schedules_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// Each attempt of a backfilled occurrence is marked as such. The schedule's own occurrences and manual runs are not.
func TestTheRunOfABackfilledOccurrenceIsMarked(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		if _, err := schedules.Put(t.Context(), "report", everyHour, chime.Overlap(chime.OverlapAllow), chime.MaxAttempts(2), chime.Retry(chime.Fixed(time.Minute))); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		w := f.Worker(chime.WorkerOptions{})
		w.Handle("report", func(_ context.Context, job *chime.Job) error {
			if job.Attempt == 1 {
				return errors.New("again")
			}
			return nil
		})
		ctx, stop := context.WithCancel(t.Context())
		stopped := make(chan error)
		go func() { stopped <- chime.Run(ctx, w, chime.NewScheduler(f.Server.Store(), chime.SchedulerOptions{})) }()
		to := begin.Truncate(time.Hour)
		if all, _ := fill(t, schedules, "report", to.Add(-2*time.Hour), to); all.Placed != 2 {
			t.Fatalf("placed %d occurrences, want 2", all.Placed)
		}
		if _, err := schedules.Trigger(t.Context(), "report"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour + 10*time.Minute) // fake time: an own occurrence of the schedule runs
		stop()
		if err := <-stopped; err != nil {
			t.Fatal(err)
		}

		got := map[string]int{}
		for run, err := range schedules.Runs(t.Context(), "report") {
			if err != nil {
				t.Fatal(err)
			}
			kind := "own"
			switch {
			case run.Manual:
				kind = "manual"
			case run.Planned.Before(to):
				kind = "past"
			}
			got[fmt.Sprintf("%s, attempt %d, backfilled: %t", kind, run.Attempt, run.Backfilled)]++
		}
		own := got["own, attempt 1, backfilled: false"]
		want := map[string]int{
			"past, attempt 1, backfilled: true": 2, "past, attempt 2, backfilled: true": 2, "manual, attempt 1, backfilled: false": 1, "manual, attempt 2, backfilled: false": 1,
			"own, attempt 1, backfilled: false": own, "own, attempt 2, backfilled: false": own,
		}
		if own == 0 || !maps.Equal(got, want) {
			t.Errorf("runs %v, want %v", got, want)
		}
	})
}
