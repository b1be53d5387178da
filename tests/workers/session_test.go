package workers_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/chimejobs/chime/tests/internal/hookstore"
)

var defaultPartition = protocol.Partition{Queue: "default"}

// vanish takes a job in a session that is never extended, like a worker that vanishes. It returns the session and the instant of its lapse.
func vanish(f *fixture.Fixture, ttl time.Duration) (session string, lapse time.Time) {
	f.T.Helper()
	call := protocol.WorkCall{Partition: defaultPartition, Worker: "gone", Session: protocol.NewSession(ttl), Number: 1, TTL: ttl, Take: 1, Suspect: true}
	answer := f.Server.Store().Protocol().Work(f.T.Context(), []protocol.WorkCall{call})[0]
	if answer.Err != nil || len(answer.Taken) != 1 {
		f.T.Fatalf("the worker that vanishes took %d jobs, %v", len(answer.Taken), answer.Err)
	}
	return call.Session, answer.Now.Add(ttl)
}

func TestTheJobsOfAVanishedWorkerRunAfterTheSecondPoll(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		f.Enqueue("default", job("work"), "a")
		vanish(f, 12*time.Second)
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 1, Logger: fixture.Quiet()})
		begun := time.Now()
		var after time.Duration
		w.Handle("work", func(_ context.Context, job *chime.Job) error {
			after = time.Since(begun)
			if job.Crashes != 1 || job.Attempt != 1 {
				t.Errorf("crashes %d and attempt %d, want 1 and 1", job.Crashes, job.Attempt)
			}
			return nil
		})
		stop := fixture.Start(w)
		fixture.Pass(time.Minute)
		if want := 12*time.Second + 4400*time.Millisecond; after < want || after > want+time.Millisecond {
			t.Errorf("the job ran after %v, want %v", after, want)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}

func TestASessionThatIsExtendedIsNotReaped(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		f.Enqueue("default", job("work"), "a")
		slow, _ := vanish(f, 12*time.Second)
		f.Lapse(defaultPartition, slow, time.Now())
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 1, Logger: fixture.Quiet()})
		w.Handle("work", func(context.Context, *chime.Job) error { return nil })
		stop := fixture.Start(w)
		for range 20 {
			fixture.Pass(4 * time.Second)
			f.Lapse(defaultPartition, slow, time.Now())
		}
		if !slices.Contains(f.Sessions(defaultPartition), slow) {
			t.Error("a session that was late but alive was reaped")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A session has heartbeats while it has a job, even if it had none for some time before.
func TestASessionIsKeptAliveWhileItHoldsAJob(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 4, Logger: fixture.Quiet()})
		w.Handle("short", func(context.Context, *chime.Job) error { return nil })
		var lost error
		w.Handle("long", func(ctx context.Context, _ *chime.Job) error {
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
				lost = context.Cause(ctx)
			}
			return nil
		})
		stop := fixture.Start(w)
		f.Enqueue("default", job("short"), "before")
		fixture.Pass(500 * time.Millisecond) // the session has no job
		f.Enqueue("default", job("long"), "long")
		synctest.Wait()
		f.Enqueue("default", job("short"), "meanwhile")
		fixture.Pass(30 * time.Second)
		if n := store.Count("extend"); n < 6 || n > 8 {
			t.Errorf("%d heartbeats in half a minute for a session with a job, want one every four seconds", n)
		}
		fixture.Pass(time.Minute)
		if lost != nil {
			t.Errorf("the handler's ctx ended: %v", lost)
		}
		if got := store.Kinds()[protocol.SettleDone]; got != 3 {
			t.Errorf("%d done, want 3", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}

func TestALostSessionEndsItsHandlersAndDropsTheirOutcomes(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 4, Logger: fixture.Quiet()})
		var mu sync.Mutex
		var causes []error
		runs := 0
		w.Handle("work", func(ctx context.Context, job *chime.Job) error {
			mu.Lock()
			runs++
			mu.Unlock()
			if job.Crashes > 0 {
				return nil
			}
			<-ctx.Done()
			mu.Lock()
			defer mu.Unlock()
			causes = append(causes, context.Cause(ctx))
			return errors.New("ended")
		})
		f.Enqueue("default", job("work"), "a", "b", "c")
		stop := fixture.Start(w)
		fixture.Pass(time.Second)
		f.LoseSessions()
		fixture.Pass(time.Minute)
		if len(causes) != 3 || !errors.Is(causes[0], chime.ErrSessionLost) {
			t.Errorf("handlers ended for %v, want ErrSessionLost three times", causes)
		}
		if got := store.Kinds(); got[protocol.SettleDone] != 3 || len(got) != 1 || runs != 6 {
			t.Errorf("%d runs settled as %v, want 6 and three done", runs, got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}

func TestASilentSessionEndsItsHandlersButTheirOutcomesCount(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 4, Logger: fixture.Quiet()})
		var ended time.Time
		begun := time.Now()
		w.Handle("work", func(ctx context.Context, job *chime.Job) error {
			<-ctx.Done()
			ended = time.Now()
			return nil
		})
		f.Enqueue("default", job("work"), "a")
		stop := fixture.Start(w)
		fixture.Pass(time.Second)
		store.SetFault(func(string, protocol.Partition) (error, error) { return hookstore.ErrReset, nil })
		fixture.Pass(30 * time.Second)
		if d := ended.Sub(begun); d < 12*time.Second || d > 17*time.Second {
			t.Errorf("the handler's ctx ended after %v without a heartbeat, want 12 s", d)
		}
		store.SetFault(nil)
		fixture.Pass(10 * time.Second)
		if got := store.Kinds(); got[protocol.SettleDone] != 1 {
			t.Errorf("settled %v, want the outcome kept and sent: one done", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}
