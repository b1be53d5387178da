package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/chimejobs/chime/tests/internal/hookstore"
)

const (
	leaderTTL  = 10 * time.Second // the default of SchedulerOptions.LeaderTTL
	sessionTTL = 12 * time.Second // the default of WorkerOptions.SessionTTL
)

func TestALeaderThatStopsIsReplacedAtOnce(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		first := b.start(nil)
		was, term := b.leader()
		second := b.start(nil)
		fixture.Pass(time.Minute)
		if id, now := b.leader(); id != was || now != term {
			t.Errorf("a minute on %s leads with term %d, want %s with %d as before", id, now, was, term)
		}
		first()
		fixture.Pass(time.Millisecond)
		if id, now := b.leader(); id == "" || id == was || now != term+1 {
			t.Errorf("a millisecond after the end of the leader %q leads with term %d, want the other with %d", id, now, term+1)
		}
		second()
		if id, _ := b.leader(); id != "" {
			t.Errorf("%s leads after all schedulers have stopped", id)
		}
	})
}

func TestALeaderThatVanishesIsReplacedWithinItsLease(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		if _, err := b.raw.Lead(t.Context(), "gone", leaderTTL); err != nil {
			t.Fatal(err)
		}
		stop := b.start(nil)
		began := time.Now()
		for {
			if id, _ := b.leader(); id != "" && id != "gone" {
				break
			}
			if time.Since(began) > 12*time.Second {
				t.Fatal("no scheduler has taken over after 12 s")
			}
			fixture.Pass(100 * time.Millisecond)
		}
		stop()
	})
}

// If the answer is lost, a scheduler may hold the lease without knowing it.
func TestALeaseGrantedInALostAnswerIsReturned(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.store.SetFault(func(action string, _ protocol.Partition) (before, after error) {
			if action == "lead" {
				return nil, hookstore.ErrReset
			}
			return nil, nil
		})
		stop := b.start(nil)
		fixture.Pass(time.Second)
		if id, _ := b.leader(); id == "" {
			t.Fatal("the store has no leader, so this test proves nothing")
		}
		stop()
		if id, _ := b.leader(); id != "" {
			t.Errorf("%s still holds the lease", id)
		}
	})
}

func TestStoppingDoesNotWaitForAStoreThatHangs(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		stop := b.startOn(hangingResign{b.store}, chime.SchedulerOptions{}, nil)
		fixture.Pass(time.Second)
		began := time.Now()
		stop()
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("the end took %v, want at most 5 s", d)
		}
	})
}

type hangingResign struct{ protocol.Store }

func (s hangingResign) Protocol() protocol.Store { return s }

func (s hangingResign) Resign(ctx context.Context, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestASchedulerThatDoesNotLeadSearchesEveryHalfMinute(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		another := chime.NewScheduler(b.Server.Store(), chime.SchedulerOptions{Logger: fixture.Quiet()})
		end := fixture.Start(another)
		stop := b.start(b.declaring("yearly", recurrence.Recurrence{Cron: "0 0 1 1 *"}))
		fixture.Pass(time.Minute)
		owed, swept := b.store.RoundTrips("owed"), b.store.Count("sweep")
		fixture.Pass(time.Hour)
		if n := b.store.RoundTrips("owed") - owed; n < 80 || n > 240 {
			t.Errorf("searched %d times in an hour, want about 120", n)
		}
		if b.store.Count("sweep") == swept {
			t.Error("a scheduler that does not lead swept nothing in an hour, want some sweeps, because there may be no leader")
		}
		stop()
		if b.store.Count("resign") > 0 {
			t.Error("it resigned from a lease that it never had")
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// A restless store always has more to sweep.
type restless struct{ protocol.Store }

func (s restless) Protocol() protocol.Store { return s }

func (s restless) Sweep(ctx context.Context, partitions []protocol.Partition, unless time.Duration) []protocol.SweepAnswer {
	answers := s.Store.Sweep(ctx, partitions, unless)
	for i := range answers {
		answers[i].More = true
	}
	return answers
}

func TestALeaderReapsAtTheSecondPollAndSweepsInSmallSteps(t *testing.T) {
	onIdleBench(t, func(t *testing.T, b *bench) {
		b.store = hookstore.New(t, restless{b.raw})
		stop := b.start(b.declaring("minutely", everyMinute))
		fixture.Pass(time.Second)
		b.Add("work", 0, "job")
		call := protocol.WorkCall{Partition: protocol.Partition{Queue: "default"}, Worker: "gone", Session: protocol.NewSession(sessionTTL), Number: 1, TTL: sessionTTL, Take: 1}
		if answer := b.raw.Work(t.Context(), []protocol.WorkCall{call})[0]; answer.Err != nil || len(answer.Taken) != 1 {
			t.Fatalf("a worker that vanishes has taken %+v", answer)
		}
		fixture.Pass(sessionTTL + 4*time.Second)
		if b.store.RoundTrips("poll") < 2 {
			t.Error("the leader did not poll for lapsed sessions")
		}
		if b.store.Count("reap") > 0 {
			t.Error("a lapsed session was reaped less than a heartbeat after it was seen")
		}
		fixture.Pass(2 * time.Second)
		if b.store.Count("reap") == 0 {
			t.Error("a lapsed session was not reaped at the second poll")
		}
		swept := b.store.Count("sweep")
		fixture.Pass(10 * time.Minute)
		if n := b.store.Count("sweep") - swept; n < 9*20 || n > 11*20 {
			t.Errorf("%d sweeps in ten minutes although more always remains, want 20 a minute", n)
		}
		stop()
	})
}
