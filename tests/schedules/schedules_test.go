package schedules_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// The server loses everything, including the deletion of one of two schedules, while the first scheduler still leads. An enqueuer writes to the
// server before the scheduler does.
func TestAnEmptiedStoreGetsLostSchedulesButNotDeletedOnes(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		stop := f.Schedule(recurrence.Recurrence{Frequency: recurrence.Minute}, "minutely", "deleted")
		fixture.Pass(time.Minute)
		if err := chime.NewSchedules(f.Server.Store()).Delete(t.Context(), "deleted"); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(10 * time.Minute)
		if err := f.Server.Client().FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		f.Add("other", 0, "job1")
		fixture.Pass(15 * time.Second)
		if found := f.Stored("minutely"); !found.Waiting && found.Cursor.At.IsZero() {
			t.Errorf("15 s after the store was lost the schedule is %+v, want it declared and placed", found)
		}
		fixture.Pass(time.Hour)
		if found := f.Stored("deleted"); found.Name != "" {
			t.Errorf("a deleted schedule came back: %s", found.Definition)
		}
		stop()
	})
}

// The store forgets a deletion after a week; a running program does not.
func TestADeletedScheduleRemainsDeletedWhenTheStoreForgetsTheDeletion(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		stop := f.Schedule(recurrence.Recurrence{Frequency: recurrence.Day}, "deleted")
		fixture.Pass(time.Minute)
		if err := chime.NewSchedules(f.Server.Store()).Delete(t.Context(), "deleted"); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(10 * time.Minute)
		if n, err := f.Server.Client().ZRem(t.Context(), "chime:deleted", "deleted").Result(); n != 1 || err != nil {
			t.Fatalf("%d deletions forgotten, %v; want 1", n, err)
		}
		fixture.Pass(30 * time.Minute)
		if found := f.Stored("deleted"); found.Name != "" {
			t.Errorf("a deleted schedule came back: %s", found.Definition)
		}
		stop()
	})
}

// A worker without the data of a time zone parks an occurrence in that zone for a worker that has the data.
func TestAnOccurrenceInAnUnknownTimeZoneIsParked(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Declare("minutely", `{"cron":"* * * * *"}`, "run_once", chime.OverlapSkip)
		found := f.Stored("minutely")
		strange := strings.Replace(string(found.Definition), `"cron":"* * * * *"`, `"cron":"* * * * *","timeZone":"Mars/Olympus"`, 1)
		if err := f.Server.Client().HSet(t.Context(), "chime:{default}:schedules", "minutely", strange).Err(); err != nil {
			t.Fatal(err)
		}
		w := f.Worker(chime.WorkerOptions{Concurrency: 1})
		w.Handle("tick", func(context.Context, *chime.Job) error { return nil })
		stop := f.Start(w)
		fixture.Pass(90 * time.Second)
		if s := f.Stats(); s.Parked != 1 || s.Died != 0 || s.Dead != 0 {
			t.Errorf("%d parked, %d dead; want the occurrence parked", s.Parked, s.Dead)
		}
		if err := f.Server.Client().HSet(t.Context(), "chime:{default}:schedules", "minutely", string(found.Definition)).Err(); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(3 * time.Minute)
		if s := f.Stored("minutely"); s.Started == 0 {
			t.Errorf("%+v; want it run after the zone is known", s)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// Put computes what it returns from the store's answers, without reading the schedule again.
func TestPutReturnsANewScheduleAsGetReadsIt(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		now := time.Now().UTC().Truncate(time.Second)
		for name, rule := range map[string]recurrence.Recurrence{
			"at once":     {Frequency: recurrence.Minute, Interval: 15, Count: 3},
			"once":        {Frequency: recurrence.Minute, Count: 1},
			"past start":  {Frequency: recurrence.Hour, StartTime: now.AddDate(-1, 0, 0)},
			"later start": {Frequency: recurrence.Day, StartTime: now.AddDate(0, 0, 3)},
			"cron":        {Cron: "30 3 * * *", TimeZone: "Europe/Berlin"},
		} {
			name = strings.ReplaceAll(name, " ", "-")
			for _, misfire := range []chime.MisfirePolicy{chime.MisfireRunOnce, chime.MisfireSkip, chime.MisfireCatchUp} {
				put, err := schedules.Put(t.Context(), name, rule, chime.Misfire(misfire), chime.Queue("low"))
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				got, err := schedules.Get(t.Context(), name)
				if err != nil || !reflect.DeepEqual(put, got) {
					t.Errorf("%s: Put returned\n%+v, Get\n%+v, %v", name, put, got, err)
				}
				if err := schedules.Delete(t.Context(), name); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
