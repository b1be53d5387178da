package batches_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// Cancelling removes what waits, is delayed or is parked, and ends the ctx of what runs; dead members remain dead. Ended follows, Done does not.
func TestCancelEndsABatch(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		s.worker.Handle("runs", func(ctx context.Context, job *chime.Job) error {
			<-ctx.Done()
			if s.note(job); !errors.Is(context.Cause(ctx), chime.ErrCancelled) {
				t.Errorf("the cause is %v", context.Cause(ctx))
			}
			return nil
		})
		s.enqueue(batch("x", sequence(
			named("member"), named("bad"), named("nobody"), named("runs"), named("runs"),
			named("member", chime.In(time.Hour)), named("member", chime.Queue("unserved")), named("member", chime.Queue("unserved"), chime.Group("g")), named("member", chime.Queue("unserved"), chime.In(time.Hour)),
		)))
		defer s.run()()
		fixture.Pass(5 * time.Second)
		s.wantState("before", "x", chime.BatchRunning, 9, 7, 1, 1, 0)
		info, err := s.batches.Cancel(t.Context(), "x")
		if err != nil || info.State != chime.BatchCancelled {
			t.Errorf("%+v, %v", info, err)
		}
		if _, err := s.enqueuer.Enqueue(t.Context(), "member", nil, chime.InBatch(&chime.Job{ID: "i", Batch: "x"})); !errors.Is(err, chime.ErrConflict) {
			t.Errorf("a growth meanwhile: %v", err)
		}
		fixture.Pass(time.Minute)
		if s.ran["runs"] != 2 {
			t.Errorf("the ctx of %d handlers has ended, want 2", s.ran["runs"])
		}
		s.wantState("at the end", "x", chime.BatchCancelled, 9, 0, 1, 1, 7)
		s.wantFollowed("at the end", "ended of x: 1 done, 1 dead, 7 cancelled, cancelled")
		for _, name := range []string{"default", "unserved"} {
			if q := s.queue(name); q.Waiting+q.Delayed+q.InFlight()+q.Parked != 0 {
				t.Errorf("the queue %s is left with %+v", name, q)
			}
		}
		if info, err := s.batches.Cancel(t.Context(), "x"); err != nil && !errors.Is(err, chime.ErrConflict) || len(s.followed) != 1 {
			t.Errorf("cancelled again: %+v, %v, %q", info, err, s.followed)
		}
		if n, err := s.jobs.Requeue(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobDead, Batch: "x"}, nil); err != nil || n.Changed != 0 || s.queue("default").Dead != 1 {
			t.Errorf("its dead member: %+v, %v, want no change", n, err)
		}
		if _, err := s.batches.Cancel(t.Context(), "y"); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("a batch that does not exist: %v", err)
		}
		if _, err := s.enqueuer.EnqueueBatch(t.Context(), batch("x", members(1))); !errors.Is(err, chime.ErrConflict) {
			t.Errorf("a batch with its ID: %v", err)
		}
	})
}

// slowPages is a store that needs some time to read a page of jobs and to cancel members. begins is called when the first page is read.
type slowPages struct {
	protocol.Store
	begins func()
}

func (s slowPages) Protocol() protocol.Store { return s }

func (s slowPages) PageJobs(ctx context.Context, call protocol.JobPageCall) (protocol.JobPage, error) {
	s.begins()
	time.Sleep(30 * time.Millisecond) // fake time
	return s.Store.PageJobs(ctx, call)
}

func (s slowPages) CancelMembers(ctx context.Context, queue string, ids []string) error {
	time.Sleep(30 * time.Millisecond) // fake time
	return s.Store.CancelMembers(ctx, queue, ids)
}

// While Cancel removes many members, workers continue to take jobs, but none of these: what begins was in flight before. When it has returned no member begins any
// more, also none that has failed meanwhile and is due again.
func TestNoMemberIsTakenOnceCancelLooksForThem(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		s := newSite(f, f.Server.Store())
		const total = 3000
		var searched, returned time.Time
		began, late, plain := 0, 0, 0
		for name, outcome := range map[string]func(ctx context.Context) error{
			"slow":  func(ctx context.Context) error { time.Sleep(20 * time.Millisecond); return nil }, // fake time
			"quick": func(context.Context) error { return nil },
			"again": func(context.Context) error { return chime.RetryAfter(0, errors.New("again")) },
			"plain": func(context.Context) error { return nil },
		} {
			s.worker.Handle(name, func(ctx context.Context, job *chime.Job) error {
				s.locked(func() {
					switch {
					case job.Batch == "":
						plain++
					case !returned.IsZero():
						late++
					case !searched.IsZero():
						began++
					}
				})
				select {
				case <-ctx.Done():
				case <-time.After(5 * time.Millisecond):
				}
				return outcome(ctx)
			})
		}
		s.enqueue(batch("x", func(yield func(chime.Item, error) bool) {
			for i := range total {
				if !yield(named([]string{"quick", "quick", "again", "slow"}[i%4]), nil) {
					return
				}
			}
		}))
		for range 20 {
			if _, err := s.enqueuer.Enqueue(t.Context(), "plain", nil); err != nil {
				t.Fatal(err)
			}
		}
		defer s.run()()
		fixture.Pass(100 * time.Millisecond)
		store := slowPages{s.store.Protocol(), func() {
			s.locked(func() {
				if searched.IsZero() {
					searched = time.Now()
				}
			})
		}}
		if _, err := chime.NewBatches(store).Cancel(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		s.locked(func() { returned = time.Now() })
		fixture.Pass(time.Minute)
		info := s.get("x")
		if held := 2 * 10; began > held || late > 0 || info.Left != 0 || info.Dead != 0 || info.Done > total/2 {
			t.Errorf("%d members have begun while Cancel looked for members for %v, %d after it; %d are left, %d dead and %d done; want at most %d, none, none, none, few",
				began, returned.Sub(searched), late, info.Left, info.Dead, info.Done, held)
		}
		if plain != 20 {
			t.Errorf("%d other jobs have run, want 20", plain)
		}
	})
}

// A paused queue does not hold up the end of a cancelled batch.
func TestACancelledBatchEndsOnAPausedQueue(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		queues := chime.NewQueues(s.store)
		s.enqueue(batch("x", members(3, chime.Queue("a"))))
		if err := queues.Pause(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		defer s.run()()
		if _, err := s.batches.Cancel(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(time.Minute)
		s.wantState("paused", "x", chime.BatchCancelled, 3, 0, 0, 0, 3)
		s.wantFollowed("paused", "ended of x: 0 done, 0 dead, 3 cancelled, cancelled")
	})
}

// An open batch is cancelled too. Whoever fills it is refused.
func TestAnOpenBatchIsCancelled(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		defer s.run()()
		_, err := s.enqueuer.EnqueueBatch(t.Context(), batch("x", func(yield func(chime.Item, error) bool) {
			for i := range 1500 {
				if i == 600 {
					if _, err := s.batches.Cancel(t.Context(), "x"); err != nil {
						t.Error(err)
					}
				}
				if !yield(named("member", chime.In(time.Hour)), nil) {
					return
				}
			}
		}))
		if !errors.Is(err, chime.ErrConflict) {
			t.Errorf("%v, want a conflict", err)
		}
		fixture.Pass(time.Minute)
		s.wantState("at the end", "x", chime.BatchCancelled, 500, 0, 0, 0, 500)
		s.wantFollowed("at the end", "ended of x: 0 done, 0 dead, 500 cancelled, cancelled")
	})
}

// Seal completes an open batch as it is.
func TestSealCompletesAnOpenBatch(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		if _, err := s.enqueuer.EnqueueBatch(t.Context(), batch("x", until(members(900), 700))); !errors.Is(err, errSource) {
			t.Fatal(err)
		}
		defer s.run()()
		fixture.Pass(10 * time.Second)
		s.wantState("open", "x", chime.BatchOpen, 700, 0, 700, 0, 0)
		for range 2 {
			if info, err := s.batches.Seal(t.Context(), "x"); err != nil || info.State == chime.BatchOpen || info.Items != 700 {
				t.Errorf("%+v, %v", info, err)
			}
		}
		fixture.Pass(time.Second)
		s.wantState("sealed", "x", chime.BatchDone, 700, 0, 700, 0, 0)
		s.wantFollowed("sealed", "done of x: 700 done, 0 dead, 0 cancelled, done", "ended of x: 700 done, 0 dead, 0 cancelled, done")
		if _, err := s.enqueuer.EnqueueBatch(t.Context(), batch("x", members(900))); !errors.Is(err, chime.ErrConflict) {
			t.Errorf("the creator comes back with more: %v", err)
		}
	})
}

// Only a batch that has ended is deleted. Its ID is free then, and its dead members remain.
func TestDeleteRemovesABatchThatHasEnded(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		s.enqueue(batch("x", sequence(named("member"), named("bad"), named("member", chime.In(time.Minute)))))
		if err := s.batches.Delete(t.Context(), "x"); !errors.Is(err, chime.ErrConflict) {
			t.Errorf("a batch that runs: %v", err)
		}
		defer s.run()()
		fixture.Pass(2 * time.Minute)
		if err := s.batches.Delete(t.Context(), "x"); err != nil {
			t.Error(err)
		}
		if err := s.batches.Delete(t.Context(), "x"); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("a second time: %v", err)
		}
		if n := s.queue("default").Dead; n != 1 {
			t.Errorf("%d dead members are left, want 1", n)
		}
		if n, err := s.jobs.Requeue(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobDead, Batch: "x"}, nil); err != nil || n.Changed != 1 {
			t.Errorf("requeued %+v, %v", n, err)
		}
		fixture.Pass(time.Minute)
		if receipt := s.enqueue(batch("x", members(1))); receipt.Repeated {
			t.Errorf("a new batch with the ID: %+v", receipt)
		}
		fixture.Pass(time.Minute)
		s.wantState("the new batch", "x", chime.BatchDone, 1, 0, 1, 0, 0)
	})
}

// A queue is not deleted while a batch with members on it has not ended.
func TestAQueueWithABatchThatRunsIsNotDeleted(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		queues := chime.NewQueues(s.store)
		s.enqueue(batch("x", sequence(named("member", chime.Queue("a")), named("member", chime.In(time.Hour)))))
		stop := s.run()
		fixture.Pass(10 * time.Second)
		stop()
		if err := queues.Delete(t.Context(), "a"); !errors.Is(err, chime.ErrConflict) {
			t.Errorf("while the batch runs: %v", err)
		}
		s.worker = s.newWorker(2)
		stop = s.run()
		fixture.Pass(2 * time.Hour)
		stop()
		fixture.Pass(10 * time.Minute)
		s.wantState("at the end", "x", chime.BatchDone, 2, 0, 2, 0, 0)
		if err := queues.Delete(t.Context(), "a"); err != nil {
			t.Errorf("after the end: %v", err)
		}
	})
}
