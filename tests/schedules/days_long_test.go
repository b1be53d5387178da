//go:build long

package schedules_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// Three days take about ten seconds of processor time.

// Each occurrence counts once, on its planned day, also while its schedule moves to another queue and back, until the schedule is deleted.
func TestDaysCountOccurrencesOnTheDayTheyWerePlannedFor(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		put := func(name, queue string, keep int) {
			t.Helper()
			if _, err := schedules.Put(t.Context(), name, recurrence.Recurrence{Cron: "0 */6 * * *"}, chime.JobName("j"), chime.MaxAttempts(2), chime.Retry(chime.Fixed(10*time.Minute)),
				chime.Misfire(chime.MisfireSkip), chime.NoImmediateRun(), chime.KeepRuns(keep), chime.Queue(queue)); err != nil {
				t.Fatal(err)
			}
		}
		put("s", "default", 2)
		put("none", "default", 0)
		begin := func() func() error {
			w := f.Worker(chime.WorkerOptions{Queues: map[string]int{"default": 1, "other": 1}, SessionTTL: 5 * time.Minute}) // heartbeats of many days are slow
			w.Handle("j", func(_ context.Context, job *chime.Job) error {
				if job.Planned.Hour() == 0 && job.Attempt == 1 {
					time.Sleep(25 * time.Hour) // fake time: until the next day; the other occurrences are skipped
					return errors.New("no")
				}
				return nil
			}, chime.Timeout(48*time.Hour))
			return f.Start(w)
		}
		stop := begin()
		fixture.Pass(48*time.Hour - time.Minute)
		if err := schedules.Pause(t.Context(), "s", chime.Note{}); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(26 * time.Hour)
		want := []string{"1 1 1 3 0", "2 3 0 1 0"}
		if got := daysOf(t, schedules, "s"); !slices.Equal(got, want) {
			t.Errorf("days %q, want %q", got, want)
		}
		if got := daysOf(t, schedules, "none"); len(got) > 0 {
			t.Errorf("none: days %q, want none", got)
		}
		for _, queue := range []string{"other", "default", "other"} {
			put("s", queue, 2)
			if got := daysOf(t, schedules, "s"); !slices.Equal(got, want) {
				t.Errorf("moved to %s: days %q, want %q", queue, got, want)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if err := schedules.Delete(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		if _, err := schedules.Days(t.Context(), "s"); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("a deleted one: %v, want ErrNotFound", err)
		}
		put("s", "default", 2)
		if got := daysOf(t, schedules, "s"); len(got) > 0 {
			t.Errorf("created again: days %q, want none", got)
		}
	})
}
