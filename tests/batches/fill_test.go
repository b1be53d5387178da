package batches_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/chimejobs/chime/tests/internal/hookstore"
)

var errSource = errors.New("the file is broken")

// until yields the items of a sequence up to a position, and then an error.
func until(items iter.Seq2[chime.Item, error], n int) iter.Seq2[chime.Item, error] {
	return func(yield func(chime.Item, error) bool) {
		i := 0
		for item, err := range items {
			if i++; i > n {
				yield(chime.Item{}, errSource)
				return
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

// spread yields n members on two queues, some with IDs of their own.
func spread(n int) iter.Seq2[chime.Item, error] {
	return func(yield func(chime.Item, error) bool) {
		for i := range n {
			options := []chime.EnqueueOption{chime.Queue([]string{"a", "b"}[i%2])}
			if i%3 == 0 {
				options = append(options, chime.ID(fmt.Sprint("own-", i)))
			}
			if !yield(named("member", options...), nil) {
				return
			}
		}
	}
}

// An error of the sequence stops the batch, which remains open; its members run. The repeated call adds the rest, each position once.
func TestARepeatedCallAddsEachPositionOnce(t *testing.T) {
	for _, n := range []int{0, 1, 499, 500, 733, 1000, 1199} {
		at(t, func(t *testing.T, s *site) {
			receipt, err := s.enqueuer.EnqueueBatch(t.Context(), batch("x", until(spread(1200), n)))
			var stopped *chime.BatchError
			if !errors.Is(err, errSource) || !errors.As(err, &stopped) || stopped.Position != int64(n)+1 || stopped.ID != "x" || receipt.Items != int64(n) || receipt.ID != "x" {
				t.Fatalf("stopped after %d: %+v, %v", n, receipt, err)
			}
			defer s.run()()
			fixture.Pass(10 * time.Second)
			if info := s.get("x"); info.State != chime.BatchOpen || info.Items != int64(n) || info.Done != int64(n) {
				t.Errorf("open after %d: %+v", n, info)
			}
			if receipt = s.enqueue(batch("x", spread(1200))); receipt != (chime.BatchReceipt{ID: "x", Items: 1200}) {
				t.Errorf("the second call after %d: %+v", n, receipt)
			}
			fixture.Pass(10 * time.Second)
			if s.ran["member"] != 1200 {
				t.Errorf("stopped after %d: %d members ran", n, s.ran["member"])
			}
			s.wantFollowed("at the end", "done of x: 1200 done, 0 dead, 0 cancelled, done", "ended of x: 1200 done, 0 dead, 0 cancelled, done")
			if receipt = s.enqueue(batch("x", spread(1200))); receipt != (chime.BatchReceipt{ID: "x", Items: 1200, Repeated: true}) {
				t.Errorf("the third call: %+v", receipt)
			}
			fixture.Pass(10 * time.Second)
			if s.ran["member"] != 1200 || len(s.followed) != 2 {
				t.Errorf("after the third call: %d members ran, %q", s.ran["member"], s.followed)
			}
		})
	}
}

// Other items are a conflict, before and after the batch is complete, and nothing is added twice.
func TestOtherItemsAreAConflict(t *testing.T) {
	other := func(n, differs int) iter.Seq2[chime.Item, error] {
		return func(yield func(chime.Item, error) bool) {
			for i := range n {
				name := "member"
				if i == differs {
					name = "bad"
				}
				if !yield(named(name), nil) {
					return
				}
			}
		}
	}
	at(t, func(t *testing.T, s *site) {
		if _, err := s.enqueuer.EnqueueBatch(t.Context(), batch("open", until(members(2000), 1100))); err == nil {
			t.Fatal("the batch is complete")
		}
		s.enqueue(batch("complete", members(700)))
		for _, c := range []struct {
			batch    string
			items    iter.Seq2[chime.Item, error]
			earliest int64
			latest   int64
		}{
			{"open", other(2000, 1050), 1001, 1100},
			{"open", other(2000, 3), 1, 1100},
			{"complete", other(700, 600), 501, 700},
			{"complete", other(700, 699), 501, 700},
			{"complete", members(699), 1, 700},
			{"complete", members(701), 700, 701},
			{"complete", members(1300), 501, 1000},
		} {
			receipt, err := s.enqueuer.EnqueueBatch(t.Context(), batch(c.batch, c.items))
			var stopped *chime.BatchError
			if !errors.Is(err, chime.ErrConflict) || !errors.As(err, &stopped) || stopped.Position < c.earliest || stopped.Position > c.latest {
				t.Errorf("%+v, %v; want a conflict from %d to %d", receipt, err, c.earliest, c.latest)
			}
		}
		if info := s.get("complete"); info.Total != 700 {
			t.Errorf("the complete batch is %+v", info)
		}
	})
}

// Another Done, Ended, Note, Keep or DoneWithoutCancelled is a conflict; equal ones are not.
func TestAnotherDefinitionIsAConflict(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		define := func() chime.Batch {
			return chime.Batch{ID: "x", Items: members(1), Done: chime.Item{Name: "done", Args: map[string]int{"a": 1, "b": 2}}, Ended: named("ended"), Note: "n"}
		}
		s.enqueue(define())
		if receipt := s.enqueue(define()); !receipt.Repeated {
			t.Errorf("the same batch: %+v", receipt)
		}
		for what, change := range map[string]func(*chime.Batch){
			"arguments of Done":    func(b *chime.Batch) { b.Done.Args = 1 },
			"the queue of Done":    func(b *chime.Batch) { b.Done.Options = []chime.EnqueueOption{chime.Queue("a")} },
			"no Ended":             func(b *chime.Batch) { b.Ended = chime.Item{} },
			"the note":             func(b *chime.Batch) { b.Note = "m" },
			"Keep":                 func(b *chime.Batch) { b.Keep = time.Hour },
			"DoneWithoutCancelled": func(b *chime.Batch) { b.DoneWithoutCancelled = true },
		} {
			b := define()
			change(&b)
			if _, err := s.enqueuer.EnqueueBatch(t.Context(), b); !errors.Is(err, chime.ErrConflict) {
				t.Errorf("%s is another one: %v", what, err)
			}
		}
	})
}

// Two processes create the same batch at the same time.
func TestTwoCreatorsAddEachPositionOnce(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		defer s.run()()
		var creators sync.WaitGroup
		for range 3 {
			creators.Go(func() {
				e := chime.NewEnqueuer(s.store, chime.EnqueuerOptions{Logger: fixture.Quiet()})
				if receipt, err := e.EnqueueBatch(t.Context(), batch("x", spread(2600))); err != nil || receipt.Items != 2600 || receipt.Existing != 0 {
					t.Errorf("%+v, %v", receipt, err)
				}
			})
		}
		creators.Wait()
		fixture.Pass(10 * time.Second)
		if s.ran["member"] != 2600 {
			t.Errorf("%d members ran", s.ran["member"])
		}
		s.wantFollowed("at the end", "done of x: 2600 done, 0 dead, 0 cancelled, done", "ended of x: 2600 done, 0 dead, 0 cancelled, done")
	})
}

// Every call of a creator fails now and then, before or after it was carried out; then the creator ends, and another one begins again.
func TestACreatorThatVanishesAnywhereLosesAndDoublesNothing(t *testing.T) {
	for die := range long.Seeds(3, 40) {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			hooked := f.Hooked()
			s := newSite(f, hooked)
			calls, creator := 0, map[string]bool{"open batch": true, "note fill": true, "fill batch": true, "count batch": true, "seal batch": true}
			died := errors.New("the process is gone")
			hooked.SetFault(func(action string, _ protocol.Partition) (before, after error) {
				if !creator[action] {
					return nil, nil
				}
				switch calls++; {
				case calls == die+1:
					return nil, hookstore.ErrReset // carried out, and the answer is lost
				case calls%7 == 3:
					return hookstore.ErrReset, nil
				}
				return nil, nil
			})
			for try := 1; ; try++ {
				stop, taken := try*(die+1), 0
				_, err := s.enqueuer.EnqueueBatch(t.Context(), batch("x", func(yield func(chime.Item, error) bool) {
					for item, err := range spread(1300) {
						if taken++; taken == stop*97 {
							yield(item, died)
							return
						}
						if !yield(item, err) {
							return
						}
					}
				}))
				if err == nil {
					break
				}
				if !errors.Is(err, died) || try > 100 {
					t.Fatalf("seed %d, try %d: %v", die, try, err)
				}
			}
			hooked.SetFault(nil)
			defer s.run()()
			fixture.Pass(30 * time.Second)
			if s.ran["member"] != 1300 {
				t.Errorf("seed %d: %d members ran", die, s.ran["member"])
			}
			s.wantFollowed(fmt.Sprint("seed ", die), "done of x: 1300 done, 0 dead, 0 cancelled, done", "ended of x: 1300 done, 0 dead, 0 cancelled, done")
		})
	}
}

// An item whose ID exists is no member, and counts in Existing alone, also when the call is repeated.
func TestItemsThatExistAreNoMembers(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		if _, err := s.enqueuer.Enqueue(t.Context(), "member", nil, chime.ID("mine")); err != nil {
			t.Fatal(err)
		}
		items := sequence(named("member"), named("member", chime.ID("mine")), named("member", chime.ID("twice")), named("member", chime.ID("twice")))
		for range 2 {
			if receipt := s.enqueue(batch("x", items)); receipt.Items != 4 || receipt.Existing != 2 {
				t.Errorf("the receipt is %+v", receipt)
			}
		}
		if info := s.get("x"); info.Total != 2 || info.Existing != 2 {
			t.Errorf("the batch is %+v", info)
		}
		if info, err := s.jobs.Get(t.Context(), "default", "mine"); err != nil || info.Batch != "" {
			t.Errorf("the job that existed is %+v, %v", info, err)
		}
		defer s.run()()
		fixture.Pass(10 * time.Second)
		s.wantFollowed("at the end", "done of x: 2 done, 0 dead, 0 cancelled, done", "ended of x: 2 done, 0 dead, 0 cancelled, done")
	})
}

// An item that is refused stops the batch at its position. Those before it are added.
func TestARefusedItemStopsTheBatchThere(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		for name, bad := range map[string]chime.Item{
			"queue":                        named("member", chime.Queue("a b")),
			"job name":                     named("no name"),
			"option of an item of a batch": named("member", chime.ID("x"), chime.Replace()),
			"SameBatch":                    named("member", chime.SameBatch()),
		} {
			receipt, err := s.enqueuer.EnqueueBatch(t.Context(), batch("at "+name, sequence(named("member"), named("member"), bad, named("member"))))
			var stopped *chime.BatchError
			if !errors.Is(err, &chime.InvalidError{Field: name}) || !errors.As(err, &stopped) || stopped.Position != 3 || receipt.Items != 2 {
				t.Errorf("%s: %+v, %v", name, receipt, err)
			}
			if info := s.get("at " + name); info.State != chime.BatchOpen || info.Items != 2 {
				t.Errorf("%s: the batch is %+v", name, info)
			}
			if waiting := s.queue("default").Waiting; waiting%2 != 0 || waiting == 0 {
				t.Errorf("%s: %d jobs are added, want the two before it", name, waiting)
			}
		}
	})
}

// A group that is full refuses a member, which stops the batch there; when there is room again, the repeated call continues.
func TestAFullGroupStopsTheBatch(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		if _, err := s.enqueuer.Enqueue(t.Context(), "member", nil, chime.Queue("a")); err != nil { // now there is the queue
			t.Fatal(err)
		}
		if err := chime.NewQueues(s.store).SetGroup(t.Context(), "a", "g", chime.GroupRule{Waiting: 2}); err != nil {
			t.Fatal(err)
		}
		b := batch("x", members(4, chime.Queue("a"), chime.Group("g")))
		receipt, err := s.enqueuer.EnqueueBatch(t.Context(), b)
		var stopped *chime.BatchError
		if !errors.Is(err, chime.ErrGroupFull) || !errors.As(err, &stopped) || stopped.Position != 3 || receipt.Items != 2 {
			t.Fatalf("%+v, %v; want a full group at item 3", receipt, err)
		}
		defer s.run()()
		fixture.Pass(time.Second)
		if receipt = s.enqueue(b); receipt.Items != 4 {
			t.Errorf("the second call: %+v", receipt)
		}
		fixture.Pass(time.Second)
		s.wantFollowed("at the end", "done of x: 4 done, 0 dead, 0 cancelled, done", "ended of x: 4 done, 0 dead, 0 cancelled, done")
	})
}

// What is wrong with the batch itself is refused before anything is sent.
func TestBadBatchesAreRefused(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		sent := false
		items := func(func(chime.Item, error) bool) { sent = true }
		for field, b := range map[string]chime.Batch{
			"Batch.ID":   {ID: "a\nb"},
			"Batch.Note": {ID: "x", Note: string(make([]byte, 1025))},
			"Batch.Keep": {ID: "x", Keep: time.Second},
			"option":     {ID: "x", Done: named("done", chime.ID("mine"))},
			"job name":   {ID: "x", Ended: named("a b")},
		} {
			b.Items = items
			if _, err := s.enqueuer.EnqueueBatch(t.Context(), b); !errors.Is(err, &chime.InvalidError{Field: field}) || sent {
				t.Errorf("%s: %v, items were read: %v", field, err, sent)
			}
		}
		for _, option := range []chime.EnqueueOption{chime.SameBatch(), chime.At(time.Now()), chime.Replace(), chime.Once(time.Hour), chime.ArgsID(), chime.InBatch(&chime.Job{Batch: "y"})} {
			if _, err := s.enqueuer.EnqueueBatch(t.Context(), chime.Batch{ID: "x", Items: items, Done: named("done", option)}); !errors.Is(err, &chime.InvalidError{Field: "option"}) || sent {
				t.Errorf("%v, items were read: %v; want an error about an option of Done", err, sent)
			}
		}
		if _, err := s.batches.Get(t.Context(), "x"); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("a refused batch exists: %v", err)
		}
		receipt, err := s.enqueuer.EnqueueBatch(t.Context(), chime.Batch{Items: members(1)})
		if err != nil || len(receipt.ID) < 10 {
			t.Errorf("a batch without an ID: %+v, %v", receipt, err)
		}
		//lint:ignore SA1012 that is what is tested
		if _, err := s.enqueuer.EnqueueBatch(nil, chime.Batch{}); !errors.Is(err, &chime.InvalidError{Field: "ctx"}) {
			t.Errorf("a nil ctx: %v", err)
		}
	})
}

// Middleware gets the members, many at once, and may add options.
func TestMiddlewareGetsTheMembers(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		calls, tenants := 0, 0
		s.enqueuer.Use(func(next chime.EnqueueFunc) chime.EnqueueFunc {
			return func(ctx context.Context, items []chime.Item) ([]chime.Receipt, error) {
				calls++
				for i := range items {
					items[i].Options = append(items[i].Options, chime.Header("tenant", "acme"))
				}
				receipts, err := next(ctx, items)
				if len(receipts) != len(items) || receipts[0].ID == "" || receipts[0].Queue != "default" {
					t.Errorf("middleware got %d receipts for %d items", len(receipts), len(items))
				}
				return receipts, err
			}
		})
		s.worker.Handle("tenant", func(_ context.Context, job *chime.Job) error {
			if job.Header["tenant"] == "acme" {
				s.locked(func() { tenants++ })
			}
			return nil
		})
		s.enqueue(batch("x", func(yield func(chime.Item, error) bool) {
			for range 1100 {
				if !yield(named("tenant"), nil) {
					return
				}
			}
		}))
		defer s.run()()
		fixture.Pass(10 * time.Second)
		if calls != 3 || tenants != 1100 {
			t.Errorf("%d calls, %d members with the header", calls, tenants)
		}
	})
}

// Observers get each member once.
func TestObserversGetTheMembers(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		seen := map[string]int{}
		observer := &chime.Observer{Enqueued: func(jobs []chime.JobEvent) {
			for _, job := range jobs {
				seen[job.ID]++
			}
		}}
		e := chime.NewEnqueuer(s.store, chime.EnqueuerOptions{Observers: []*chime.Observer{observer}, Logger: fixture.Quiet()})
		for range 2 {
			if _, err := e.EnqueueBatch(t.Context(), batch("x", spread(700))); err != nil {
				t.Fatal(err)
			}
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("member %s was reported %d times", id, n)
			}
		}
		if len(seen) != 700 {
			t.Errorf("%d members were reported", len(seen))
		}
	})
}
