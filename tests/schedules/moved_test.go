package schedules_test

import (
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A moved schedule counts in its new queue, and its upcoming runs are in its time zone, including a placed one.
func TestAScheduleThatHasMovedCountsWhereItLives(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules, queues := chime.NewSchedules(f.Server.Store()), chime.NewQueues(f.Server.Store())
		rule := recurrence.Recurrence{Cron: "0 9 * * *", TimeZone: "Europe/Berlin"}
		for _, queue := range []string{"old", "new"} {
			for _, name := range []string{"a", "b"} {
				if queue == "new" && name == "b" {
					continue
				}
				if _, err := schedules.Put(t.Context(), name, rule, chime.JobName("j"), chime.Queue(queue)); err != nil {
					t.Fatal(err)
				}
			}
		}
		fixture.Pass(time.Minute)
		for _, queue := range []string{"old", "new"} {
			if q, err := queues.Get(t.Context(), queue); err != nil || q.Schedules != 1 {
				t.Errorf("queue %s: %+v, %v; want one schedule", queue, q, err)
			}
		}
		times, err := schedules.Upcoming(t.Context(), "a", 3)
		if err != nil || len(times) != 3 {
			t.Fatal(times, err)
		}
		for _, at := range times {
			if at.Hour() != 9 || at.Location().String() != "Europe/Berlin" {
				t.Errorf("upcoming run %v, want it in Berlin's time, all of %v", at, times)
			}
		}
	})
}
