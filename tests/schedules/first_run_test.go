package schedules_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// Two programs declare the same schedules, one of them with NoImmediateRuns. The one that creates a schedule decides about its first run, and neither
// changes what the other one has declared.
func TestProgramsDoNotFlipTheRunAtCreation(t *testing.T) {
	for _, without := range []bool{true, false} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			var log strings.Builder
			store := f.Server.Store()
			declare := func(without bool) {
				t.Helper()
				s := chime.NewScheduler(store, chime.SchedulerOptions{NoImmediateRuns: without, Logger: slog.New(slog.NewTextHandler(&log, nil))})
				if err := s.Schedule("report", recurrence.Recurrence{Frequency: recurrence.Hour}, chime.Header("grace", `","noImmediateRun":true`)); err != nil {
					t.Fatal(err)
				}
				stop := fixture.Start(s)
				fixture.Pass(time.Minute)
				if err := stop(); err != nil {
					t.Error(err)
				}
			}
			get := func() *chime.Schedule {
				t.Helper()
				s, err := chime.NewSchedules(store).Get(t.Context(), "report")
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			declare(without)
			first := get()
			if first.NoImmediateRun != without {
				t.Errorf("created %+v, want NoImmediateRun %v", first, without)
			}
			if says := strings.Contains(log.String(), "schedule created: it runs now"); says == without || strings.Count(log.String(), "event=schedule.created") != 1 {
				t.Errorf("without the run: %v; logged\n%s", without, log.String())
			}
			for range 2 {
				declare(!without)
				declare(without)
			}
			if now := get(); now.Revision != first.Revision || now.NoImmediateRun != without {
				t.Errorf("declared again it is at revision %d with NoImmediateRun %v, want %d and %v", now.Revision, now.NoImmediateRun, first.Revision, without)
			}
			if strings.Contains(log.String(), "schedule.changed") {
				t.Errorf("a change is logged:\n%s", log.String())
			}
			if _, err := chime.NewSchedules(store).Put(t.Context(), "report", first.Recurrence, append(first.Options(), chime.NoImmediateRun(), chime.Grace(2*time.Minute))...); err != nil {
				t.Fatal(err)
			}
			if now := get(); !now.NoImmediateRun {
				t.Error("Put does not store NoImmediateRun")
			}
		})
	}
}

// With NoImmediateRuns the first run is that of the rule.
func TestASchedulerWithoutImmediateRuns(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Server.Store()
		ran := 0
		worker := f.Worker(chime.WorkerOptions{})
		worker.Handle("report", func(context.Context, *chime.Job) error { ran++; return nil })
		s := chime.NewScheduler(store, chime.SchedulerOptions{NoImmediateRuns: true, Logger: fixture.Quiet()})
		if err := s.Schedule("report", recurrence.Recurrence{Frequency: recurrence.Hour}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- chime.Run(ctx, s, worker) }()
		for _, c := range []struct {
			pass time.Duration
			want int
		}{{30 * time.Minute, 0}, {31 * time.Minute, 1}} {
			if fixture.Pass(c.pass); ran != c.want {
				t.Errorf("after another %v it ran %d times, want %d", c.pass, ran, c.want)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// The rule and the option mean the same, and a schedule shows both.
func TestARuleWithoutItsImmediateRunIsTheSameAsTheOption(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		rule, err := recurrence.FromSpring("0 0 9 * * MON#1,MON#3")
		if err != nil {
			t.Fatal(err)
		}
		first, err := schedules.Put(t.Context(), "report", rule)
		if err != nil {
			t.Fatal(err)
		}
		rule.NoImmediateRun = false
		again, err := schedules.Put(t.Context(), "report", rule, chime.NoImmediateRun())
		if err != nil {
			t.Fatal(err)
		}
		if !first.NoImmediateRun || !first.Recurrence.NoImmediateRun || again.Revision != first.Revision {
			t.Errorf("created %+v, then revision %d; want no run at creation, and no change", first, again.Revision)
		}
		want := "Every month on the first and the third Monday at 09:00 UTC"
		if got := again.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
