package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/chimejobs/chime/tests/internal/hookstore"
)

func TestDeclaringToARunningSchedulerPointsToSchedules(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		var s *chime.Scheduler
		stop := b.start(func(made *chime.Scheduler) { s = made })
		synctest.Wait()
		if err := s.Schedule("x", everyMinute); err == nil || !strings.Contains(err.Error(), "Schedules.Put") {
			t.Errorf("Schedule: got %v; want an error that points to Schedules.Put", err)
		}
		if err := s.Remove("x"); err == nil || !strings.Contains(err.Error(), "Schedules.Delete") {
			t.Errorf("Remove: got %v; want an error that points to Schedules.Delete", err)
		}
		if err := s.Run(t.Context()); err == nil {
			t.Error("a second Run was accepted")
		}
		stop()
	})
}

func TestFiftySchedulersWithTheSameDeclarationsWriteEachOnce(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		schedules, interval := long.Seeds(110, 250), long.Seeds(2, 4) // more than one call declares, and minutes
		rec := recurrence.Recurrence{Frequency: recurrence.Minute, Interval: interval}
		declare := func(s *chime.Scheduler) {
			for i := range schedules {
				b.declaring(fmt.Sprint("s", i), rec, chime.Args(map[string]int{"a": i, "b": 2}))(s)
			}
		}
		var stops []func()
		for range 50 {
			stops = append(stops, b.start(declare))
		}
		fixture.Pass(time.Minute)
		if n := len(b.written.all()); n != schedules {
			t.Errorf("%d schedules were written, want %d", n, schedules)
		}
		declared := b.store.Count("declare")
		fixture.Pass(4 * time.Duration(interval) * time.Minute)
		if n := b.store.Count("declare"); n != declared {
			t.Errorf("%d more declarations in four intervals, want none", n-declared)
		}
		for _, stop := range stops {
			stop()
		}
		b.start(declare)()
		for i := range schedules {
			if s := b.stored(fmt.Sprint("s", i)); !s.Waiting || s.Cursor.Used != 6 {
				t.Fatalf("%s is placed: %v, and has %d used, want one placed and six used", s.Name, s.Waiting, s.Cursor.Used)
			}
		}
	})
}

func TestAChangedDeclarationIsLoggedKeepsItsHistoryAndDoesNotRunAtOnce(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		var log fixture.LogBuffer
		created := time.Now().UTC()
		schedules := chime.NewSchedules(b.Server.Store())
		declare := func(rec recurrence.Recurrence, args string) func() {
			return b.startOn(b.store, chime.SchedulerOptions{Logger: log.Logger()}, b.declaring("report", rec, chime.Args([]byte(args))))
		}
		get := func() *chime.Schedule {
			s, err := schedules.Get(t.Context(), "report")
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		stop := declare(recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 6, Count: 10}, `{"secret":"hunter2"}`)
		fixture.Pass(15 * time.Minute)
		stop()
		stop = declare(recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 4, Count: 10}, `{"secret":"swordfish"}`)
		fixture.Pass(time.Second)
		s := get()
		if !s.Created.Equal(created) || len(b.written.all()) != 2 || s.Used != 4 || b.runs.total() != 3 {
			t.Errorf("created %v, written %v, %d used, ran %d; want %v, twice, 4, 3", s.Created, b.written.all(), s.Used, b.runs.total(), created)
		}
		if want := created.Add(16 * time.Minute); !s.Next.Equal(want) {
			t.Errorf("next %v, want %v: periods go on from the creation", s.Next, want)
		}
		if log.Count("schedule changed") != 1 || log.Count(`interval\\\":6`)+log.Count(`interval\":6`) == 0 || log.Count(`interval\\\":4`)+log.Count(`interval\":4`) == 0 {
			t.Errorf("want one message with old and new text: %s", log.String())
		}
		if log.Count("hunter2")+log.Count("swordfish") > 0 {
			t.Errorf("arguments were logged: %s", log.String())
		}
		fixture.Pass(30 * time.Minute)
		stop()
		if s := get(); b.runs.total() != 10 || s.State != chime.StateCompleted {
			t.Errorf("ran %d times and is %s, want ten times in all, completed", b.runs.total(), s.State)
		}
		declare(recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 4, Count: 10}, `{"secret":"swordfish"}`)()
		if again := get(); again.State != chime.StateCompleted || again.Revision != s.Revision {
			t.Errorf("declared again it is %s, revision %d; want it left completed", again.State, again.Revision)
		}
		stop = declare(recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 4, Count: 12}, `{"secret":"swordfish"}`)
		fixture.Pass(12 * time.Minute)
		stop()
		if s := get(); b.runs.total() != 12 || s.State != chime.StateCompleted {
			t.Errorf("with two more in the count it ran %d times and is %s, want 12, completed", b.runs.total(), s.State)
		}
	})
}

func TestAScheduleThatCannotBeComputedIsLoggedAndDelaysNoOther(t *testing.T) {
	onForgetfulBench(t, func(t *testing.T, b *bench) {
		var log fixture.LogBuffer
		created := time.Now()
		stop := b.startOn(b.store, chime.SchedulerOptions{Logger: log.Logger()}, func(s *chime.Scheduler) {
			b.declaring("minutely", everyMinute)(s)
			for i := range 150 {
				b.declaring(fmt.Sprint("strange", i), everyMinute)(s)
			}
		})
		fixture.Pass(time.Second)
		const known, unknown = `"frequency":"minute"`, `"frequency":"minute","timeZone":"Mars/Olympus"`
		for i := range 150 {
			name := fmt.Sprint("strange", i)
			if b.rewrite(name, known, unknown); b.stored(name).Since.IsZero() {
				t.Fatalf("%s is not owed, so this test shows nothing", name)
			}
		}
		began, minutes := b.store.Count("postpone"), long.Seeds(10, 30)
		fixture.Pass(time.Duration(minutes) * time.Minute)
		b.wantRuns("minutely", everyMinute, created)
		if n := b.store.Count("postpone") - began; n < 100*minutes || n > 150*(minutes+1) {
			t.Errorf("%d schedules were postponed in %d minutes, want each of 150 about every minute", n, minutes)
		}
		if n := log.Count("schedule=strange7 "); n < minutes*2/3 || n > minutes+1 || log.Count("Mars/Olympus") == 0 {
			t.Errorf("strange7 was logged %d times in %d minutes, want about once a minute, with the zone", n, minutes)
		}
		b.rewrite("strange7", `"Mars/Olympus"`, `"Europe/Berlin"`)
		fixture.Pass(2 * time.Minute)
		if s := b.stored("strange7"); !s.Cursor.Placed || s.Placed < 2 {
			t.Errorf("the schedule that can be computed again has cursor %+v, want it placed", s.Cursor)
		}
		stop()
	})
}

func TestRemoveDeletesBeforeAnythingIsDeclared(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.start(b.declaring("old", everyMinute))()
		stop := b.start(func(s *chime.Scheduler) {
			if err := errors.Join(s.Remove("old"), s.Remove("never.there")); err != nil {
				t.Error(err)
			}
			b.declaring("new", everyMinute)(s)
		})
		fixture.Pass(time.Second)
		if b.stored("old").Name != "" || b.stored("new").Name == "" {
			t.Errorf("%v are stored, want new only", b.names())
		}
		stop()
	})
}

// A removal that fails holds up no declaration, and is tried again.
func TestARemovalThatFailsHoldsUpNoDeclaration(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.start(b.declaring("old", everyMinute))()
		b.store.SetFault(failing("remove", hookstore.ErrReset))
		stop := b.start(func(s *chime.Scheduler) {
			if err := s.Remove("old"); err != nil {
				t.Error(err)
			}
			b.declaring("new", everyMinute)(s)
		})
		fixture.Pass(time.Second)
		if b.stored("new").Name == "" || b.stored("old").Name == "" {
			t.Errorf("%v are stored, want old and new", b.names())
		}
		b.store.SetFault(nil)
		fixture.Pass(time.Minute)
		if b.stored("old").Name != "" {
			t.Error("the removal was not tried again")
		}
		stop()
	})
}

func TestASchedulerThatCannotPruneLogsThatOnce(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		for version, want := range []int{1, 0} {
			var log fixture.LogBuffer
			options := chime.SchedulerOptions{Owner: "shop", Version: int64(version), Prune: true, Logger: log.Logger()}
			stop := b.startOn(b.store, options, b.declaring("minutely", everyMinute))
			fixture.Pass(time.Minute)
			stop()
			if n := log.Count("nothing is pruned"); n != want {
				t.Errorf("version %d: logged %d times, want %d: %s", version, n, want, log.String())
			}
		}
	})
}

// What a worker has announced counts for nine minutes.
func TestADeclaredJobThatNobodyHandlesIsLoggedOnce(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		var log fixture.LogBuffer
		stop := b.startOn(b.store, chime.SchedulerOptions{Logger: log.Logger()}, func(s *chime.Scheduler) {
			b.declaring("report.daily", everyMinute, chime.JobName("report"))(s)
			b.declaring("minutely", everyMinute)(s)
		})
		var end func() error
		for _, c := range []struct {
			handled bool
			wait    time.Duration
			want    int
		}{
			{false, 9 * time.Second, 0}, // workers may still come up
			{false, 10 * time.Minute, 1},
			{true, 10 * time.Minute, 1},
			{false, 12 * time.Minute, 2},
		} {
			switch {
			case c.handled:
				w := b.Worker(chime.WorkerOptions{})
				w.Handle("report", func(context.Context, *chime.Job) error { return nil })
				end = b.Start(w)
			case end != nil:
				if err := end(); err != nil {
					t.Error(err)
				}
			}
			fixture.Pass(c.wait)
			if n := log.Count("no live worker handles"); n != c.want {
				t.Errorf("handled: %v, for %v: logged %d times, want %d: %s", c.handled, c.wait, n, c.want, log.String())
			}
		}
		stop()
	})
}
