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
		if store.swept == swept {
			t.Error("a scheduler that does not lead swept nothing in an hour, want it to, now and then: there may be no leader")
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

// Anybody who may enqueue may make queues. A leader looks at what could be late each time, and at the others in turn.
func TestALeaderLooksAtServedQueuesEachTimeAndAtManyIdleOnesInTurn(t *testing.T) {
	withScheduleStore(t, func(t *testing.T, fake *fakeScheduleStore) {
		store := newCrowdedStore(fake, "busy", 20_000)
		stop := startScheduler(t, store, declaring(t, "minutely", everyMinute))
		pass(10 * time.Minute)
		stop()
		if store.width > 2500 {
			t.Errorf("one call is about %d partitions, want at most 2500 of %d", store.width, store.idle)
		}
		for _, queue := range []string{"busy", defaultQueue} {
			if store.searches < 100 || store.owed[queue] != store.searches || store.polls < 50 || store.polled[queue] != store.polls {
				t.Errorf("queue %s: %d of %d searches and %d of %d polls, want all of them, and a search every 4 s", queue, store.owed[queue], store.searches, store.polled[queue], store.polls)
			}
		}
		if least, most := store.least(store.owed), store.most(store.owed); least < 3 || most > 40 {
			t.Errorf("idle queues were searched %d to %d times in ten minutes, want 3 to 40", least, most)
		}
		if least, most := store.least(store.polled), store.most(store.polled); least < 3 || most > 12 {
			t.Errorf("idle queues were polled %d to %d times in ten minutes, want 3 to 12", least, most)
		}
	})
}

func TestALeaderSweepsEveryQueueHoweverManyThereAre(t *testing.T) {
	withScheduleStore(t, func(t *testing.T, fake *fakeScheduleStore) {
		store := newCrowdedStore(fake, "busy", 20_000)
		stop := startScheduler(t, store, nil)
		pass(2 * time.Hour)
		stop()
		if least := store.least(store.swept); least < 1 || store.swept["busy"] < 20 {
			t.Errorf("in two hours an idle queue was swept %d times and the one that is served %d times, want 1 and 20 or more", least, store.swept["busy"])
		}
	})
}

// A slowSweep is a store with twenty thousand partitions, each of which takes two milliseconds to sweep.
type slowSweep struct{ *fakeScheduleStore }

func (s slowSweep) Queues(context.Context, string) ([]protocol.QueueSize, string, error) {
	return []protocol.QueueSize{{Queue: defaultQueue, Partitions: 20_000}}, "", nil
}

func (s slowSweep) Served(context.Context, []string) ([]protocol.QueueSize, error) { return nil, nil }

func (s slowSweep) Poll(_ context.Context, calls []protocol.PollCall) []protocol.PollAnswer {
	return make([]protocol.PollAnswer, len(calls))
}

func (s slowSweep) Owed(context.Context, []protocol.Partition) ([]protocol.Owed, error) {
	return nil, nil
}

func (s slowSweep) Sweep(_ context.Context, partitions []protocol.Partition, _ time.Duration) []protocol.SweepAnswer {
	time.Sleep(time.Duration(len(partitions)) * 2 * time.Millisecond) // fake time: the two milliseconds of each
	s.mu.Lock()
	s.swept += len(partitions)
	s.mu.Unlock()
	return make([]protocol.SweepAnswer, len(partitions))
}

func TestSweepingManyPartitionsDoesNotCostTheLead(t *testing.T) {
	withScheduleStore(t, func(t *testing.T, store *fakeScheduleStore) {
		var stops []func()
		for range 2 {
			stops = append(stops, startScheduler(t, slowSweep{store}, nil))
		}
		pass(time.Minute)
		was, term := store.leader()
		pass(30 * time.Minute)
		if id, now := store.leader(); id != was || now != term {
			t.Errorf("half an hour on %s leads with term %d, want %s with %d still", id, now, was, term)
		}
		if store.swept < 5*20_000 {
			t.Errorf("%d partitions were swept in half an hour, want all every few minutes", store.swept)
		}
		for _, stop := range stops {
			stop()
		}
	})
}
