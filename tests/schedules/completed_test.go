package schedules_test

import (
	"context"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// Instants that a schedule missed until its end count once, however often it is changed, paused, resumed or moved afterwards.
func TestInstantsMissedUntilTheEndOfAScheduleCountOnce(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		rule := recurrence.Recurrence{Cron: "* * * * *", EndTime: time.Now().Truncate(time.Minute).Add(5 * time.Minute)}
		put := func(args int, queue string) {
			if _, err := schedules.Put(t.Context(), "s", rule, chime.JobName("j"), chime.Args(args), chime.Queue(queue), chime.Misfire(chime.MisfireSkip)); err != nil {
				t.Fatal(err)
			}
		}
		put(0, "default")
		fixture.Pass(time.Hour) // without a worker
		w := f.Worker(chime.WorkerOptions{Queues: map[string]int{"default": 1, "mail": 1}})
		w.Handle("j", func(context.Context, *chime.Job) error { return nil })
		stop := f.Start(w)
		for args, queue := range []string{"default", "default", "mail", "default"} {
			fixture.Pass(time.Minute)
			s, err := schedules.Get(t.Context(), "s")
			if err != nil || s.State != chime.StateCompleted || s.Counters.Missed != 6 {
				t.Errorf("before change %d: %s, %+v, %v; want it completed, and its six instants missed", args, s.State, s.Counters, err)
			}
			put(args+1, queue)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
