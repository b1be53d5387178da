package chime_test

import (
	"context"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// schedule runs a scheduler that declares one schedule; stop ends it.
func (b *bench) schedule(name string, rec recurrence.Recurrence) (stop func()) {
	b.t.Helper()
	s := chime.NewScheduler(b.server.Store(), chime.SchedulerOptions{Logger: slog.New(slog.DiscardHandler)})
	if err := s.Schedule(name, rec); err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			b.t.Errorf("Run: %v", err)
		}
	}
}

// The server forgets everything while one scheduler leads, the first there ever was, and an enqueuer is back before it.
func TestAnEmptiedStoreGetsLostSchedulesButNotDeletedOnes(t *testing.T) {
	onStore(t, func(t *testing.T, b *bench) {
		minute := recurrence.Recurrence{Frequency: recurrence.Minute}
		stop := b.schedule("beat", minute)
		pass(time.Minute)
		if err := chime.NewSchedules(b.server.Store()).Delete(t.Context(), "beat"); err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Minute)
		if found := b.stored("beat"); found.Name != "" {
			t.Errorf("a deleted schedule came back: %s", found.Definition)
		}
		if err := b.server.Client().FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		b.add("other", 0, "job1")
		pass(15 * time.Second)
		if found := b.stored("beat"); !found.Waiting && found.Cursor.At.IsZero() {
			t.Errorf("15 s after the store was lost the schedule is %+v, want it declared and placed", found)
		}
		stop()
	})
}

// One machine has no data of a time zone: what it takes there waits for another that has.
func TestAnOccurrenceInAnUnknownTimeZoneIsParked(t *testing.T) {
	onStore(t, func(t *testing.T, b *bench) {
		b.declare("beat", `{"cron":"* * * * *"}`, "run_once", chime.OverlapSkip)
		found := b.stored("beat")
		strange := strings.Replace(string(found.Definition), `"cron":"* * * * *"`, `"cron":"* * * * *","timeZone":"Mars/Olympus"`, 1)
		if err := b.server.Client().HSet(t.Context(), "chime:{default}:schedules", "beat", strange).Err(); err != nil {
			t.Fatal(err)
		}
		w := b.worker(chime.WorkerOptions{Concurrency: 1})
		w.Handle("tick", func(context.Context, *chime.Job) error { return nil })
		stop := b.run(w)
		pass(90 * time.Second)
		if s := b.stats(); s.Parked != 1 || s.Died != 0 || s.Dead != 0 {
			t.Errorf("%d parked, %d dead; want the occurrence parked", s.Parked, s.Dead)
		}
		if err := b.server.Client().HSet(t.Context(), "chime:{default}:schedules", "beat", string(found.Definition)).Err(); err != nil {
			t.Fatal(err)
		}
		pass(3 * time.Minute)
		if s := b.stored("beat"); s.Started == 0 {
			t.Errorf("%+v: want it run once the zone is known", s)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// Put does not read what it knows from the store's answers.
func TestPutReturnsANewScheduleAsGetReadsIt(t *testing.T) {
	onStore(t, func(t *testing.T, b *bench) {
		schedules := chime.NewSchedules(b.server.Store())
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
					t.Errorf("%s: put returned\n%+v, but it is\n%+v, %v", name, put, got, err)
				}
				if err := schedules.Delete(t.Context(), name); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
