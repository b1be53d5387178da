package schedules_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

func TestAListEndsAtItsLimit(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		var all, paused []string
		for i := range 230 {
			name := fmt.Sprintf("acme/%03d", i)
			all = append(all, name)
			options := []chime.PutOption{chime.JobName("report")}
			if i%50 == 7 {
				paused = append(paused, name)
				options = append(options, chime.Paused(chime.Note{}))
			}
			if _, err := schedules.Put(t.Context(), name, recurrence.Recurrence{Cron: "0 9 * * *"}, options...); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []struct {
			filter chime.ScheduleFilter
			want   []string
		}{
			{chime.ScheduleFilter{Limit: 1}, all[:1]},
			{chime.ScheduleFilter{Limit: 101}, all[:101]},
			{chime.ScheduleFilter{Limit: 230}, all},
			{chime.ScheduleFilter{Limit: 500}, all},
			{chime.ScheduleFilter{}, all},
			{chime.ScheduleFilter{Limit: 10, After: "acme/224"}, all[225:]},
			{chime.ScheduleFilter{Limit: 3, State: chime.StatePaused}, paused[:3]},
			{chime.ScheduleFilter{Limit: 20, State: chime.StatePaused}, paused},
			{chime.ScheduleFilter{Limit: 4, State: chime.StatePaused, After: paused[1]}, paused[2:]},
		} {
			c.filter.Prefix = "acme/"
			var got []string
			for s, err := range schedules.List(t.Context(), c.filter) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, s.Name)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%+v: got %d, %q; want %d, %q", c.filter, len(got), got, len(c.want), c.want)
			}
		}
	})
}
