package workers_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A hungStore answers no call while hangs is set: each call waits until its ctx ends, or forever if stuck is set.
type hungStore struct {
	protocol.Store
	hangs, stuck atomic.Bool
	freed        chan struct{}
}

func (s *hungStore) Protocol() protocol.Store { return s }

func (s *hungStore) wait(ctx context.Context) error {
	switch {
	case s.stuck.Load():
		<-s.freed
	case s.hangs.Load():
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (s *hungStore) Work(ctx context.Context, calls []protocol.WorkCall) []protocol.WorkAnswer {
	if err := s.wait(ctx); err != nil {
		answers := make([]protocol.WorkAnswer, len(calls))
		for i := range answers {
			answers[i].Err = err
		}
		return answers
	}
	return s.Store.Work(ctx, calls)
}

func (s *hungStore) Poll(ctx context.Context, calls []protocol.PollCall) []protocol.PollAnswer {
	if err := s.wait(ctx); err != nil {
		answers := make([]protocol.PollAnswer, len(calls))
		for i := range answers {
			answers[i].Err = err
		}
		return answers
	}
	return s.Store.Poll(ctx, calls)
}

func (s *hungStore) Owed(ctx context.Context, partitions []protocol.Partition) ([]protocol.Owed, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.Store.Owed(ctx, partitions)
}

func (s *hungStore) Lease(ctx context.Context) (string, error) {
	if err := s.wait(ctx); err != nil {
		return "", err
	}
	return s.Store.Lease(ctx)
}

// runBoth runs roles until stop is called.
func runBoth(t *testing.T, roles ...chime.Role) (stop func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- chime.Run(ctx, roles...) }()
	return func() error { cancel(); return <-ended }
}

// Each loop turns within a few seconds for an hour: with work, without work, and with a store that does not answer. Before and after Run there are
// no loops.
func TestLoopsAlwaysTurnWithinSeconds(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := &hungStore{Store: f.Server.Store().Protocol()}
		worker := chime.NewWorker(store, chime.WorkerOptions{Logger: fixture.Quiet()})
		worker.Handle("work", func(context.Context, *chime.Job) error {
			time.Sleep(20 * time.Minute) // a handler that ignores its ctx
			return nil
		})
		scheduler := chime.NewScheduler(store, chime.SchedulerOptions{Logger: fixture.Quiet(), SafetyTick: 10 * time.Minute})
		if err := scheduler.Schedule("work", fixture.Minutely); err != nil {
			t.Fatal(err)
		}
		if n := len(worker.Pulses()) + len(scheduler.Pulses()); n != 0 {
			t.Errorf("%d loops have turned before Run", n)
		}
		stop := runBoth(t, worker, scheduler)
		fixture.Pass(time.Second)
		for second := range 3600 {
			store.hangs.Store(second > 1200 && second < 2400)
			fixture.Pass(time.Second)
			all := map[string]time.Time{}
			for loop, at := range worker.Pulses() {
				all[loop] = at
			}
			for loop, at := range scheduler.Pulses() {
				all[loop] = at
			}
			for _, loop := range []string{"processor", "heartbeat", "watch", "ticker"} {
				if silent := time.Since(all[loop]); silent > 5*time.Second || silent < 0 {
					t.Fatalf("after %d s %s has not turned for %v, want at most 5 s", second, loop, silent)
				}
			}
			if len(all) != 4 {
				t.Fatalf("the loops are %v, want four", all)
			}
		}
		if err := stop(); err != nil {
			t.Log(err) // jobs are interrupted
		}
		if n := len(worker.Pulses()) + len(scheduler.Pulses()); n != 0 {
			t.Errorf("%d loops turn after Run", n)
		}
	})
}

// A loop that is stuck in an endless call is detected by its pulse, and the other loops continue.
func TestAStuckLoopIsSeenByItsPulse(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := &hungStore{Store: f.Server.Store().Protocol(), freed: make(chan struct{})}
		release := make(chan struct{})
		worker := chime.NewWorker(f.Server.Store(), chime.WorkerOptions{Logger: fixture.Quiet(), Observers: []*chime.Observer{{Taken: func([]chime.JobEvent) { <-release }}}})
		worker.Handle("work", func(context.Context, *chime.Job) error { return nil })
		scheduler := chime.NewScheduler(store, chime.SchedulerOptions{Logger: fixture.Quiet()})
		stop := runBoth(t, worker, scheduler)
		fixture.Pass(10 * time.Second)
		store.stuck.Store(true)
		f.Add("work", 0, "a") // its event blocks an observer
		fixture.Pass(5 * time.Minute)
		silent := func(pulses map[string]time.Time, loop string) time.Duration {
			return time.Since(pulses[loop]).Round(time.Second)
		}
		if got := silent(worker.Pulses(), "processor"); got < 4*time.Minute || got > 5*time.Minute {
			t.Errorf("the processor has not turned for %v, want since the job's arrival", got)
		}
		if got := silent(scheduler.Pulses(), "ticker"); got < 4*time.Minute || got > 5*time.Minute {
			t.Errorf("the ticker has not turned for %v, want since 30 s after its call", got)
		}
		for _, loop := range []string{"heartbeat", "watch"} {
			if got := silent(worker.Pulses(), loop); got > 5*time.Second {
				t.Errorf("%s has not turned for %v, want it to continue", loop, got)
			}
		}
		store.stuck.Store(false)
		close(store.freed)
		close(release)
		fixture.Pass(6 * time.Second)
		if got := max(silent(worker.Pulses(), "processor"), silent(scheduler.Pulses(), "ticker")); got > 5*time.Second {
			t.Errorf("a loop that was stuck continues, but has not turned for %v", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
