package chime

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
)

func TestALeaderThatStopsHandsOverAtOnce(t *testing.T) {
	withScheduleStore(t, func(t *testing.T, store *fakeScheduleStore) {
		first := startScheduler(t, store, nil)
		synctest.Wait()
		was, term := store.leader()
		second := startScheduler(t, store, nil)
		pass(time.Minute)
		if id, now := store.leader(); id != was || now != term {
			t.Errorf("a minute on %s leads with term %d, want %s with %d still", id, now, was, term)
		}
		first()
		pass(time.Millisecond)
		if id, now := store.leader(); id == "" || id == was || now != term+1 {
			t.Errorf("a millisecond after the end of the leader %q leads with term %d, want the other with %d", id, now, term+1)
		}
		second()
		if id, _ := store.leader(); id != "" {
			t.Errorf("%s leads after all schedulers have stopped", id)
		}
	})
}

func TestALeaderThatVanishesIsReplacedWithinItsLease(t *testing.T) {
	withScheduleStore(t, func(t *testing.T, store *fakeScheduleStore) {
		if _, err := store.Lead(t.Context(), "gone", defaultLeaderTTL); err != nil {
			t.Fatal(err)
		}
		stop := startScheduler(t, store, nil)
		began := time.Now()
		for {
			if id, _ := store.leader(); id != "" && id != "gone" {
				break
			}
			if time.Since(began) > 12*time.Second {
				t.Fatal("no scheduler has taken over after 12 s")
			}
			pass(100 * time.Millisecond)
		}
		stop()
	})
}

// If the answer was lost, a scheduler may hold the lease and not know it.
func TestALeaseGrantedInALostAnswerIsHandedBack(t *testing.T) {
	withScheduleStore(t, func(t *testing.T, store *fakeScheduleStore) {
		store.fault = func(act string) (before, after error) {
			if act == "lead" {
				return nil, errFake
			}
			return nil, nil
		}
		stop := startScheduler(t, store, nil)
		pass(time.Second)
		if id, _ := store.leader(); id == "" {
			t.Fatal("the store has no leader, so this test shows nothing")
		}
		stop()
		if id, _ := store.leader(); id != "" {
			t.Errorf("%s still holds the lease", id)
		}
	})
}

func TestStoppingDoesNotWaitForAStoreThatHangs(t *testing.T) {
	withScheduleStore(t, func(t *testing.T, store *fakeScheduleStore) {
		stop := startScheduler(t, hangingResign{store}, nil)
		pass(time.Second)
		began := time.Now()
		stop()
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("the end took %v, want at most 5 s", d)
		}
	})
}

type hangingResign struct{ *fakeScheduleStore }

func (s hangingResign) Resign(ctx context.Context, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestASchedulerThatDoesNotLeadSearchesEveryHalfMinute(t *testing.T) {
	withScheduleStore(t, func(t *testing.T, store *fakeScheduleStore) {
		store.fault = func(act string) (before, after error) {
			if act == "lead" && store.lease.id == "" {
				store.lease.id, store.lease.until, store.lease.term = "another", time.Now().Add(1000*time.Hour), 7
			}
			return nil, nil
		}
		stop := startScheduler(t, store, declaring(t, "yearly", recurrence.Recurrence{Cron: "0 0 1 1 *"}))
		pass(time.Minute)
		owed, swept := store.count("owed"), store.swept
		pass(time.Hour)
		if n := store.count("owed") - owed; n < 80 || n > 240 {
			t.Errorf("searched %d times in an hour, want about 120", n)
		}
		if store.swept != swept {
			t.Error("a scheduler that does not lead swept, want the leader only")
		}
		stop()
		if store.count("resign") > 0 {
			t.Error("it handed back a lease that it never had")
		}
	})
}

func TestALeaderReapsAtTheSecondLookAndSweepsInSmallSteps(t *testing.T) {
	withScheduleStore(t, func(t *testing.T, store *fakeScheduleStore) {
		stop := startScheduler(t, store, declaring(t, "minutely", everyMinute))
		pass(time.Second)
		store.mu.Lock()
		store.lapsed = []protocol.LapsedSession{{Session: "gone", Lapse: time.Now()}}
		store.mu.Unlock()
		pass(13 * time.Second)
		if store.count("poll") < 2 {
			t.Error("the leader did not poll for lapsed sessions")
		}
		pass(2 * time.Second)
		if store.count("reap gone") == 0 {
			t.Error("a lapsed session was not reaped at the second look")
		}
		swept := store.swept
		pass(10 * time.Minute)
		if n := store.swept - swept; n < 9*20 || n > 11*20 {
			t.Errorf("%d sweeps in ten minutes although more always remains, want 20 a minute", n)
		}
		stop()
	})
}
