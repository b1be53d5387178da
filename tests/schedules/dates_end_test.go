package schedules_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// If a list of dates ends within a year, the program logs it at its start, and the list of schedules shows the last date.
func TestAListOfDatesThatEndsWithinAYearIsLogged(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		log := new(fixture.LogBuffer)
		s := chime.NewScheduler(f.Server.Store(), chime.SchedulerOptions{Logger: slog.New(slog.NewTextHandler(log, nil))})
		begin := time.Now().UTC().Truncate(24 * time.Hour)
		soon, later := begin.AddDate(0, 6, 0), begin.AddDate(3, 0, 0)
		for name, dates := range map[string][]string{"soon": {soon.Format(time.DateOnly)}, "later": {soon.Format(time.DateOnly), later.Format(time.DateOnly)}, "yearly": {"12-25"}, "none": nil} {
			r := recurrence.Recurrence{Cron: "0 9 * * *"}
			if dates != nil {
				r.Except = []recurrence.Filter{{Dates: dates}}
			}
			if err := s.Schedule(name, r, chime.JobName("j")); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		fixture.Pass(time.Minute)
		if log.Count("event=schedule.dates_end") != 1 || log.Count("schedule=soon last_date="+soon.Format(time.DateOnly)) != 1 {
			t.Errorf("the log has %d lines about dates that end, want one, about soon", log.Count("event=schedule.dates_end"))
		}
		for name, want := range map[string]time.Time{"soon": soon, "later": later, "yearly": {}, "none": {}} {
			if got, err := chime.NewSchedules(f.Server.Store()).Get(t.Context(), name); err != nil || !got.DatesUntil.Equal(want) {
				t.Errorf("%s: dates until %v, %v; want %v", name, got.DatesUntil, err, want)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
