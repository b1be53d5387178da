package schedules_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// daysOf returns the days of a schedule as their dates and numbers.
func daysOf(t *testing.T, schedules *chime.Schedules, name string) (days []string) {
	t.Helper()
	all, err := schedules.Days(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		days = append(days, fmt.Sprint(d.Day.Format("2"), " ", d.Done, " ", d.Failed, " ", d.Skipped, " ", d.Missed))
	}
	return days
}

// An occurrence that ends in a queue that its schedule has left also counts on its day, once, even after the schedule is back.
func TestDaysCountAnOccurrenceThatEndsInAFormerQueue(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		put := func(queue string) {
			t.Helper()
			if _, err := schedules.Put(t.Context(), "s", fixture.Minutely, chime.JobName("j"), chime.Queue(queue), chime.Overlap(chime.OverlapAllow), chime.NoImmediateRun()); err != nil {
				t.Fatal(err)
			}
		}
		w := f.Worker(chime.WorkerOptions{Queues: map[string]int{"default": 1, "other": 1}})
		w.Handle("j", func(context.Context, *chime.Job) error {
			time.Sleep(10*time.Minute + 30*time.Second) // fake time
			return nil
		})
		put("default")
		stop := f.Start(w)
		for _, queue := range []string{"other", "default", "other"} {
			fixture.Pass(15 * time.Minute)
			put(queue)
			fixture.Pass(3 * time.Minute)
		}
		if err := schedules.Pause(t.Context(), "s", chime.Note{}); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(time.Hour)
		if err := stop(); err != nil {
			t.Error(err)
		}
		done := 0
		for _, err := range schedules.Runs(t.Context(), "s") {
			if err != nil {
				t.Fatal(err)
			}
			done++
		}
		s, err := schedules.Get(t.Context(), "s")
		if got, want := daysOf(t, schedules, "s"), fmt.Sprintf("1 %d 0 0 0", s.Counters.Done); err != nil || len(got) != 1 || got[0] != want || s.Counters.Done < 40 {
			t.Errorf("days %q, want %q (%v)", got, want, err)
		}
	})
}
