package batches_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/chimejobs/chime/tests/internal/hookstore"
)

// Members add members, on any queue, alone and many at once; the batch ends after the last one.
func TestABatchGrowsWhileItRuns(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		s.worker.Handle("grows", func(ctx context.Context, job *chime.Job) error {
			var depth int
			if err := job.Decode(&depth); err != nil || depth == 0 {
				return err
			}
			items := []chime.Item{named("member", chime.InBatch(job), chime.Queue("a")), named("member", chime.InBatch(job), chime.Queue("b"), chime.In(time.Second)), named("member")}
			for range 2 {
				items = append(items, chime.Item{Name: "grows", Args: depth - 1, Options: []chime.EnqueueOption{chime.InBatch(job)}})
			}
			receipts, err := s.enqueuer.EnqueueMany(ctx, items)
			if err != nil || len(receipts) != 5 || receipts[0].ID == "" || receipts[4].ID == "" {
				t.Errorf("%+v, %v", receipts, err)
			}
			_, err = s.enqueuer.Enqueue(ctx, "member", nil, chime.InBatch(job))
			return err
		})
		s.enqueue(batch("tree", sequence(chime.Item{Name: "grows", Args: 4})))
		defer s.run()()
		fixture.Pass(30 * time.Second)
		const nodes, inner = 31, 15
		s.wantState("at the end", "tree", chime.BatchDone, nodes+3*inner, 0, nodes+3*inner, 0, 0)
		if s.ran["member"] != 4*inner {
			t.Errorf("%d members and others ran", s.ran["member"])
		}
		line := fmt.Sprintf("%d done, 0 dead, 0 cancelled, done", nodes+3*inner)
		s.wantFollowed("at the end", "done of tree: "+line, "ended of tree: "+line)
	})
}

// A job that belongs to no batch, and one that follows a batch, cannot grow one.
func TestOnlyAMemberGrowsABatch(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		var errs []error
		grow := func(ctx context.Context, job *chime.Job) error {
			_, err := s.enqueuer.Enqueue(ctx, "member", nil, chime.InBatch(job))
			s.locked(func() { errs = append(errs, err) })
			return nil
		}
		s.worker.Handle("plain", grow)
		s.worker.Handle("after", grow)
		s.enqueue(chime.Batch{ID: "x", Items: members(1), Done: named("after"), Ended: named("plain")})
		if _, err := s.enqueuer.Enqueue(t.Context(), "plain", nil); err != nil {
			t.Fatal(err)
		}
		_, err := s.enqueuer.Enqueue(t.Context(), "member", nil, chime.InBatch(nil))
		errs = append(errs, err)
		_, err = s.enqueuer.Enqueue(t.Context(), "member", nil, chime.InBatch(&chime.Job{ID: "i", Batch: "x"}), chime.ID("i"), chime.Replace())
		errs = append(errs, err)
		_, err = s.enqueuer.Enqueue(t.Context(), "member", nil, chime.InBatch(&chime.Job{ID: "i", Batch: "unknown"}))
		if errs = append(errs, err); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("an unknown batch: %v", err)
		}
		defer s.run()()
		fixture.Pass(10 * time.Second)
		_, err = s.enqueuer.Enqueue(t.Context(), "member", nil, chime.InBatch(&chime.Job{ID: "i", Batch: "x"}))
		if errs = append(errs, err); !errors.Is(err, chime.ErrConflict) {
			t.Errorf("a batch that has ended: %v", err)
		}
		if len(errs) != 7 {
			t.Errorf("%d calls, want 7", len(errs))
		}
		for _, err := range errs {
			if !errors.Is(err, &chime.InvalidError{Field: "InBatch"}) {
				t.Errorf("%v, want an error about InBatch", err)
			}
		}
		s.wantState("at the end", "x", chime.BatchDone, 1, 0, 1, 0, 0)
	})
}

// A follower with SameBatch is a member from the end of the job before it on, in the same queue and in another one, after success and after death. One
// without it belongs to no batch.
func TestAFollowerIsAMemberOfTheSameBatch(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		of := map[string]string{}
		for _, name := range []string{"here", "there", "sorry", "apart"} {
			s.worker.Handle(name, func(_ context.Context, job *chime.Job) error {
				time.Sleep(2 * time.Second) // fake time
				s.locked(func() { of[name] = job.Batch })
				return nil
			})
		}
		s.enqueue(batch("x", sequence(
			named("member", chime.OnDone(named("here", chime.SameBatch(), chime.OnDone(named("there", chime.SameBatch(), chime.Queue("b"), chime.In(time.Minute)))))),
			named("bad", chime.OnDeath(named("sorry", chime.SameBatch())), chime.OnDone(named("never", chime.SameBatch()))),
			named("member", chime.OnDone(named("apart", chime.In(time.Hour)))),
		)))
		if _, err := s.enqueuer.Enqueue(t.Context(), "member", nil, chime.ID("plain"), chime.OnDone(named("member", chime.SameBatch()))); err != nil {
			t.Fatal(err)
		}
		defer s.run()()
		fixture.Pass(10 * time.Second)
		s.wantState("before the delayed follower", "x", chime.BatchRunning, 6, 1, 4, 1, 0)
		s.wantFollowed("before the delayed follower")
		fixture.Pass(time.Minute)
		s.wantState("at the end", "x", chime.BatchEnded, 6, 0, 5, 1, 0)
		s.wantFollowed("at the end", "ended of x: 5 done, 1 dead, 0 cancelled, ended")
		fixture.Pass(time.Hour)
		if want := map[string]string{"here": "x", "there": "x", "sorry": "x", "apart": ""}; fmt.Sprint(of) != fmt.Sprint(want) {
			t.Errorf("the followers had the batches %v, want %v", of, want)
		}
		if s.ran["member"] != 4 {
			t.Errorf("%d members and others ran, want 4", s.ran["member"])
		}
	})
}

// SameBatch is an option of followers only.
func TestSameBatchIsRefusedElsewhere(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		if _, err := s.enqueuer.Enqueue(t.Context(), "member", nil, chime.SameBatch()); !errors.Is(err, &chime.InvalidError{Field: "SameBatch"}) {
			t.Errorf("Enqueue: %v", err)
		}
		if _, err := s.enqueuer.EnqueueMany(t.Context(), []chime.Item{named("member", chime.SameBatch())}); !errors.Is(err, &chime.InvalidError{Field: "SameBatch"}) {
			t.Errorf("EnqueueMany: %v", err)
		}
	})
}

// A growth whose answer is lost is repeated, and adds its jobs once.
func TestAGrowthWithALostAnswerAddsItsJobOnce(t *testing.T) {
	for _, lost := range []string{"grow batch", "fill batch", "report batches"} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			hooked := f.Hooked()
			s := newSite(f, hooked)
			s.worker.Handle("grows", func(ctx context.Context, job *chime.Job) error {
				calls := 0
				hooked.SetFault(func(action string, _ protocol.Partition) (before, after error) {
					if action == lost {
						if calls++; calls == 1 {
							return nil, hookstore.ErrReset
						}
					}
					return nil, nil
				})
				_, err := s.enqueuer.Enqueue(ctx, "member", nil, chime.InBatch(job))
				return err
			})
			s.enqueue(batch("x", sequence(named("grows"))))
			defer s.run()()
			fixture.Pass(time.Minute)
			if s.ran["member"] != 1 {
				t.Errorf("%s: %d members were added", lost, s.ran["member"])
			}
			s.wantFollowed(lost, "done of x: 2 done, 0 dead, 0 cancelled, done", "ended of x: 2 done, 0 dead, 0 cancelled, done")
		})
	}
}

// A growth of which nothing but the note at home was made holds the batch up only for a while.
func TestAGrowthThatWasOnlyNotedDoesNotHoldUpTheEnd(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		hooked := f.Hooked()
		s := newSite(f, hooked)
		e := chime.NewEnqueuer(s.store, chime.EnqueuerOptions{Logger: fixture.Quiet(), SendTimeout: time.Second})
		s.worker.Handle("grows", func(ctx context.Context, job *chime.Job) error {
			hooked.SetFault(func(action string, _ protocol.Partition) (before, after error) {
				if action == "fill batch" {
					return hookstore.ErrReset, nil
				}
				return nil, nil
			})
			if _, err := e.Enqueue(ctx, "member", nil, chime.InBatch(job)); !errors.Is(err, hookstore.ErrReset) {
				t.Errorf("%v, want a lost call", err)
			}
			hooked.SetFault(nil)
			return nil
		})
		s.enqueue(batch("x", sequence(named("grows"))))
		defer s.run()()
		fixture.Pass(10 * time.Minute)
		s.wantFollowed("in the end", "done of x: 1 done, 0 dead, 0 cancelled, done", "ended of x: 1 done, 0 dead, 0 cancelled, done")
	})
}

// Replace keeps a member in its batch, whatever state it is in.
func TestReplaceKeepsAMember(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		s.worker.Handle("slow", func(context.Context, *chime.Job) error {
			time.Sleep(10 * time.Second) // fake time
			return nil
		})
		s.enqueue(batch("x", sequence(named("member", chime.ID("delayed"), chime.In(time.Hour)), named("slow", chime.ID("running")), named("bad", chime.ID("dead")))))
		stop := s.run()
		defer func() { stop() }()
		fixture.Pass(time.Second)
		for _, id := range []string{"delayed", "running", "dead"} {
			if receipt, err := s.enqueuer.Enqueue(t.Context(), "member", nil, chime.ID(id), chime.Replace(), chime.In(30*time.Second)); err != nil || !receipt.Replaced {
				t.Errorf("%s: %+v, %v", id, receipt, err)
			}
		}
		fixture.Pass(20 * time.Second)
		s.wantState("replaced", "x", chime.BatchRunning, 3, 3, 0, 0, 0)
		fixture.Pass(time.Minute)
		s.wantState("at the end", "x", chime.BatchDone, 3, 0, 3, 0, 0)
		s.wantFollowed("at the end", "done of x: 3 done, 0 dead, 0 cancelled, done", "ended of x: 3 done, 0 dead, 0 cancelled, done")
	})
}

// Of the members that a call adds, those of a full group are refused. All others are added once.
func TestAGrowthAddsOnceWhatIsNotRefused(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		if _, err := s.enqueuer.Enqueue(t.Context(), "done", nil, chime.Queue("a"), chime.In(24*time.Hour)); err != nil { // the queue exists
			t.Fatal(err)
		}
		if err := chime.NewQueues(s.store).SetGroup(t.Context(), "a", "full", chime.GroupRule{Waiting: 1}); err != nil {
			t.Fatal(err)
		}
		s.worker.Handle("grows", func(ctx context.Context, job *chime.Job) error {
			items := make([]chime.Item, 6)
			for i := range items {
				items[i] = named("member", chime.InBatch(job), chime.Queue("a"))
				if i%2 == 0 {
					items[i].Options = append(items[i].Options, chime.Group("full"))
				}
			}
			receipts, err := s.enqueuer.EnqueueMany(ctx, items)
			if !errors.Is(err, chime.ErrGroupFull) {
				t.Errorf("%v, want a full group", err)
			}
			for i, receipt := range receipts {
				if want := i == 2 || i == 4; receipt.Full != want || receipt.Existing {
					t.Errorf("item %d: %+v, want full %v", i, receipt, want)
				}
			}
			return nil
		})
		s.enqueue(batch("x", sequence(named("grows"))))
		defer s.run()()
		fixture.Pass(time.Minute)
		if s.ran["member"] != 4 {
			t.Errorf("members ran %d times, want 4", s.ran["member"])
		}
		s.wantFollowed("at the end", "done of x: 5 done, 0 dead, 0 cancelled, done", "ended of x: 5 done, 0 dead, 0 cancelled, done")
	})
}

// A call that adds members has failed, and is repeated with their IDs when those that it has added are done: each runs once.
func TestARepeatedGrowthRunsNothingTwice(t *testing.T) {
	const many = 700 // more than one call of the store
	for name, of := range map[string]struct {
		fault    func(n int, p protocol.Partition) (before, after error) // of the n-th call that adds members, or of one to the queue b
		n        int
		apart    bool // the repeated calls have one job each
		ordinary bool // the last job is no member, and on the queue b
		added    int  // members that the first call has added
	}{
		"no reply to the second call": {n: many, added: many, fault: func(n int, _ protocol.Partition) (before, after error) {
			if n > 1 {
				after = hookstore.ErrReset
			}
			return nil, after
		}},
		"the second call does not arrive": {n: many, added: protocol.MaxItems, fault: func(n int, _ protocol.Partition) (before, after error) {
			if n > 1 {
				before = hookstore.ErrReset
			}
			return before, nil
		}},
		"no reply, and the jobs are repeated one by one": {n: 5, added: 5, apart: true, fault: func(int, protocol.Partition) (before, after error) {
			return nil, hookstore.ErrReset
		}},
		"an ordinary job was refused": {n: 5, added: 5, ordinary: true, fault: func(_ int, p protocol.Partition) (before, after error) {
			if p.Queue == "b" {
				before = protocol.ErrStoreFull
			}
			return before, nil
		}},
	} {
		for _, wait := range []time.Duration{10 * time.Second, 10 * time.Minute} { // after a minute the home of the batch asks for a growth that was noted
			t.Run(fmt.Sprint(name, " ", wait), func(t *testing.T) {
				fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
					hooked, runs := f.Hooked(), fixture.Runs{}
					s := newSite(f, hooked)
					s.worker.Handle("once", func(_ context.Context, job *chime.Job) error { runs.Add(job.ID); return nil })
					e := chime.NewEnqueuer(s.store, chime.EnqueuerOptions{Logger: fixture.Quiet(), SendTimeout: time.Second})
					s.worker.Handle("grows", func(ctx context.Context, job *chime.Job) error {
						items := make([]chime.Item, of.n)
						for i := range items {
							items[i] = named("once", chime.InBatch(job))
						}
						if of.ordinary {
							items = append(items, named("once", chime.Queue("b")))
						}
						n := 0
						hooked.SetFault(func(action string, p protocol.Partition) (before, after error) {
							switch action {
							case "fill batch":
								n++
							case "enqueue":
							default:
								return nil, nil
							}
							return of.fault(n, p)
						})
						receipts, err := e.EnqueueMany(ctx, items)
						if err == nil {
							t.Error("the first call has succeeded")
						}
						hooked.SetFault(nil)
						fixture.Pass(wait)
						if len(runs.IDs()) != of.added {
							t.Errorf("%d jobs ran after the first call, want %d", len(runs.IDs()), of.added)
						}
						existing := 0
						for i, receipt := range receipts {
							items[i].Options = append(items[i].Options, chime.ID(receipt.ID))
						}
						for len(items) > 0 {
							n := len(items)
							if of.apart {
								n = 1
							}
							again, err := e.EnqueueMany(ctx, items[:n])
							if err != nil {
								t.Errorf("repeated: %v", err)
							}
							for _, receipt := range again {
								if receipt.Existing {
									existing++
								}
							}
							items = items[n:]
						}
						if existing != of.added {
							t.Errorf("%d exist, want %d", existing, of.added)
						}
						return nil
					}, chime.Timeout(time.Hour))
					s.enqueue(batch("x", sequence(named("grows"))))
					defer s.run()()
					fixture.Pass(wait + 5*time.Minute)
					want := of.n
					if of.ordinary {
						want++
					}
					for _, id := range runs.IDs() {
						if runs.Of(id) != 1 {
							t.Errorf("%s ran %d times", id, runs.Of(id))
							break
						}
					}
					if len(runs.IDs()) != want {
						t.Errorf("%d jobs ran, want %d", len(runs.IDs()), want)
					}
					line := fmt.Sprintf("%d done, 0 dead, 0 cancelled, done", of.n+1)
					s.wantFollowed("at the end", "done of x: "+line, "ended of x: "+line)
				})
			})
		}
	}
}
