package chime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
)

// withScheduleStore runs a test in a bubble of fake time on a store with a worker that takes what is due.
func withScheduleStore(t *testing.T, test func(t *testing.T, s *fakeScheduleStore)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeScheduleStore(t)
		ctx, stop := context.WithCancel(t.Context())
		var working sync.WaitGroup
		working.Go(func() { s.work(ctx) })
		test(t, s)
		stop()
		working.Wait()
	})
}

// startScheduler runs a scheduler with these declarations; stop ends it and waits.
func startScheduler(t *testing.T, store protocol.Store, declare func(s *Scheduler)) (stop func()) {
	t.Helper()
	return startSchedulerWith(t, store, SchedulerOptions{Logger: quiet()}, declare)
}

func startSchedulerWith(t *testing.T, store protocol.Store, options SchedulerOptions, declare func(s *Scheduler)) (stop func()) {
	t.Helper()
	s := NewScheduler(asStore(store), options)
	if declare != nil {
		declare(s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

// declaring returns a function that declares one schedule, and fails the test if it is refused.
func declaring(t *testing.T, name string, rec recurrence.Recurrence, options ...ScheduleOption) func(*Scheduler) {
	return func(s *Scheduler) {
		if err := s.Schedule(name, rec, options...); err != nil {
			t.Error(err)
		}
	}
}

// A logBuffer keeps log lines for a test.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) count(text string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.text.String(), text)
}

func (b *logBuffer) logger() *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

// wantRuns checks that every instant of a rule from its creation until now ran once, and nothing else.
func (s *fakeScheduleStore) wantRuns(name string, rec recurrence.Recurrence, created time.Time) {
	s.t.Helper()
	series, err := rec.Series(created)
	if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	want := 0
	for at := range series.All() {
		if !at.Before(time.Now()) {
			break
		}
		want++
		if id := name + "@" + at.UTC().Format(time.RFC3339); s.ran[id] != 1 {
			s.t.Errorf("%s ran %d times, want once", id, s.ran[id])
		}
	}
	got := 0
	for id := range s.ran {
		if strings.HasPrefix(id, name+"@") {
			got++
		}
	}
	if got != want || want == 0 {
		s.t.Errorf("%s: %d occurrences ran, want %d", name, got, want)
	}
}

var (
	everyMinute  = recurrence.Recurrence{Frequency: recurrence.Minute}
	quarterHours = recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 15}
)

func TestRunReturnsRefusedDeclarationsBeforeItDoesAnything(t *testing.T) {
	store := newFakeScheduleStore(t)
	s := NewScheduler(asStore(store), SchedulerOptions{LeaderTTL: time.Millisecond})
	for _, err := range []error{
		s.Schedule("good", everyMinute),
		s.Remove("old"),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	refused := []error{
		s.Schedule("bad name", everyMinute),
		s.Schedule("good", everyMinute),
		s.Schedule("minutes", recurrence.Recurrence{Frequency: recurrence.Hour, Minutes: []int{60}}),
		s.Schedule("grace", everyMinute, Grace(-1)),
		s.Schedule("old", everyMinute),
		s.Remove("good"),
		s.Remove("old"),
		s.Remove(""),
	}
	err := s.Run(t.Context())
	for i, want := range refused {
		if want == nil || !errors.Is(err, want) {
			t.Errorf("refusal %d: %v is not in what Run returned: %v", i, want, err)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "LeaderTTL 1ms: want 1s to 10m") {
		t.Errorf("got %v; want the bad option too", err)
	}
	if len(store.calls) > 0 {
		t.Errorf("Run called the store: %v", store.calls)
	}
}

func TestDeclaringToARunningSchedulerPointsToSchedules(t *testing.T) {
	withScheduleStore(t, func(t *testing.T, store *fakeScheduleStore) {
		var s *Scheduler
		stop := startScheduler(t, store, func(made *Scheduler) { s = made })
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

func TestEveryOccurrenceRunsOnceForDays(t *testing.T) {
	rules := map[string]recurrence.Recurrence{
		"minutes": everyMinute,
		"quarter": quarterHours,
		"office":  {Cron: "*/20 9-17 * * 1-5", TimeZone: "America/New_York"},
		"twice":   {Frequency: recurrence.Day, Hours: []int{1, 2}, Minutes: []int{30}, TimeZone: "Europe/Berlin"},
		"trial":   {Frequency: recurrence.Hour, Count: 7},
		"once":    {StartTime: time.Date(1999, 12, 31, 8, 0, 0, 0, time.UTC)}, // before it is created: at once
		"launch":  {StartTime: time.Date(2000, 1, 2, 8, 0, 0, 0, time.UTC)},
		"ends":    {Frequency: recurrence.Hour, Interval: 5, EndTime: time.Date(2000, 1, 2, 12, 0, 0, 0, time.UTC)},
	}
	for _, c := range []struct {
		name       string
		schedulers int
		noPlace    bool // workers vanish before they place
		noLeader   bool
	}{
		{"a worker places", 1, false, false},
		{"two schedulers, workers that vanish", 2, true, false},
		{"no leader, workers that vanish", 1, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			withScheduleStore(t, func(t *testing.T, store *fakeScheduleStore) {
				store.noPlace = c.noPlace
				if c.noLeader {
					store.fault = func(act string) (before, after error) {
						if act == "lead" {
							return errFake, nil
						}
						return nil, nil
					}
				}
				created := time.Now()
				var stops []func()
				for range c.schedulers {
					stops = append(stops, startScheduler(t, store, func(s *Scheduler) {
						for name, rec := range rules {
							declaring(t, name, rec)(s)
						}
					}))
				}
				pass(3*24*time.Hour + time.Second)
				for name, rec := range rules {
					store.wantRuns(name, rec, created)
				}
				for _, stop := range stops {
					stop()
				}
				for _, name := range []string{"trial", "once", "launch", "ends"} {
					if state := store.schedules[name].state; state != "completed" {
						t.Errorf("%s is %s, want completed", name, state)
					}
				}
				if len(store.written) != len(rules) {
					t.Errorf("%v were written, want each once", store.written)
				}
			})
		})
	}
}

func TestFiftySchedulersWithTheSameDeclarationsWriteEachOnce(t *testing.T) {
	withScheduleStore(t, func(t *testing.T, store *fakeScheduleStore) {
		declare := func(s *Scheduler) {
			for i := range 250 {
				declaring(t, fmt.Sprint("s", i), quarterHours, Args(map[string]int{"a": i, "b": 2}))(s)
			}
		}
		var stops []func()
		for range 50 {
			stops = append(stops, startScheduler(t, store, declare))
		}
		pass(time.Minute)
		if len(store.written) != 250 {
			t.Errorf("%d schedules were written, want 250", len(store.written))
		}
		declared := store.count("declare")
		pass(time.Hour)
		if n := store.count("declare"); n != declared {
			t.Errorf("%d more declarations in an hour, want none", n-declared)
		}
		for _, stop := range stops {
			stop()
		}
		startScheduler(t, store, declare)()
		for name, f := range store.schedules {
			if len(f.due) != 1 || f.cursor.Used != 6 {
				t.Fatalf("%s has %v placed and %d used, want one and six", name, f.due, f.cursor.Used)
			}
		}
	})
}

func TestAChangedDeclarationIsLoggedKeepsItsHistoryAndDoesNotRunAtOnce(t *testing.T) {
	withScheduleStore(t, func(t *testing.T, store *fakeScheduleStore) {
		var log logBuffer
		created := time.Now().UTC()
		declare := func(rec recurrence.Recurrence, args string) func() {
			return startSchedulerWith(t, store, SchedulerOptions{Logger: log.logger()}, declaring(t, "report", rec, Args([]byte(args))))
		}
		stop := declare(recurrence.Recurrence{Frequency: recurrence.Hour, Count: 10}, `{"secret":"hunter2"}`)
		pass(150 * time.Minute)
		stop()
		stop = declare(recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 40, Count: 10}, `{"secret":"swordfish"}`)
		pass(time.Second)
		f := store.schedules["report"]
		if !f.created.Equal(created) || f.revision != 2 || f.cursor.Used != 4 || len(store.ran) != 3 {
			t.Errorf("created %v, revision %d, %d used, ran %v; want %v, 2, 4, 3", f.created, f.revision, f.cursor.Used, store.ran, created)
		}
		if want := created.Add(160 * time.Minute); !f.cursor.At.Equal(want) {
			t.Errorf("next %v, want %v: periods go on from the creation", f.cursor.At, want)
		}
		if log.count("schedule changed") != 1 || log.count(`frequency\\\":\\\"hour`)+log.count(`frequency\":\"hour`) == 0 || log.count("minute") == 0 {
			t.Errorf("want one message with old and new text: %s", log.text.String())
		}
		if log.count("hunter2")+log.count("swordfish") > 0 {
			t.Errorf("arguments were logged: %s", log.text.String())
		}
		pass(12 * time.Hour)
		stop()
		if len(store.ran) != 10 || f.state != "completed" {
			t.Errorf("ran %d times and is %s, want ten times in all, completed", len(store.ran), f.state)
		}
		declare(recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 40, Count: 10}, `{"secret":"swordfish"}`)()
		if f.state != "completed" || f.revision != 2 {
			t.Errorf("declared again it is %s, revision %d; want it left completed", f.state, f.revision)
		}
		stop = declare(recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 40, Count: 12}, `{"secret":"swordfish"}`)
		pass(12 * time.Hour)
		stop()
		if len(store.ran) != 12 || f.state != "completed" {
			t.Errorf("with two more in the count it ran %d times and is %s, want 12, completed", len(store.ran), f.state)
		}
	})
}

func TestAScheduleThatCannotBeComputedIsLoggedAndDelaysNoOther(t *testing.T) {
	withScheduleStore(t, func(t *testing.T, store *fakeScheduleStore) {
		var log logBuffer
		store.noPlace = true
		stop := startSchedulerWith(t, store, SchedulerOptions{Logger: log.logger()}, func(s *Scheduler) {
			declaring(t, "minutely", everyMinute)(s)
			for i := range 150 {
				declaring(t, fmt.Sprint("strange", i), everyMinute)(s)
			}
		})
		pass(time.Second)
		store.mu.Lock()
		for name, f := range store.schedules {
			if strings.HasPrefix(name, "strange") {
				f.body = strings.Replace(f.body, `"frequency":"minute"`, `"frequency":"minute","timeZone":"Mars/Olympus"`, 1)
				f.owed, f.due = time.Now(), nil
			}
		}
		store.mu.Unlock()
		began, created := store.count("postpone"), store.schedules["minutely"].created
		pass(30 * time.Minute)
		store.wantRuns("minutely", everyMinute, created)
		if n := store.count("postpone") - began; n < 150*20 || n > 150*31 {
			t.Errorf("%d schedules were postponed in half an hour, want each of 150 about every minute", n)
		}
		if n := log.count("schedule=strange7 "); n < 20 || n > 31 || log.count("Mars/Olympus") == 0 {
			t.Errorf("strange7 was logged %d times in half an hour, want about once a minute, with the zone", n)
		}
		store.mu.Lock()
		store.schedules["strange7"].body = strings.Replace(store.schedules["strange7"].body, `"Mars/Olympus"`, `"Europe/Berlin"`, 1)
		store.mu.Unlock()
		pass(2 * time.Minute)
		if f := store.schedules["strange7"]; !f.cursor.Placed || len(f.placed) < 2 {
			t.Errorf("the schedule that can be computed again has cursor %+v, want it placed", f.cursor)
		}
		stop()
	})
}

func TestRemoveDeletesBeforeAnythingIsDeclared(t *testing.T) {
	withScheduleStore(t, func(t *testing.T, store *fakeScheduleStore) {
		startScheduler(t, store, declaring(t, "old", everyMinute))()
		stop := startScheduler(t, store, func(s *Scheduler) {
			if err := errors.Join(s.Remove("old"), s.Remove("never.there")); err != nil {
				t.Error(err)
			}
			declaring(t, "new", everyMinute)(s)
		})
		pass(time.Second)
		if store.schedules["old"] != nil || store.schedules["new"] == nil {
			t.Errorf("%v are stored, want new only", store.schedules)
		}
		stop()
	})
}

func TestASchedulerThatCannotPruneLogsThatOnce(t *testing.T) {
	withScheduleStore(t, func(t *testing.T, store *fakeScheduleStore) {
		for version, want := range []int{1, 0} {
			var log logBuffer
			options := SchedulerOptions{Owner: "shop", Version: int64(version), Prune: true, Logger: log.logger()}
			stop := startSchedulerWith(t, store, options, declaring(t, "minutely", everyMinute))
			pass(time.Minute)
			stop()
			if n := log.count("nothing is pruned"); n != want {
				t.Errorf("version %d: logged %d times, want %d: %s", version, n, want, log.text.String())
			}
		}
	})
}

func TestADeclaredJobThatNobodyHandlesIsLoggedOnce(t *testing.T) {
	withScheduleStore(t, func(t *testing.T, store *fakeScheduleStore) {
		var log logBuffer
		absent := func(names ...string) {
			store.mu.Lock()
			defer store.mu.Unlock()
			store.absent = names
		}
		absent("report", "other")
		stop := startSchedulerWith(t, store, SchedulerOptions{Logger: log.logger()}, func(s *Scheduler) {
			declaring(t, "report.daily", everyMinute, JobName("report"))(s)
			declaring(t, "minutely", everyMinute)(s)
		})
		for _, c := range []struct {
			absent []string
			wait   time.Duration
			want   int
		}{
			{[]string{"report"}, 9 * time.Second, 0}, // workers may still come up
			{[]string{"report"}, 10 * time.Minute, 1},
			{nil, 10 * time.Minute, 1},
			{[]string{"report"}, 10 * time.Minute, 2},
		} {
			absent(c.absent...)
			pass(c.wait)
			if n := log.count("no live worker handles"); n != c.want {
				t.Errorf("%v absent for %v: logged %d times, want %d: %s", c.absent, c.wait, n, c.want, log.text.String())
			}
		}
		stop()
	})
}
