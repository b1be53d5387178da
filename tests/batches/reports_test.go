package batches_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/redisstore"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// These are reports on the batches of other systems: callbacks that were never called, called twice, or called early. Each test has the address of a report.

// Never: a member that had failed was deleted in the user interface, and the batch waited for it until it expired: sidekiq/sidekiq#2333, #3130.
func TestADeletedMemberDoesNotHoldUpTheEnd(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		for _, without := range []bool{false, true} {
			b := batch(fmt.Sprint("without ", without), sequence(named("member"), named("bad"), named("member", chime.In(time.Hour), chime.ID(fmt.Sprint("delayed ", without)))))
			b.DoneWithoutCancelled = without
			s.enqueue(b)
		}
		defer s.run()()
		fixture.Pass(10 * time.Second)
		for _, filter := range []chime.JobFilter{
			{Queue: "default", State: chime.JobDead},
			{Queue: "default", IDs: []string{"delayed false", "delayed true"}},
		} {
			if n, err := s.jobs.Delete(t.Context(), filter, nil); err != nil || n.Changed != 2 {
				t.Errorf("deleted %+v, %v", n, err)
			}
		}
		fixture.Pass(10 * time.Second)
		s.wantState("after the deletions", "without false", chime.BatchEnded, 3, 0, 1, 0, 2)
		s.wantState("after the deletions", "without true", chime.BatchDone, 3, 0, 1, 0, 2)
		s.wantFollowed("after the deletions", "ended of without false: 1 done, 0 dead, 2 cancelled, ended",
			"done of without true: 1 done, 0 dead, 2 cancelled, done", "ended of without true: 1 done, 0 dead, 2 cancelled, done")
	})
}

// Never: the queue was purged, and "batches whose jobs have been deleted" could not be removed: sidekiq/sidekiq#3130.
func TestAPurgedQueueDoesNotHoldUpTheEnd(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		s.enqueue(batch("x", sequence(named("member", chime.Queue("a")), named("member", chime.Queue("a"), chime.In(time.Hour)), named("member", chime.Queue("a"), chime.Group("g")), named("member"))))
		if n, err := chime.NewQueues(s.store).Purge(t.Context(), "a", "a", nil); err != nil || n.Changed != 3 {
			t.Fatalf("purged %+v, %v", n, err)
		}
		defer s.run()()
		fixture.Pass(time.Minute)
		s.wantState("after the purge", "x", chime.BatchEnded, 4, 0, 1, 0, 3)
		s.wantFollowed("after the purge", "ended of x: 1 done, 0 dead, 3 cancelled, ended")
	})
}

// Never: members expired before a server ran them, and the batch did not go away: HangfireIO/Hangfire#870.
func TestAnExpiredMemberDoesNotHoldUpTheEnd(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		s.enqueue(batch("x", sequence(named("member"), named("member", chime.Expire(time.Second)), named("nobody", chime.Expire(time.Minute)))))
		fixture.Pass(time.Hour) // no server runs
		defer s.run()()
		fixture.Pass(time.Minute)
		s.wantState("afterwards", "x", chime.BatchEnded, 3, 0, 1, 2, 0)
		s.wantFollowed("afterwards", "ended of x: 1 done, 2 dead, 0 cancelled, ended")
	})
}

// Never: a failed child was removed because the number kept is bounded, and its parent was not informed: taskforcesh/bullmq#1752.
func TestADeadMemberThatIsNotKeptDoesNotHoldUpTheEnd(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		s := newSite(f, redisstore.New(f.Server.Client(), redisstore.Options{MaxDead: 3, DeadRetention: time.Hour}))
		items := make([]chime.Item, 20)
		for i := range items {
			items[i] = named("bad")
		}
		s.enqueue(batch("x", sequence(append(items, named("member", chime.In(3*time.Hour)))...)))
		stop := fixture.Start(chime.NewScheduler(s.store, chime.SchedulerOptions{Logger: fixture.Quiet()})) // it sweeps
		end := s.run()
		fixture.Pass(4 * time.Hour)
		end()
		if err := stop(); err != nil {
			t.Error(err)
		}
		s.wantState("at the end", "x", chime.BatchEnded, 21, 0, 1, 20, 0)
		s.wantFollowed("at the end", "ended of x: 1 done, 20 dead, 0 cancelled, ended")
	})
}

// Never: a child failed for good, and its parent waited for it: taskforcesh/bullmq#3362, laravel/framework#39562.
func TestAMemberThatFailsForGoodEndsTheBatch(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		s.worker.Handle("panics", func(context.Context, *chime.Job) error { panic("no") })
		s.enqueue(batch("x", sequence(named("bad"), named("panics", chime.MaxAttempts(2)), named("member"))))
		defer s.run()()
		fixture.Pass(time.Minute)
		s.wantState("at the end", "x", chime.BatchEnded, 3, 0, 1, 2, 0)
		s.wantFollowed("at the end", "ended of x: 1 done, 2 dead, 0 cancelled, ended")
	})
}

// Never: a cancelled job called no callback: oban-bg/oban#799.
func TestACancelledMemberDoesNotHoldUpTheEnd(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		s.worker.Handle("waits", func(ctx context.Context, _ *chime.Job) error {
			<-ctx.Done()
			return ctx.Err()
		})
		s.enqueue(batch("x", sequence(named("waits", chime.ID("running")), named("member", chime.In(time.Hour), chime.ID("delayed")), named("member"))))
		defer s.run()()
		fixture.Pass(time.Second)
		s.Cancel("running")
		s.Cancel("delayed")
		fixture.Pass(10 * time.Second)
		s.wantState("afterwards", "x", chime.BatchEnded, 3, 0, 1, 0, 2)
		s.wantFollowed("afterwards", "ended of x: 1 done, 0 dead, 2 cancelled, ended")
	})
}

// Never: a process was killed while it ran a member, and the batch waited for that member: sidekiq/sidekiq#4607, #5143, #5802.
func TestAWorkerThatVanishesDoesNotHoldUpTheEnd(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		hooked := f.Hooked()
		s := newSite(f, hooked)
		var gone atomic.Bool
		s.worker.Handle("first", func(ctx context.Context, job *chime.Job) error {
			if job.Crashes == 0 {
				gone.Store(true)
				<-ctx.Done()
			}
			return ctx.Err()
		})
		hooked.SetFault(func(string, protocol.Partition) (before, after error) {
			if gone.Load() {
				return errors.New("killed"), nil
			}
			return nil, nil
		})
		s.enqueue(batch("x", sequence(named("first"), named("member"), named("member", chime.In(time.Second)))))
		stop := s.run()
		fixture.Pass(5 * time.Second)
		other := newSite(f, f.Server.Store()) // a process that lives
		other.worker.Handle("first", func(context.Context, *chime.Job) error { return nil })
		defer other.run()()
		fixture.Pass(5 * time.Minute)
		other.wantState("afterwards", "x", chime.BatchDone, 3, 0, 3, 0, 0)
		other.wantFollowed("afterwards", "done of x: 3 done, 0 dead, 0 cancelled, done", "ended of x: 3 done, 0 dead, 0 cancelled, done")
		hooked.SetFault(nil)
		stop()
	})
}

// Never: the record of the batch was removed by its age while a member was still retried: bensheldon/good_job#1387.
func TestABatchIsKeptAsLongAsItsMembers(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		retried := func(_ context.Context, job *chime.Job) error {
			if job.Attempt < 6 {
				return chime.RetryAfter(24*time.Hour, errors.New("not yet"))
			}
			return nil
		}
		s.worker.Handle("retried", retried)
		b := batch("x", sequence(named("retried", chime.MaxAttempts(100)), named("member")))
		b.Keep = time.Minute
		s.enqueue(b)
		for range 6 { // a worker runs for some minutes a day: that is enough to look after batches
			end := s.run()
			fixture.Pass(5 * time.Minute)
			end()
			s.worker = s.newWorker(10)
			s.worker.Handle("retried", retried)
			fixture.Pass(24 * time.Hour)
		}
		s.wantFollowed("after six days", "done of x: 2 done, 0 dead, 0 cancelled, done", "ended of x: 2 done, 0 dead, 0 cancelled, done")
	})
}

// Never: the success callback was not called after a member had failed for good and was retried by hand: bensheldon/good_job#1450, laravel/framework#38139. Twice: the
// other callback was.
func TestARequeuedMemberBringsDoneAndNoSecondEnded(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		repaired := false
		s.worker.Handle("flaky", func(context.Context, *chime.Job) error {
			if !repaired {
				return chime.Discard(errors.New("no"))
			}
			time.Sleep(5 * time.Second) // fake time
			return nil
		})
		s.enqueue(batch("x", sequence(named("flaky"), named("flaky"), named("member"))))
		defer s.run()()
		fixture.Pass(10 * time.Second)
		ended := "ended of x: 1 done, 2 dead, 0 cancelled, ended"
		s.wantFollowed("with dead members", ended)
		repaired = true
		dead := chime.JobFilter{Queue: "default", State: chime.JobDead, Batch: "x"}
		var ids []string
		for job, err := range s.jobs.List(t.Context(), dead) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, job.ID)
		}
		for i, id := range ids {
			if n, err := s.jobs.Requeue(t.Context(), chime.JobFilter{Queue: "default", IDs: []string{id}}, nil); err != nil || n.Changed != 1 {
				t.Errorf("requeued %+v, %v", n, err)
			}
			fixture.Pass(3 * time.Second)
			if i == 0 {
				s.wantState("requeued", "x", chime.BatchRunning, 3, 1, 1, 1, 0)
			}
			fixture.Pass(10 * time.Second)
			if i == 0 {
				s.wantFollowed("after the first", ended)
			}
		}
		s.wantState("at the end", "x", chime.BatchDone, 3, 0, 3, 0, 0)
		s.wantFollowed("at the end", ended, "done of x: 3 done, 0 dead, 0 cancelled, done")
	})
}

// Never: a batch without jobs called nothing: sidekiq/sidekiq#3050. TestABatchWithoutItemsEndsAtOnce is the case. Here all items existed already.
func TestABatchOfItemsThatAllExistedEndsAtOnce(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		if _, err := s.enqueuer.Enqueue(t.Context(), "member", nil, chime.ID("mine"), chime.In(time.Hour)); err != nil {
			t.Fatal(err)
		}
		s.enqueue(batch("x", members(3, chime.ID("mine"))))
		defer s.run()()
		fixture.Pass(time.Second)
		s.wantFollowed("at once", "done of x: 0 done, 0 dead, 0 cancelled, done", "ended of x: 0 done, 0 dead, 0 cancelled, done")
	})
}

// Never: the members ended before the enqueuing transaction did, and nobody looked again: rails/solid_queue#142.
func TestMembersThatEndBeforeTheBatchIsComplete(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		defer s.run()()
		for i := range 20 {
			s.enqueue(batch(fmt.Sprint("fast-", i), func(yield func(chime.Item, error) bool) {
				for range 501 {
					if !yield(named("member"), nil) {
						return
					}
				}
				fixture.Pass(time.Duration(i) * 100 * time.Millisecond)
			}))
		}
		fixture.Pass(5 * time.Second)
		if len(s.followed) != 40 {
			t.Errorf("%d jobs have followed 20 batches: %q", len(s.followed), s.followed)
		}
	})
}

// Twice: a callback that added a job to its batch was called again and again: laravel/framework#38804.
func TestDoneCannotGrowItsBatch(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		runs := 0
		s.worker.Handle("loops", func(ctx context.Context, job *chime.Job) error {
			s.locked(func() { runs++ })
			if _, err := s.enqueuer.Enqueue(ctx, "member", nil, chime.InBatch(job)); !errors.Is(err, &chime.InvalidError{Field: "InBatch"}) {
				t.Errorf("%v, want an error about InBatch", err)
			}
			return nil
		})
		s.enqueue(chime.Batch{ID: "x", Items: members(1), Done: named("loops")})
		defer s.run()()
		fixture.Pass(time.Minute)
		if runs != 1 || s.ran["member"] != 1 {
			t.Errorf("Done ran %d times, members %d times", runs, s.ran["member"])
		}
	})
}

// Twice, and then never: at a shutdown a member was counted as ended and given back, and the count went below zero: sidekiq/sidekiq#4361.
func TestAShutdownCountsNoMember(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		s.worker = chime.NewWorker(s.store, chime.WorkerOptions{DrainTimeout: time.Second, Concurrency: 4, Logger: fixture.Quiet()})
		s.worker.Handle("long", func(ctx context.Context, _ *chime.Job) error {
			<-ctx.Done()
			return ctx.Err()
		})
		s.enqueue(batch("x", sequence(named("long"), named("long"), named("member"))))
		stop := s.Start(s.worker)
		fixture.Pass(time.Second)
		if err := stop(); !errors.Is(err, chime.ErrDrainTimeout) {
			t.Errorf("%v, want handlers that were cut off", err)
		}
		fixture.Pass(time.Second)
		s.wantState("after the shutdown", "x", chime.BatchRunning, 3, 3, 0, 0, 0)
		s.worker = s.newWorker(10)
		s.worker.Handle("long", func(context.Context, *chime.Job) error { return nil })
		defer s.run()()
		fixture.Pass(10 * time.Second)
		s.wantFollowed("at the end", "done of x: 3 done, 0 dead, 0 cancelled, done", "ended of x: 3 done, 0 dead, 0 cancelled, done")
	})
}

// Early: a retry counted as an end: zoolutions/pgbus#424. A snooze, a timeout and a replacement are no ends either.
func TestARetryIsNoEnd(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		s.worker.Handle("retried", func(_ context.Context, job *chime.Job) error {
			if job.Attempt < 5 {
				return chime.RetryAfter(time.Minute, errors.New("not yet"))
			}
			return nil
		})
		snoozes := 0
		s.worker.Handle("snoozes", func(context.Context, *chime.Job) error {
			if snoozes++; snoozes < 5 {
				return chime.Snooze(time.Minute)
			}
			return nil
		})
		s.enqueue(batch("x", sequence(named("retried"), named("snoozes"), named("member"))))
		defer s.run()()
		for range 3 {
			fixture.Pass(time.Minute + 5*time.Second)
			s.wantState("meanwhile", "x", chime.BatchRunning, 3, 2, 1, 0, 0)
			s.wantFollowed("meanwhile")
		}
		fixture.Pass(5 * time.Minute)
		s.wantFollowed("at the end", "done of x: 3 done, 0 dead, 0 cancelled, done", "ended of x: 3 done, 0 dead, 0 cancelled, done")
	})
}

// Early: jobs that were added slowly came after the end: sidekiq/sidekiq#1085, breamware/sidekiq-batch#20, #41; TestABatchDoesNotEndBeforeItIsComplete is the case. Here
// a member adds others, and they end before it does: breamware/sidekiq-batch#50.
func TestAMemberThatGrowsTheBatchHoldsUpTheEnd(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		s.worker.Handle("spawner", func(ctx context.Context, job *chime.Job) error {
			for range 5 {
				if _, err := s.enqueuer.Enqueue(ctx, "member", nil, chime.InBatch(job)); err != nil {
					return err
				}
				time.Sleep(5 * time.Second) // fake time
				s.wantFollowed("meanwhile")
			}
			return nil
		})
		s.enqueue(batch("x", sequence(named("spawner"))))
		defer s.run()()
		fixture.Pass(time.Minute)
		s.wantFollowed("at the end", "done of x: 6 done, 0 dead, 0 cancelled, done", "ended of x: 6 done, 0 dead, 0 cancelled, done")
	})
}

// Early: what a queue reports comes late, after the others have reported that nothing is left, and so does what a follower in another queue adds. The worker's
// reports of queue a fail for a while.
func TestALateReportDoesNotEndABatchEarly(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		hooked := f.Hooked()
		s := newSite(f, hooked)
		until := time.Now().Add(30 * time.Second)
		hooked.SetFault(func(action string, p protocol.Partition) (before, after error) {
			if action == "report batches" && time.Now().Before(until) {
				return errors.New("not reached"), nil
			}
			return nil, nil
		})
		s.worker.Handle("slow", func(ctx context.Context, job *chime.Job) error {
			time.Sleep(40 * time.Second) // fake time
			s.wantFollowed("while a member runs")
			return nil
		})
		s.enqueue(batch("x", sequence(named("member", chime.Queue("a"), chime.OnDone(named("slow", chime.Queue("b"), chime.SameBatch()))), named("member"))))
		defer s.run()()
		fixture.Pass(5 * time.Minute)
		s.wantFollowed("at the end", "done of x: 3 done, 0 dead, 0 cancelled, done", "ended of x: 3 done, 0 dead, 0 cancelled, done")
	})
}
