package system_test

import (
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// The registry of schedules is deleted manually or lost with its cluster node, and its schedules continue to run. Within minutes every schedule is
// found by its name again, even if no program declares it. A changed schedule keeps its change. No instant is left out and none runs twice.
func TestSchedulesContinueAfterTheirRegistryIsLostAndAreFoundAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		ctx := w.Context()
		began := time.Now()
		yearly := recurrence.Recurrence{Frequency: recurrence.Year}
		p := w.start(func(p *process) []chime.Role {
			return []chime.Role{p.scheduler(func(s *chime.Scheduler) {
				declares("changed", yearly, chime.JobName("report"), chime.NoImmediateRun())(s)
				declares("report", quarterHour)(s)
			}), p.worker("report", nil)}
		})
		w.pass(time.Second)
		schedules := chime.NewSchedules(p.store)
		for _, name := range []string{"changed", "put"} {
			if _, err := schedules.Put(ctx, name, yearly, chime.Misfire(chime.MisfireSkip), chime.JobName("report"), chime.NoImmediateRun()); err != nil {
				w.Fatal(err)
			}
		}
		w.pass(time.Hour)
		before := map[string]*chime.Schedule{}
		for found, err := range schedules.List(ctx, chime.ScheduleFilter{}) {
			if err != nil {
				w.Fatal(err)
			}
			before[found.Name] = found
		}
		if n, err := w.server.Client().Del(ctx, "chime:schedules").Result(); n != 1 || err != nil {
			w.Fatalf("%d keys deleted, %v", n, err)
		}
		w.pass(time.Hour)
		found := 0
		for stored, err := range schedules.List(ctx, chime.ScheduleFilter{}) {
			if err != nil {
				w.Fatal(err)
			}
			if found++; stored.Revision != before[stored.Name].Revision {
				w.Errorf("%s has revision %d, want %d as before", stored.Name, stored.Revision, before[stored.Name].Revision)
			}
		}
		if found != 3 {
			w.Errorf("%d schedules are listed, want 3", found)
		}
		for _, name := range []string{"put", "changed", "report"} {
			if err := schedules.Delete(ctx, name); err != nil {
				w.Error(err)
			}
		}
		p.end()
		w.wantRuns("report", quarterHour, began, time.Now())
	})
}
