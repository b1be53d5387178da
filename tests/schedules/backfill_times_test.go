package schedules_test

import (
	"errors"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A dry run lists exactly the occurrences that a backfill places, even before the creation, in pages of any size.
func TestBackfillTimesListTheInstantsOfABackfill(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		for name, rule := range map[string]recurrence.Recurrence{
			"cron": everyHour, "ninety": {Frequency: recurrence.Minute, Interval: 90}, "day": {Frequency: recurrence.Day, TimeZone: "Europe/Berlin"},
			"begins": {Frequency: recurrence.Hour, StartTime: time.Now().Add(-10 * time.Hour)},
		} {
			put, err := schedules.Put(t.Context(), name, rule, chime.JobName("j"), chime.Queue(name))
			if err != nil {
				t.Fatal(err)
			}
			begin, to := put.Created.Add(-50*time.Hour), put.Created.Add(50*time.Hour)
			var listed []time.Time
			for from := begin; !from.IsZero(); {
				times, next, err := schedules.BackfillTimes(t.Context(), name, from, to, 7)
				if err != nil || len(times) > 7 {
					t.Fatal(times, err)
				}
				listed, from = append(listed, times...), next
			}
			before, err := schedules.Get(t.Context(), name)
			if err != nil || before.Revision != put.Revision || !before.Next.Equal(put.Next) {
				t.Errorf("%s: the dry run has changed it: %v, %v", name, before, err)
			}
			all, _ := fill(t, schedules, name, begin, to)
			if len(listed) == 0 || all.Placed+all.Existing != len(listed) {
				t.Errorf("%s: listed %d, then %+v", name, len(listed), all)
			}
			for _, at := range listed {
				id := name + "@" + at.UTC().Format(time.RFC3339)
				if _, err := chime.NewJobs(f.Server.Store()).Get(t.Context(), name, id); err != nil {
					t.Errorf("%s: %v was listed, but does not exist: %v", name, at, err)
				}
			}
		}
		now := time.Now()
		for field, call := range map[string]func() error{
			"n": func() error { _, _, err := schedules.BackfillTimes(t.Context(), "cron", now, now, 0); return err },
			"from": func() error {
				_, _, err := schedules.BackfillTimes(t.Context(), "cron", time.Time{}, now, 1)
				return err
			},
			"to": func() error {
				_, _, err := schedules.BackfillTimes(t.Context(), "cron", now, now.Add(-1), 1)
				return err
			},
		} {
			if err := call(); !errors.Is(err, &chime.InvalidError{Field: field}) {
				t.Errorf("%s: got %v", field, err)
			}
		}
		if _, _, err := schedules.BackfillTimes(t.Context(), "nobody", now, now, 1); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("unknown schedule: got %v", err)
		}
	})
}
