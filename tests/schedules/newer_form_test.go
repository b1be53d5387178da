package schedules_test

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A definition in a newer form can be paused and deleted. This program makes no other change to it, and does not prune the schedule.
func TestADefinitionOfANewerFormIsLeftAlone(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules, log := chime.NewSchedules(f.Server.Store()), new(fixture.LogBuffer)
		start := func(owner string, version int64, options ...chime.ScheduleOption) (stop func()) {
			s := chime.NewScheduler(f.Server.Store(), chime.SchedulerOptions{Owner: owner, Version: version, Prune: version > 0, Logger: slog.New(slog.NewTextHandler(log, nil))})
			for _, name := range []string{"s", "other"} {
				if err := s.Schedule(name, recurrence.Recurrence{Cron: "0 9 * * *"}, append(options, chime.JobName("j"))...); err != nil {
					t.Fatal(err)
				}
			}
			stop = f.RunScheduler(s)
			fixture.Pass(30 * time.Second)
			return stop
		}
		start("billing", 1)()
		before := f.Stored("s")
		newer := strings.Replace(string(before.Definition), `"version":1`, `"version":99,"unknown":"kept"`, 1)
		if err := f.Server.Client().HSet(t.Context(), "chime:{default}:schedules", "s", newer).Err(); err != nil {
			t.Error(err)
		}
		remains := func(when string) {
			t.Helper()
			if got := f.Stored("s"); string(got.Definition) != newer || got.Partition.Queue != "default" {
				t.Errorf("%s: it is %s on %s, want it unchanged", when, got.Definition, got.Partition.Queue)
			}
		}
		runs := map[string]func() func(){
			"no owner":         func() func() { return start("", 0, chime.Grace(time.Hour)) },
			"another owner":    func() func() { return start("sales", 1, chime.Grace(2*time.Hour)) },
			"another queue":    func() func() { return start("billing", 1, chime.Queue("mail")) },
			"a higher version": func() func() { return start("billing", 2, chime.Grace(3*time.Hour)) },
			"one, on a queue":  func() func() { return start("billing", 3, chime.Queue("late")) },
		}
		for _, when := range []string{"no owner", "another owner", "another queue", "a higher version", "one, on a queue"} {
			lines := log.Count("event=schedule.newer")
			stop := runs[when]()
			fixture.Pass(time.Hour)
			remains(when)
			if n := log.Count("event=schedule.newer") - lines; n != 1 {
				t.Errorf("%s: %d log lines that it is left alone, want one", when, n)
			}
			stop()
		}
		if found, err := schedules.Get(t.Context(), "other"); err != nil || found.Queue != "late" {
			t.Errorf("the other schedule is %+v, %v; want it as declared last", found, err)
		}
		for _, options := range [][]chime.PutOption{nil, {chime.Queue("mail")}, {chime.IfAbsent()}, {chime.IfRevision(before.Cursor.At.Unix() + 1)}} {
			_, err := schedules.Put(t.Context(), "s", recurrence.Recurrence{Cron: "0 10 * * *"}, append(options, chime.JobName("j"))...)
			if err == nil || !strings.Contains(err.Error(), `chime: put schedule "s": `) || !strings.Contains(err.Error(), "a newer version of chime wrote it (format 99") {
				t.Errorf("Put with %d options: %v, want an error that a newer version wrote it", len(options), err)
			}
			remains("put")
		}
		var conflict *chime.ConflictError
		if err := schedules.Pause(t.Context(), "s", chime.IfRevision(1)); !errors.As(err, &conflict) || conflict.Schedule.Revision < 2 {
			t.Errorf("Pause of another revision: %v, want a conflict with the stored revision", err)
		}
		var seen []string
		for s, err := range schedules.List(t.Context(), chime.ScheduleFilter{}) {
			if err != nil && s.Revision == conflict.Schedule.Revision {
				seen = append(seen, s.Name)
			}
		}
		if !slices.Equal(seen, []string{"s"}) {
			t.Errorf("listed %v with an error, want s, with its revision", seen)
		}
		if err := schedules.Pause(t.Context(), "s", chime.IfRevision(conflict.Schedule.Revision)); err != nil {
			t.Error(err)
		}
		if err := schedules.Delete(t.Context(), "s"); err != nil {
			t.Error(err)
		}
	})
}
