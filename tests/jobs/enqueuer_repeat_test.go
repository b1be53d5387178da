package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/chimejobs/chime/tests/internal/hookstore"
)

// A call that failed although the store has, or may have, its jobs is repeated with ID(receipt.ID) when the jobs are done. Each job runs
// exactly once.
func TestARepeatedCallRunsNothingTwice(t *testing.T) {
	const runsOnce, lag = 1, 700 * time.Millisecond
	once := func(f *fixture.Fixture, e *chime.Enqueuer, ctx context.Context, options ...chime.EnqueueOption) []chime.Receipt {
		receipt, err := e.Enqueue(ctx, "a", nil, options...)
		if err == nil {
			f.T.Error("the first call has succeeded")
		}
		return []chime.Receipt{receipt}
	}
	lost := func(store *sendStore, until *atomic.Bool) {
		store.fail(func(int, *protocol.EnqueueCall) (before, after error) {
			if until.Load() {
				return nil, nil
			}
			return nil, hookstore.ErrReset
		})
	}
	for name, first := range map[string]func(f *fixture.Fixture, store *sendStore, e *chime.Enqueuer) []chime.Receipt{
		"the ctx ended before the answer": func(f *fixture.Fixture, store *sendStore, e *chime.Enqueuer) []chime.Receipt {
			store.Lag = lag
			ctx, cancel := context.WithTimeout(f.T.Context(), lag/2)
			defer cancel()
			return once(f, e, ctx)
		},
		"the ctx ended before the answer, with an own ID": func(f *fixture.Fixture, store *sendStore, e *chime.Enqueuer) []chime.Receipt {
			store.Lag = lag
			ctx, cancel := context.WithTimeout(f.T.Context(), lag/2)
			defer cancel()
			return once(f, e, ctx, chime.ID("mine"))
		},
		"all replies were lost": func(f *fixture.Fixture, store *sendStore, e *chime.Enqueuer) []chime.Receipt {
			var back atomic.Bool
			lost(store, &back)
			defer back.Store(true)
			return once(f, e, f.T.Context())
		},
		"all replies were lost, and the arguments make the ID": func(f *fixture.Fixture, store *sendStore, e *chime.Enqueuer) []chime.Receipt {
			var back atomic.Bool
			lost(store, &back)
			defer back.Store(true)
			return once(f, e, f.T.Context(), chime.ArgsID())
		},
		"all replies were lost, and the job belongs to a group": func(f *fixture.Fixture, store *sendStore, e *chime.Enqueuer) []chime.Receipt {
			var back atomic.Bool
			lost(store, &back)
			defer back.Store(true)
			return once(f, e, f.T.Context(), chime.Group("g"))
		},
		"the ctx ended during lost replies": func(f *fixture.Fixture, store *sendStore, e *chime.Enqueuer) []chime.Receipt {
			var back atomic.Bool
			lost(store, &back)
			ctx, cancel := context.WithTimeout(f.T.Context(), lag)
			defer cancel()
			defer back.Store(true)
			return once(f, e, ctx)
		},
		"some items of many could not be sent": func(f *fixture.Fixture, store *sendStore, e *chime.Enqueuer) []chime.Receipt {
			store.fail(func(n int, _ *protocol.EnqueueCall) (before, after error) {
				if n > 1 {
					return protocol.ErrStoreFull, nil
				}
				return nil, nil
			})
			defer store.fail(nil)
			receipts, err := e.EnqueueMany(f.T.Context(), manyItems(700))
			if !errors.Is(err, protocol.ErrStoreFull) {
				f.T.Errorf("got %v, want ErrStoreFull", err)
			}
			return receipts
		},
		"the ctx ended in the second call for many": func(f *fixture.Fixture, store *sendStore, e *chime.Enqueuer) []chime.Receipt {
			store.Lag = lag
			ctx, cancel := context.WithTimeout(f.T.Context(), lag*3/2)
			defer cancel()
			receipts, err := e.EnqueueMany(ctx, manyItems(1200))
			if !errors.Is(err, context.DeadlineExceeded) {
				f.T.Errorf("got %v, want the deadline", err)
			}
			return receipts
		},
		"one queue of two failed": func(f *fixture.Fixture, store *sendStore, e *chime.Enqueuer) []chime.Receipt {
			store.fail(func(_ int, call *protocol.EnqueueCall) (before, after error) {
				if call.Partition.Queue == "other" {
					return protocol.ErrStoreFull, nil
				}
				return nil, nil
			})
			defer store.fail(nil)
			receipts, err := e.EnqueueMany(f.T.Context(), append(manyItems(10, chime.Queue("other")), manyItems(10)...))
			if err == nil {
				f.T.Error("the first call has succeeded")
			}
			return receipts
		},
	} {
		t.Run(name, func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				store := newSendStore(f, 1)
				runs := fixture.Runs{}
				worker := f.Worker(chime.WorkerOptions{Queues: map[string]int{"default": 1, "other": 1}})
				for _, name := range []string{"a", "report"} {
					worker.Handle(name, func(_ context.Context, job *chime.Job) error { runs.Add(job.ID); return nil })
				}
				defer f.Start(worker)()
				e := quietEnqueuer(store, chime.EnqueuerOptions{SendTimeout: time.Second})
				receipts := first(f, store, e)
				fixture.Pass(10 * time.Second) // what was sent is done
				store.Lag = 0
				before := len(runs.IDs())
				items := make([]chime.Item, len(receipts))
				for i, receipt := range receipts {
					items[i] = chime.Item{Name: "a", Options: []chime.EnqueueOption{chime.ID(receipt.ID), chime.Queue(receipt.Queue)}}
				}
				again, err := e.EnqueueMany(t.Context(), items)
				if err != nil {
					t.Fatal(err)
				}
				existing := 0
				for _, receipt := range again {
					if receipt.Existing {
						existing++
					}
					if receipt.State != "" {
						t.Errorf("state %q, want none: it is done", receipt.State)
					}
				}
				if existing != before {
					t.Errorf("%d receipts have Existing, want %d", existing, before)
				}
				fixture.Pass(10 * time.Second)
				for _, receipt := range receipts {
					if n := runs.Of(receipt.ID); n != runsOnce {
						t.Errorf("%s ran %d times (%d of %d ran before the repetition)", receipt.ID, n, before, len(receipts))
						break
					}
				}
			})
		})
	}
}

// A call whose outcome is unknown has jobs of a full group. The jobs that it has added have ended when the call is repeated, and are not added again. Those that it
// has refused are added now.
func TestARepeatedCallAddsWhatTheFirstHasRefused(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 1)
		if err := chime.NewQueues(store).SetGroup(t.Context(), "default", "full", chime.GroupRule{Waiting: 2}); err != nil {
			t.Fatal(err)
		}
		runs := fixture.Runs{}
		e := quietEnqueuer(store, chime.EnqueuerOptions{SendTimeout: time.Second})
		items := []chime.Item{{Name: "a"}}
		for _, group := range []string{"full", "other", "full", "full", "other"} {
			items = append(items, chime.Item{Name: "a", Options: []chime.EnqueueOption{chime.Group(group)}})
		}
		const added, refused = 5, 4 // the refused one is items[4]
		store.fail(func(int, *protocol.EnqueueCall) (before, after error) { return nil, hookstore.ErrReset })
		receipts, err := e.EnqueueMany(t.Context(), items)
		if err == nil {
			t.Fatal("the first call has succeeded")
		}
		store.fail(nil)
		worker := f.Worker(chime.WorkerOptions{})
		worker.Handle("a", func(_ context.Context, job *chime.Job) error { runs.Add(job.ID); return nil })
		defer f.Start(worker)()
		fixture.Pass(10 * time.Minute) // longer than any copy of the call may take
		if n := len(runs.IDs()); n != added || runs.Of(receipts[refused].ID) != 0 {
			t.Fatalf("%d jobs ran after the first call, want all but one", n)
		}
		for i, receipt := range receipts {
			items[i].Options = append(items[i].Options, chime.ID(receipt.ID))
		}
		again, err := e.EnqueueMany(t.Context(), items)
		if err != nil {
			t.Fatal(err)
		}
		fixture.Pass(10 * time.Second)
		for i, receipt := range again {
			if n := runs.Of(receipt.ID); n != 1 || receipt.Existing != (i != refused) {
				t.Errorf("job %d: %+v, and it ran %d times; want once", i, receipt, n)
			}
		}
	})
}

// The reply to a Trigger of a schedule with MaxUnfinished is lost, and the run ends before the call is repeated with its ID: it does not run again.
func TestARepeatedTriggerWithAMaximumRunsOnce(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 1)
		schedules := chime.NewSchedules(store)
		if _, err := schedules.Put(t.Context(), "s", recurrence.Recurrence{Cron: "@yearly"}, chime.JobName("a"), chime.NoImmediateRun(), chime.MaxUnfinished(2)); err != nil {
			t.Fatal(err)
		}
		runs := fixture.Runs{}
		worker := f.Worker(chime.WorkerOptions{})
		worker.Handle("a", func(_ context.Context, job *chime.Job) error { runs.Add(job.ID); return nil })
		defer f.Start(worker)()
		store.fail(func(int, *protocol.EnqueueCall) (before, after error) { return nil, hookstore.ErrReset })
		receipt, err := schedules.Trigger(t.Context(), "s")
		if err == nil {
			t.Fatal("the first call has succeeded")
		}
		store.fail(nil)
		fixture.Pass(10 * time.Minute)
		again, err := schedules.Trigger(t.Context(), "s", chime.ID(receipt.ID))
		fixture.Pass(10 * time.Second)
		if n := runs.Of(receipt.ID); err != nil || !again.Existing || n != 1 {
			t.Errorf("repeated: %+v, %v; it ran %d times, want once", again, err, n)
		}
	})
}

// An enqueuer forgets a queue that it has not used for half an hour, and uses it again under a new caller's name. The unknown call was made under
// the old one.
func TestACallOfAForgottenQueueIsRepeatedSafely(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 1)
		runs := fixture.Runs{}
		worker := f.Worker(chime.WorkerOptions{})
		worker.Handle("a", func(_ context.Context, job *chime.Job) error { runs.Add(job.ID); return nil })
		defer f.Start(worker)()
		e := quietEnqueuer(store, chime.EnqueuerOptions{SendTimeout: time.Second})
		enqueue := func(queue string, options ...chime.EnqueueOption) (chime.Receipt, error) {
			return e.Enqueue(t.Context(), "a", nil, append(options, chime.Queue(queue))...)
		}
		if _, err := enqueue("other"); err != nil { // a period begins
			t.Fatal(err)
		}
		fixture.Pass(29 * time.Minute)
		store.fail(func(int, *protocol.EnqueueCall) (before, after error) { return nil, hookstore.ErrReset })
		receipt, err := enqueue("default")
		if err == nil {
			t.Fatal("the first call has succeeded")
		}
		store.fail(nil)
		for i, wait := range []time.Duration{2 * time.Minute, 31 * time.Minute} { // until the next period, and the one after it
			fixture.Pass(wait)
			if _, err := enqueue(fmt.Sprint("new", i)); err != nil {
				t.Fatal(err)
			}
		}
		again, err := enqueue("default", chime.ID(receipt.ID))
		fixture.Pass(time.Second)
		if err != nil || !again.Existing || runs.Of(receipt.ID) != 1 {
			t.Errorf("repeated: %+v, %v; it ran %d times, want once: the first call was carried out", again, err, runs.Of(receipt.ID))
		}
	})
}

// A call that may still arrive is sealed before anything else is sent. After that it is known that the call was not carried out, and will not be.
func TestACallThatDidNotArriveIsSentWhenItIsRepeated(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 1)
		e := quietEnqueuer(store, chime.EnqueuerOptions{SendTimeout: time.Second})
		var lost protocol.EnqueueCall
		for range 3 { // as the first call of the enqueuer, and as a later one
			store.fail(func(_ int, call *protocol.EnqueueCall) (before, after error) {
				lost = *call
				lost.Items = append([]protocol.EnqueueItem(nil), call.Items...)
				return hookstore.ErrReset, nil
			})
			receipt, err := e.Enqueue(t.Context(), "a", nil)
			if err == nil {
				t.Fatal("the first call has succeeded")
			}
			store.fail(nil)
			n := store.waiting()
			again, err := e.Enqueue(t.Context(), "a", nil, chime.ID(receipt.ID))
			if err != nil || again.Existing || store.waiting() != n+1 {
				t.Errorf("repeated: %+v, %v; %d jobs, want %d", again, err, store.waiting(), n+1)
			}
			if late := store.Store.Store.Enqueue(t.Context(), []protocol.EnqueueCall{lost}); late[0].Err == nil || store.waiting() != n+1 {
				t.Errorf("the late call: %v; %d jobs, want an error and %d jobs", late[0].Err, store.waiting(), n+1)
			}
		}
	})
}

// The seal is lost too, any number of times, before or after it was carried out: its answer does not change.
func TestASealWhoseReplyIsLostIsRepeated(t *testing.T) {
	for _, carriedOut := range []bool{true, false} {
		t.Run(fmt.Sprint("carried out: ", carriedOut), func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				store := newSendStore(f, 1)
				e := quietEnqueuer(store, chime.EnqueuerOptions{SendTimeout: time.Second})
				if _, err := e.Enqueue(t.Context(), "a", nil); err != nil {
					t.Fatal(err)
				}
				store.fail(func(int, *protocol.EnqueueCall) (before, after error) {
					if carriedOut {
						return nil, hookstore.ErrReset
					}
					return hookstore.ErrReset, nil
				})
				receipt, err := e.Enqueue(t.Context(), "a", nil)
				if err == nil {
					t.Fatal("the first call has succeeded")
				}
				store.fail(nil)
				seals := 0
				store.SetFault(func(action string, _ protocol.Partition) (before, after error) {
					if action == "seal" {
						if seals++; seals < 12 {
							return nil, hookstore.ErrReset
						}
					}
					return nil, nil
				})
				n := 2
				for tries := 1; ; tries++ {
					again, err := e.Enqueue(t.Context(), "a", nil, chime.ID(receipt.ID))
					if err == nil {
						if again.Existing != carriedOut {
							t.Errorf("existing: %v, want %v", again.Existing, carriedOut)
						}
						if tries < 2 {
							t.Error("no call has ended while the seal was lost")
						}
						break
					}
					if tries == 20 {
						t.Fatal(err)
					}
				}
				if store.waiting() != n {
					t.Errorf("%d jobs, want %d", store.waiting(), n)
				}
			})
		})
	}
}

// An ID of the application's own that was repeated may be used for another job afterwards.
func TestAnOwnIDIsAnsweredOnceFromMemory(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 1)
		runs := fixture.Runs{}
		worker := f.Worker(chime.WorkerOptions{})
		worker.Handle("a", func(_ context.Context, job *chime.Job) error { runs.Add(job.ID); return nil })
		defer f.Start(worker)()
		e := quietEnqueuer(store, chime.EnqueuerOptions{SendTimeout: time.Second})
		store.Lag = time.Second
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if _, err := e.Enqueue(ctx, "a", nil, chime.ID("x")); err == nil {
			t.Fatal("the first call has succeeded")
		}
		fixture.Pass(5 * time.Second)
		store.Lag = 0
		for i, want := range []bool{true, false, false} {
			receipt, err := e.Enqueue(t.Context(), "a", nil, chime.ID("x"))
			if err != nil || receipt.Existing != want {
				t.Errorf("call %d: %+v, %v; want existing: %v", i, receipt, err, want)
			}
			fixture.Pass(5 * time.Second)
		}
		if runs.Of("x") != 3 {
			t.Errorf("it ran %d times, want 3", runs.Of("x"))
		}
	})
}

// The answer comes at the same moment as the end of the ctx. The caller may see either of them, and the job runs once.
func TestAnAnswerThatComesAsTheCtxEndsIsNotLost(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 1)
		e := quietEnqueuer(store, chime.EnqueuerOptions{SendTimeout: time.Second})
		store.Lag = 50 * time.Millisecond
		for i := range 50 {
			ctx, cancel := context.WithTimeout(t.Context(), store.Lag)
			receipt, err := e.Enqueue(ctx, "a", nil)
			cancel()
			if err != nil {
				again, err := e.Enqueue(t.Context(), "a", nil, chime.ID(receipt.ID))
				if err != nil || !again.Existing {
					t.Errorf("repeated: %+v, %v", again, err)
				}
			}
			synctest.Wait()
			if store.waiting() != i+1 {
				t.Fatalf("%d jobs, want %d", store.waiting(), i+1)
			}
		}
	})
}

// A job that this process cancels or deletes can be enqueued again, also if the outcome of its first call was unknown to the caller.
func TestARemovedJobIsNotAnsweredFromMemory(t *testing.T) {
	for name, remove := range map[string]func(*chime.Jobs, context.Context) error{
		"cancelled": func(j *chime.Jobs, ctx context.Context) error {
			_, err := j.Cancel(ctx, "default", "mine")
			return err
		},
		"deleted": func(j *chime.Jobs, ctx context.Context) error {
			result, err := j.Delete(ctx, chime.JobFilter{Queue: "default", IDs: []string{"mine"}}, nil)
			if err == nil && result.Changed != 1 {
				err = fmt.Errorf("%+v", result)
			}
			return err
		},
	} {
		for _, known := range []bool{true, false} { // the answer came after the caller had left; it never came
			t.Run(fmt.Sprint(name, " ", known), func(t *testing.T) {
				fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
					store := newSendStore(f, 1)
					e := quietEnqueuer(store, chime.EnqueuerOptions{SendTimeout: time.Second})
					ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
					defer cancel()
					store.Lag = 300 * time.Millisecond
					if !known {
						ctx = t.Context()
						store.fail(func(int, *protocol.EnqueueCall) (before, after error) { return nil, hookstore.ErrReset })
					}
					if _, err := e.Enqueue(ctx, "a", nil, chime.ID("mine")); err == nil {
						t.Fatal("the first call has succeeded")
					}
					fixture.Pass(10 * time.Second)
					store.Lag = 0
					store.fail(nil)
					if err := remove(chime.NewJobs(store), t.Context()); err != nil {
						t.Fatal(err)
					}
					again, err := e.Enqueue(t.Context(), "a", nil, chime.ID("mine"))
					if err != nil || again.Existing {
						t.Errorf("the next job with the ID: %+v, %v; want it added", again, err)
					}
					if job, err := chime.NewJobs(store).Get(t.Context(), "default", "mine"); err != nil || job.State != chime.JobWaiting {
						t.Errorf("the job is %+v, %v; want it waiting", job, err)
					}
				})
			})
		}
	}
}
