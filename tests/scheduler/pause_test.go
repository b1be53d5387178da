package scheduler_test

import (
	"errors"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

func TestPauseWithdrawsTheNextRunAndResumeAppliesTheMisfirePolicy(t *testing.T) {
	hours := long.Seeds(3, 24)
	minutes := hours * 60
	for policy, want := range map[chime.MisfirePolicy]struct{ ran, missed int }{
		chime.MisfireRunOnce: {1, minutes - 1}, chime.MisfireSkip: {0, minutes}, chime.MisfireCatchUp: {100, minutes - 100},
	} {
		t.Run(string(policy), func(t *testing.T) {
			onBench(t, func(t *testing.T, b *bench) {
				schedules := chime.NewSchedules(b.store)
				if _, err := schedules.Put(t.Context(), "minutely", everyMinute, chime.JobName("work"), chime.Misfire(policy)); err != nil {
					t.Fatal(err)
				}
				fixture.Pass(10*time.Minute + 30*time.Second)
				if err := errors.Join(schedules.Pause(t.Context(), "minutely"), schedules.Pause(t.Context(), "minutely")); err != nil {
					t.Fatal(err)
				}
				got, err := schedules.Get(t.Context(), "minutely")
				if err != nil || got.State != chime.StatePaused || !got.Next.IsZero() || got.Used != 11 {
					t.Errorf("paused: %v, next %v, used %d, %v; want no next run, 11 used", got.State, got.Next, got.Used, err)
				}
				fixture.Pass(time.Duration(hours) * time.Hour)
				if b.runs.total() != 11 {
					t.Errorf("%d ran, want 11 as before the pause", b.runs.total())
				}
				if err := errors.Join(schedules.Resume(t.Context(), "minutely"), schedules.Resume(t.Context(), "minutely")); err != nil {
					t.Fatal(err)
				}
				fixture.Pass(2 * time.Second) // caught-up occurrences run one after the other
				missed := int(b.stored("minutely").Missed)
				if got := b.runs.total() - 11; got != want.ran || missed != want.missed {
					t.Errorf("resumed after %d hours: %d ran, %d missed; want %+v", hours, got, missed, want)
				}
				fixture.Pass(10 * time.Minute)
				if got := b.runs.total() - 11; got != want.ran+10 {
					t.Errorf("%d ran in the following ten minutes, want 10", got-want.ran)
				}
			})
		})
	}
}
