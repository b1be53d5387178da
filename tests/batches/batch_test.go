package batches_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// An import: members on two queues, then the summary, once, with the numbers of the batch.
func TestDoneFollowsWhenAllMembersAreDone(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		var of []string
		s.worker.Handle("looks", func(_ context.Context, job *chime.Job) error {
			s.locked(func() { of = append(of, job.Batch) })
			if job.BatchInfo != nil {
				t.Errorf("a member has BatchInfo %+v", job.BatchInfo)
			}
			return nil
		})
		b := batch("import", sequence(named("looks", chime.Queue("a")), named("looks", chime.Queue("b")), named("looks"), named("member", chime.In(time.Hour))))
		b.Note = "by anna"
		receipt := s.enqueue(b)
		if receipt != (chime.BatchReceipt{ID: "import", Items: 4}) {
			t.Errorf("the receipt is %+v", receipt)
		}
		s.wantState("at first", "import", chime.BatchRunning, 4, 4, 0, 0, 0)
		created := time.Now()
		defer s.run()()
		fixture.Pass(10 * time.Second)
		s.wantState("before the delayed member", "import", chime.BatchRunning, 4, 1, 3, 0, 0)
		s.wantFollowed("before the delayed member")
		fixture.Pass(time.Hour)
		s.wantState("at the end", "import", chime.BatchDone, 4, 0, 4, 0, 0)
		s.wantFollowed("at the end", "done of import: 4 done, 0 dead, 0 cancelled, done", "ended of import: 4 done, 0 dead, 0 cancelled, done")
		if !slices.Equal(of, []string{"import", "import", "import"}) {
			t.Errorf("the members had the batches %q", of)
		}
		info := s.get("import")
		if info.Note != "by anna" || info.DoneJob != "done" || info.EndedJob != "ended" || info.Items != 4 || info.SealedAt.IsZero() || info.EndedAt.Sub(created) < time.Hour ||
			info.EndedAt.Sub(created) > time.Hour+time.Second || fmt.Sprint(info.Queues) != "[{a 1 0 1 0 0} {b 1 0 1 0 0} {default 2 0 2 0 0}]" {
			t.Errorf("the batch is %+v", info)
		}
		if at := s.infos["import#done"]; at == nil || at.Note != "by anna" || at.Total != 4 || at.CreatedAt.IsZero() || at.EndedAt.IsZero() {
			t.Errorf("Done had the batch %+v", at)
		}
		if q := s.queue("default"); q.Waiting+q.Delayed+q.InFlight()+q.Dead != 0 {
			t.Errorf("the queue is left with %+v", q)
		}
	})
}

// A job of a batch is found by its batch, and shows it.
func TestJobsAreFoundByTheirBatch(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		s.enqueue(batch("one", members(3)))
		s.enqueue(batch("two", members(2)))
		if _, err := s.enqueuer.Enqueue(t.Context(), "member", nil); err != nil {
			t.Fatal(err)
		}
		found := 0
		for job, err := range s.jobs.List(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobWaiting, Batch: "two"}) {
			if found++; err != nil || job.Batch != "two" {
				t.Errorf("found %+v, %v", job, err)
			}
		}
		if found != 2 {
			t.Errorf("%d jobs were found, want 2", found)
		}
	})
}

func TestABatchWithoutItemsEndsAtOnce(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		s.enqueue(batch("none", nil))
		s.wantState("at once", "none", chime.BatchDone, 0, 0, 0, 0, 0)
		defer s.run()()
		fixture.Pass(time.Second)
		s.wantFollowed("then", "done of none: 0 done, 0 dead, 0 cancelled, done", "ended of none: 0 done, 0 dead, 0 cancelled, done")
	})
}

// Members may have ended before the last one is enqueued: the batch waits.
func TestABatchDoesNotEndBeforeItIsComplete(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		defer s.run()()
		s.enqueue(batch("slow", func(yield func(chime.Item, error) bool) {
			for i := range 1200 {
				if i%500 == 1 {
					fixture.Pass(time.Minute)
					if i > 500 {
						if info := s.get("slow"); info.State != chime.BatchOpen || info.Left != 0 || info.Done != int64(i-1) || info.Items != int64(i-1) {
							t.Errorf("before item %d: %+v", i+1, info)
						}
					}
					s.wantFollowed("meanwhile")
				}
				if !yield(named("member"), nil) {
					return
				}
			}
		}))
		fixture.Pass(time.Second)
		s.wantFollowed("at the end", "done of slow: 1200 done, 0 dead, 0 cancelled, done", "ended of slow: 1200 done, 0 dead, 0 cancelled, done")
	})
}

// Done may be on another queue, later, with its own options; what follows it follows it.
func TestDoneHasOptions(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		var got []*chime.Job
		s.worker.Handle("summary", func(_ context.Context, job *chime.Job) error {
			s.locked(func() { got = append(got, job) })
			return job.Return(7)
		})
		s.worker.Handle("mail", func(_ context.Context, job *chime.Job) error {
			s.locked(func() { got = append(got, job) })
			return nil
		})
		began := time.Now()
		s.enqueue(chime.Batch{ID: "x", Items: members(1), Done: chime.Item{Name: "summary", Args: "args", Options: []chime.EnqueueOption{
			chime.Queue("b"), chime.In(time.Hour), chime.MaxAttempts(3), chime.Header("k", "v"), chime.Group("g"), chime.Keep(time.Hour), chime.OnDone(named("mail")),
		}}})
		defer s.run()()
		fixture.Pass(30 * time.Minute)
		if info, err := s.jobs.Get(t.Context(), "b", "x#done"); err != nil || info.FollowsBatch != "x" || info.FollowsID != "" || info.Batch != "" {
			t.Errorf("before it runs, Done is %+v, %v; want that it follows x", info, err)
		}
		fixture.Pass(90 * time.Minute)
		if len(got) != 2 {
			t.Fatalf("%v have run, want summary and mail", got)
		}
		done, mail := got[0], got[1]
		var args string
		if err := done.Decode(&args); err != nil || args != "args" || done.ID != "x#done" || done.Queue != "b" || done.MaxAttempts != 3 || done.Header["k"] != "v" || done.Group != "g" ||
			done.Started.Sub(began) < time.Hour || done.Lateness() > time.Minute || done.BatchInfo.ID != "x" {
			t.Errorf("Done is %+v with %q, %v", done, args, err)
		}
		if mail.Prior == nil || mail.Prior.ID != "x#done" || mail.BatchInfo != nil {
			t.Errorf("what follows is %+v", mail)
		}
		var result int
		if err := s.jobs.Wait(t.Context(), "b", "x#done", &result); err != nil || result != 7 {
			t.Errorf("the result is %d, %v", result, err)
		}
	})
}

func TestWaitReturnsWhenTheBatchHasEnded(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		s.enqueue(batch("x", members(2, chime.In(time.Minute))))
		defer s.run()()
		began := time.Now()
		info, err := s.batches.Wait(t.Context(), "x")
		if took := time.Since(began); err != nil || info.State != chime.BatchDone || took < time.Minute || took > 62*time.Second {
			t.Errorf("%+v, %v after %v", info, err, took)
		}
		if _, err := s.batches.Wait(t.Context(), "y"); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("a batch that does not exist: %v", err)
		}
		s.enqueue(batch("z", members(1, chime.In(time.Hour))))
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if _, err := s.batches.Wait(ctx, "z"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a batch that lasts: %v", err)
		}
	})
}

func TestListShowsTheNewestBatchesFirst(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		for i := range 60 {
			s.enqueue(chime.Batch{ID: fmt.Sprintf("b%02d", i), Items: members(i % 2)})
			time.Sleep(time.Second)
		}
		list := func(filter chime.BatchFilter) (ids []string) {
			for info, err := range s.batches.List(t.Context(), filter) {
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, info.ID)
			}
			return ids
		}
		all := list(chime.BatchFilter{})
		if len(all) != 60 || !slices.IsSortedFunc(all, func(a, b string) int { return cmp.Compare(b, a) }) {
			t.Errorf("listed %q", all)
		}
		if running := list(chime.BatchFilter{State: chime.BatchRunning, Prefix: "b5"}); fmt.Sprint(running) != "[b59 b57 b55 b53 b51]" {
			t.Errorf("running ones: %q", running)
		}
		var parts []string // the list in parts of seven
		for after, left := "", true; left; {
			n := 0
			left = false
			for info, err := range s.batches.List(t.Context(), chime.BatchFilter{After: after}) {
				if err != nil {
					t.Fatal(err)
				}
				if n++; n > 7 {
					left = true
					break
				}
				parts, after = append(parts, info.ID), info.Next
			}
		}
		if !slices.Equal(parts, all) {
			t.Errorf("in parts: %q, want %q", parts, all)
		}
		var pages []int // the sizes of the pages of five of a list, of which the last one is full
		parts = nil
		for filter, more := (chime.BatchFilter{Prefix: "b3", State: chime.BatchDone, Limit: 5}), true; more; {
			page, err := s.batches.Page(t.Context(), filter)
			if err != nil {
				t.Fatal(err)
			}
			for _, info := range page.Batches {
				parts = append(parts, info.ID)
			}
			pages, filter.After, more = append(pages, len(page.Batches)), page.Next, page.Next != ""
		}
		if fmt.Sprint(parts, pages) != "[b38 b36 b34 b32 b30] [5]" {
			t.Errorf("pages: %q of %v", parts, pages)
		}
		if got := list(chime.BatchFilter{Limit: 7}); !slices.Equal(got, all[:7]) {
			t.Errorf("with a limit: %q", got)
		}
		if _, err := s.batches.Page(t.Context(), chime.BatchFilter{Limit: -1}); !errors.Is(err, &chime.InvalidError{Field: "BatchFilter.Limit"}) {
			t.Errorf("a negative limit: %v", err)
		}
		for _, after := range []string{"?", "eA"} {
			for _, err := range s.batches.List(t.Context(), chime.BatchFilter{After: after}) {
				if !errors.Is(err, &chime.InvalidError{Field: "BatchFilter.After"}) {
					t.Errorf("after %q: %v", after, err)
				}
			}
		}
		for _, err := range s.batches.List(t.Context(), chime.BatchFilter{State: "odd"}) {
			if !errors.Is(err, &chime.InvalidError{Field: "BatchFilter.State"}) {
				t.Errorf("an unknown state: %v", err)
			}
		}
	})
}

// A list of what is in progress has the open ones, the running ones, those that are cancelled and have members left, and those with requeued members.
func TestOnlyBatchesInProgressAreListed(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		repaired := false
		s.worker.Handle("flaky", func(context.Context, *chime.Job) error {
			if !repaired {
				return chime.Discard(errors.New("no"))
			}
			return chime.RetryAfter(time.Hour, errors.New("busy"))
		})
		if _, err := s.enqueuer.EnqueueBatch(t.Context(), batch("open", until(members(9), 3))); !errors.Is(err, errSource) {
			t.Fatal(err)
		}
		for i := range 30 {
			s.enqueue(batch(fmt.Sprint("done", i), members(1)))
		}
		s.enqueue(batch("late", members(1, chime.In(time.Hour))))
		s.enqueue(batch("dead", sequence(named("flaky"))))
		s.enqueue(batch("stopped", sequence(named("member", chime.Queue("unserved")))))
		defer s.run()()
		list := func(filter chime.BatchFilter) (ids []string) {
			filter.InProgress = true
			for info, err := range s.batches.List(t.Context(), filter) {
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, info.ID)
			}
			return slices.Sorted(slices.Values(ids))
		}
		for range 3 { // also after each of them was looked after, and its next instant for that is later
			fixture.Pass(90 * time.Second)
			if got := fmt.Sprint(list(chime.BatchFilter{})); got != "[late open stopped]" {
				t.Errorf("in progress: %s", got)
			}
		}
		if got := fmt.Sprint(list(chime.BatchFilter{State: chime.BatchOpen})); got != "[open]" {
			t.Errorf("open ones: %s", got)
		}
		if _, err := s.batches.Cancel(t.Context(), "stopped"); err != nil {
			t.Fatal(err)
		}
		repaired = true
		if n, err := s.jobs.Requeue(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobDead, Batch: "dead"}, nil); err != nil || n.Changed != 1 {
			t.Fatalf("requeued %+v, %v", n, err)
		}
		for range 3 {
			fixture.Pass(90 * time.Second)
			if got := fmt.Sprint(list(chime.BatchFilter{})); got != "[dead late open]" {
				t.Errorf("after a cancel and a requeue: %s", got)
			}
		}
	})
}

// The user of a producer may not end a batch. A leader ends one without members, although no answer has shown it, and forgets it.
func TestABatchWithoutMembersIsEndedForAProducer(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		hooked := s.Hooked()
		hooked.SetFault(func(action string, _ protocol.Partition) (before, after error) {
			if action == "end batch" {
				return protocol.ErrUnfit, nil
			}
			return nil, nil
		})
		defer s.run()()
		stop := fixture.Start(chime.NewScheduler(s.store, chime.SchedulerOptions{Logger: fixture.Quiet()}))
		fixture.Pass(time.Hour)
		b := batch("x", members(0))
		b.Keep = 5 * time.Hour
		if _, err := chime.NewEnqueuer(hooked, chime.EnqueuerOptions{Logger: fixture.Quiet()}).EnqueueBatch(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(6 * time.Minute)
		s.wantFollowed("after the leader has swept", "done of x: 0 done, 0 dead, 0 cancelled, done", "ended of x: 0 done, 0 dead, 0 cancelled, done")
		fixture.Pass(4 * time.Hour)
		s.wantState("within Keep", "x", chime.BatchDone, 0, 0, 0, 0, 0)
		fixture.Pass(time.Hour)
		if info, err := s.batches.Get(t.Context(), "x"); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("after Keep: %+v, %v", info, err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// After Keep nothing is left of a batch, and its ID is free.
func TestABatchIsForgottenAfterItsTime(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		b := batch("x", members(1))
		b.Keep = time.Hour
		s.enqueue(b)
		stop := fixture.Start(chime.NewScheduler(s.store, chime.SchedulerOptions{Logger: fixture.Quiet()}))
		end := s.run()
		fixture.Pass(50 * time.Minute)
		s.wantState("within Keep", "x", chime.BatchDone, 1, 0, 1, 0, 0)
		fixture.Pass(time.Hour)
		if info, err := s.batches.Get(t.Context(), "x"); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("after Keep: %+v, %v", info, err)
		}
		if receipt := s.enqueue(b); receipt.Repeated {
			t.Errorf("a new batch is %+v", receipt)
		}
		fixture.Pass(time.Minute)
		line := "done of x: 1 done, 0 dead, 0 cancelled, done"
		ended := "ended of x: 1 done, 0 dead, 0 cancelled, done"
		s.wantFollowed("two batches", line, line, ended, ended)
		end()
		if err := stop(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}

// A queue keeps the counts of a batch that its home has lost, for a day. Then nothing prevents its deletion.
func TestALostBatchIsForgottenADayLater(t *testing.T) {
	at(t, func(t *testing.T, s *site) {
		store := s.store.Protocol()
		if _, err := store.Partitions(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		body := wire.Envelope{Name: "member", MaxAttempts: 1, Details: &wire.Details{Batch: "lost"}}
		call := protocol.FillCall{Partition: protocol.Partition{Queue: "a"}, Batch: "lost", Positions: []int64{1}, Items: []protocol.EnqueueItem{{ID: "m", Body: body.Encode()}}}
		if answer := store.FillBatch(t.Context(), []protocol.FillCall{call})[0]; answer.Err != nil {
			t.Fatal(answer.Err)
		}
		for _, c := range []struct {
			after time.Duration
			kept  bool
		}{{0, true}, {23 * time.Hour, true}, {time.Hour, false}} {
			fixture.Pass(c.after)
			end := s.run()
			fixture.Pass(time.Minute)
			end()
			s.worker = s.newWorker(10)
			if err := chime.NewQueues(s.store).Delete(t.Context(), "a"); errors.Is(err, chime.ErrConflict) != c.kept {
				t.Errorf("deleted %v later: %v, want a conflict: %v", c.after, err, c.kept)
			}
		}
		if s.ran["member"] != 1 {
			t.Errorf("the member ran %d times", s.ran["member"])
		}
	})
}
