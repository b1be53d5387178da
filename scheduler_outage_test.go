package chime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRunEndsOnAnUnfitStoreAndWaitsForAnUnavailableOne(t *testing.T) {
	withScheduleStore(t, func(t *testing.T, store *fakeScheduleStore) {
		store.unfit = fmt.Errorf("fake: %w", ErrUnfit)
		if err := NewScheduler(asStore(store), SchedulerOptions{Logger: quiet()}).Run(t.Context()); !errors.Is(err, ErrUnfit) {
			t.Errorf("got %v, want ErrUnfit", err)
		}
		store.unfit = errors.New("fake: connection refused")
		began := time.Now()
		stop := startScheduler(t, store, declaring(t, "minutely", everyMinute))
		pass(10 * time.Minute)
		store.mu.Lock()
		store.unfit = nil
		calls := store.calls["check"]
		store.mu.Unlock()
		if calls > 1200 { // at most one or two a second
			t.Errorf("%d checks in 10 minutes", calls)
		}
		pass(6 * time.Second)
		if store.count("declare") == 0 || store.calls["place"] == 0 {
			t.Error("nothing was declared after the store came back")
		}
		stop()
		if d := time.Since(began); d > 11*time.Minute {
			t.Errorf("the scheduler stopped after %v, want at most 11m", d)
		}
	})
}

func TestMisfirePoliciesAfterATimeWithoutWorkers(t *testing.T) {
	for policy, want := range map[MisfirePolicy]struct{ ran, missed, caughtUp int }{
		MisfireRunOnce: {ran: 1, missed: 30},
		MisfireSkip:    {ran: 0, missed: 31},
		MisfireCatchUp: {ran: 31, caughtUp: 30},
	} {
		t.Run(string(policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newFakeScheduleStore(t)
				stop := startScheduler(t, store, declaring(t, "minutely", everyMinute, Misfire(policy), Grace(5*time.Second)))
				pass(30*time.Minute + 30*time.Second) // no worker: the run at creation waits, 30 more are missed
				ctx, cancel := context.WithCancel(t.Context())
				go store.work(ctx)
				pass(15 * time.Second)
				f := store.schedules["minutely"]
				if got := len(store.ran); got != want.ran || int(f.stored.Missed) != want.missed || int(f.stored.CaughtUp) != want.caughtUp {
					t.Errorf("ran %d, missed %d, caught up %d; want %+v", got, f.stored.Missed, f.stored.CaughtUp, want)
				}
				pass(time.Hour)
				if got := len(store.ran); got != want.ran+60 {
					t.Errorf("%d ran after an hour with a worker, want %d", got, want.ran+60)
				}
				cancel()
				stop()
			})
		})
	}
}

// A store that forgot everything has another epoch. Deleting a schedule on purpose does not change the epoch, even if it was the
// only one. A deletion that the program has found by then holds, though the store has forgotten it too.
func TestSchedulesAreDeclaredAgainOnlyWhenTheStoreHasLostThem(t *testing.T) {
	withScheduleStore(t, func(t *testing.T, store *fakeScheduleStore) {
		stop := startScheduler(t, store, func(s *Scheduler) {
			declaring(t, "minutely", everyMinute)(s)
			declaring(t, "deleted", everyMinute)(s)
		})
		pass(time.Minute)
		schedules := NewSchedules(asStore(store))
		if err := schedules.Delete(t.Context(), "deleted"); err != nil {
			t.Fatal(err)
		}
		pass(time.Hour)
		if len(store.schedules) != 1 || len(store.written) != 2 {
			t.Errorf("a deleted schedule came back: %v", store.written)
		}
		store.lose()
		store.mu.Lock()
		store.sizes["default"] = 1 // an enqueuer has written to it first
		store.mu.Unlock()
		pass(15 * time.Second)
		if f := store.schedules["minutely"]; len(store.written) != 3 || f == nil || len(f.due) != 1 {
			t.Errorf("15 s after the store was lost it has %d schedules, want the one that was not deleted, placed", len(store.schedules))
		}
		pass(time.Hour)
		if len(store.written) != 3 {
			t.Errorf("declared: %v; want each once, and again what was lost", store.written)
		}
		if _, err := schedules.Put(t.Context(), "deleted", quarterHours); err != nil {
			t.Fatal(err)
		}
		pass(time.Hour)
		store.lose()
		pass(15 * time.Second)
		if store.schedules["minutely"] == nil || store.schedules["deleted"] == nil || len(store.written) != 6 {
			t.Errorf("declared: %v; want both again: the one that was deleted was made again since", store.written)
		}
		stop()
	})
}

func TestAScheduleThatTheStoreRefusesDelaysNoOther(t *testing.T) {
	withScheduleStore(t, func(t *testing.T, store *fakeScheduleStore) {
		store.refuse = func(name string) error {
			if strings.HasPrefix(name, "refused") {
				return errFake
			}
			return nil
		}
		store.noPlace = true
		stop := startScheduler(t, store, func(s *Scheduler) {
			for i := range 120 { // more than one call takes
				declaring(t, fmt.Sprint("refused", i), everyMinute)(s)
			}
			for i := range 350 {
				declaring(t, fmt.Sprint("s", i), everyMinute)(s)
			}
		})
		created := time.Now()
		pass(10*time.Minute + time.Second)
		if id, _ := store.leader(); id == "" {
			t.Error("no scheduler leads")
		}
		for i := range 350 {
			store.wantRuns(fmt.Sprint("s", i), everyMinute, created)
		}
		if n := store.count("declare"); n > 300 {
			t.Errorf("%d calls to declare in ten minutes", n)
		}
		stop()
	})
}

// Everything fails for ten minutes. The scheduler logs that and makes few calls. Afterwards it goes on within seconds.
func TestAnOutageSlowsASchedulerDown(t *testing.T) {
	withScheduleStore(t, func(t *testing.T, store *fakeScheduleStore) {
		var log logBuffer
		store.noPlace = true
		created := time.Now()
		stop := startSchedulerWith(t, store, SchedulerOptions{Logger: log.logger()}, declaring(t, "minutely", everyMinute))
		pass(5*time.Minute + 30*time.Second)
		for _, fault := range []func(string) (error, error){
			func(string) (before, after error) { return errors.New("connection refused"), nil },
			func(string) (before, after error) { return nil, errors.New("connection reset") },
		} {
			calls := func() (n int) {
				store.mu.Lock()
				defer store.mu.Unlock()
				for _, c := range store.calls {
					n += c
				}
				return n
			}
			before, logged := calls(), log.count("a call to the store failed")
			store.setFault(fault)
			pass(10 * time.Minute)
			if n := calls() - before; n > 1500 {
				t.Errorf("%d calls in an outage of ten minutes, want a few a second at most", n)
			}
			if n := log.count("a call to the store failed") - logged; n < 9 || n > 12 {
				t.Errorf("the outage was logged %d times in ten minutes, want once a minute", n)
			}
			store.setFault(nil)
			pass(9 * time.Second)
			if id, _ := store.leader(); id == "" {
				t.Error("no scheduler leads 9 s after the end of the outage")
			}
			if f := store.schedules["minutely"]; !f.owed.IsZero() {
				t.Errorf("the schedule is still owed since %v", f.owed)
			}
			pass(5*time.Minute - 9*time.Second)
		}
		stop()
		if n := log.count("store answers again"); n != 2 {
			t.Errorf("the end of an outage was logged %d times, want twice", n)
		}
		// While every call failed nothing was placed, so one late run stands for that gap. Lost answers lost nothing.
		if f := store.schedules["minutely"]; int(f.stored.Started+f.stored.Missed) != int(time.Since(created)/time.Minute)+1 {
			t.Errorf("%d ran and %d were missed of %v", f.stored.Started, f.stored.Missed, time.Since(created))
		}
	})
}

// The store goes back to an earlier state, as after a failover or a restart from an older file, and its epoch stays the same. What a
// program declared and the store lost is declared again; what somebody has changed or deleted since stays as it is.
func TestWhatTheStoreForgotIsDeclaredAgain(t *testing.T) {
	withScheduleStore(t, func(t *testing.T, store *fakeScheduleStore) {
		stop := startScheduler(t, store, func(s *Scheduler) {
			for _, name := range []string{"absent", "older", "changed", "deleted", "moved"} {
				declaring(t, name, everyMinute)(s)
			}
		})
		pass(time.Minute)
		schedules := NewSchedules(asStore(store))
		if _, err := schedules.Put(t.Context(), "changed", quarterHours); err != nil {
			t.Fatal(err)
		}
		if _, err := schedules.Put(t.Context(), "moved", everyMinute, Queue("mail")); err != nil {
			t.Fatal(err)
		}
		if err := schedules.Delete(t.Context(), "deleted"); err != nil {
			t.Fatal(err)
		}
		store.mu.Lock()
		delete(store.schedules, "absent")
		store.schedules["older"].revision, store.schedules["older"].body = 0, `{"version":1,"job":"older","recurrence":{"frequency":"hour"},"misfire":"run_once","grace":"1m0s"}`
		written := len(store.written)
		store.mu.Unlock()
		pass(10 * time.Minute)
		got := slices.Sorted(slices.Values(store.written[written:]))
		if !slices.Equal(got, []string{"absent", "older"}) {
			t.Errorf("declared again: %v, want those that the store lost or has in an older form", got)
		}
		if len(store.schedules["absent"].due) == 0 && store.ran["absent"] == 0 {
			t.Error("nothing of the lost schedule is placed")
		}
		pass(time.Hour)
		if len(store.written) != written+2 {
			t.Errorf("declared again and again: %v", store.written[written:])
		}
		stop()
	})
}

// A removal that fails holds up no declaration, and is tried again.
func TestARemovalThatFailsHoldsUpNoDeclaration(t *testing.T) {
	withScheduleStore(t, func(t *testing.T, store *fakeScheduleStore) {
		startScheduler(t, store, declaring(t, "old", everyMinute))()
		fails := true
		store.setFault(func(act string) (before, after error) {
			if act == "remove" && fails {
				return errFake, nil
			}
			return nil, nil
		})
		stop := startScheduler(t, store, func(s *Scheduler) {
			if err := s.Remove("old"); err != nil {
				t.Error(err)
			}
			declaring(t, "new", everyMinute)(s)
		})
		pass(time.Second)
		if store.schedules["new"] == nil {
			t.Error("the schedule was not declared")
		}
		store.setFault(nil)
		pass(time.Minute)
		if store.schedules["old"] != nil {
			t.Error("the removal was not tried again")
		}
		stop()
	})
}
