package schedules_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// The acknowledgement of a schedule holds while it fails as it did: not after its end, not after a run that is done, and not after a change of the schedule.
func TestAnAcknowledgementHoldsUntilTheScheduleChanges(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Server.Store()
		schedules, known := chime.NewSchedules(store), chime.NewAcknowledgements(store)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		fails := true
		worker := f.Worker(chime.WorkerOptions{})
		worker.Handle("report", func(context.Context, *chime.Job) error {
			if fails {
				return chime.Discard(errors.New("the disk is full"))
			}
			return nil
		})
		defer f.Start(worker)()
		defer f.RunScheduler(chime.NewScheduler(store, chime.SchedulerOptions{Logger: fixture.Quiet()}))()
		_, err := schedules.Put(t.Context(), "report", recurrence.Recurrence{Cron: "* * * * *"})
		must(err)
		covered := func() bool {
			t.Helper()
			s, err := schedules.Get(t.Context(), "report")
			must(err)
			all, err := known.List(t.Context())
			must(err)
			return len(all) == 1 && all[0].Covers(s, time.Now())
		}
		if err := known.AcknowledgeSchedule(t.Context(), "report", chime.Note{}); !errors.Is(err, chime.ErrConflict) {
			t.Errorf("a schedule that is not failing: %v, want %v", err, chime.ErrConflict)
		}
		if err := known.AcknowledgeSchedule(t.Context(), "none", chime.Note{}); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("a schedule that does not exist: %v, want %v", err, chime.ErrNotFound)
		}
		fixture.Pass(3 * time.Minute)
		acknowledge := func(until time.Time) {
			t.Helper()
			must(known.AcknowledgeSchedule(t.Context(), "report", chime.Note{Text: "a new disk is ordered", By: "anna", Until: until}))
			if !covered() {
				t.Error("an acknowledgement does not hold")
			}
		}
		acknowledge(time.Now().Add(time.Hour))
		fixture.Pass(59 * time.Minute)
		if !covered() {
			t.Error("it does not hold a minute before its end")
		}
		fixture.Pass(2 * time.Minute)
		if covered() {
			t.Error("it holds after its end")
		}

		acknowledge(time.Time{})
		fixture.Pass(2 * time.Hour)
		if !covered() {
			t.Error("without an end it does not hold while the schedule fails")
		}
		fails = false
		fixture.Pass(2 * time.Minute)
		fails = true
		fixture.Pass(2 * time.Minute)
		if covered() {
			t.Error("it holds although a run was done since")
		}

		acknowledge(time.Time{})
		_, err = schedules.Put(t.Context(), "report", recurrence.Recurrence{Cron: "*/2 * * * *"})
		must(err)
		fixture.Pass(5 * time.Minute)
		if covered() {
			t.Error("it holds although the schedule was changed")
		}

		acknowledge(time.Time{})
		must(known.End(t.Context(), chime.Acknowledgement{Schedule: "report"}))
		if covered() {
			t.Error("it holds after it was ended")
		}
		if err := known.End(t.Context(), chime.Acknowledgement{Schedule: "report"}); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("ended again: %v, want %v", err, chime.ErrNotFound)
		}
	})
}

// Failures are acknowledged by the shape of their error, on some queues or on all.
func TestAcknowledgedFailuresAreThoseWithASimilarError(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		known := chime.NewAcknowledgements(f.Server.Store())
		if err := errors.Join(
			known.AcknowledgeFailures(t.Context(), "resize", "no file 17", []string{"media"}, chime.Note{}),
			known.AcknowledgeFailures(t.Context(), "mail", "refused", nil, chime.Note{Until: time.Now().Add(time.Hour)}),
		); err != nil {
			t.Fatal(err)
		}
		all, err := known.List(t.Context())
		if err != nil || len(all) != 2 {
			t.Fatalf("%v, %v; want two", all, err)
		}
		for _, test := range []struct {
			job, err string
			queues   []string
			in       time.Duration
			want     bool
		}{
			{"resize", "no file 18", []string{"media"}, 0, true},
			{"resize", "no file 18", []string{"media"}, 300 * 24 * time.Hour, true},
			{"resize", "no file 18", []string{"media"}, 400 * 24 * time.Hour, false},
			{"resize", "no file 18", []string{"mail", "media"}, 0, false},
			{"resize", "no disk", []string{"media"}, 0, false},
			{"resizes", "no file 17", []string{"media"}, 0, false},
			{"mail", "refused", []string{"a", "b"}, 0, true},
			{"mail", "refused", []string{"a", "b"}, time.Hour, false},
		} {
			got := false
			for _, a := range all {
				got = got || a.CoversFailures(test.job, test.err, test.queues, time.Now().Add(test.in))
			}
			if got != test.want {
				t.Errorf("%s %q on %q in %v: covered %v, want %v", test.job, test.err, test.queues, test.in, got, test.want)
			}
		}
	})
}
