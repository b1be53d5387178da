package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/chimejobs/chime/tests/internal/hookstore"
)

const sendTimeout = 10 * time.Second // the default of EnqueuerOptions.SendTimeout

func TestAFailingPartitionDoesNotDelayOthers(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 1)
		e := quietEnqueuer(store, chime.EnqueuerOptions{})
		store.fail(func(_ int, call *protocol.EnqueueCall) (before, after error) {
			if call.Partition.Queue == "bad" {
				return hookstore.ErrReset, nil
			}
			return nil, nil
		})
		start := time.Now()
		receipts, err := e.EnqueueMany(t.Context(), []chime.Item{{Name: "a"}, {Name: "a", Options: []chime.EnqueueOption{chime.Queue("bad")}}})
		if err == nil || !errors.Is(err, hookstore.ErrReset) || !strings.Contains(err.Error(), "from item 1 on") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took < sendTimeout || took > sendTimeout+time.Second {
			t.Errorf("EnqueueMany stopped trying after %v, want %v", took, sendTimeout)
		}
		if !store.has(receipts[0].ID) {
			t.Error("the job on the good queue was not stored")
		}
		go e.Enqueue(t.Context(), "a", nil, chime.Queue("bad"))
		synctest.Wait()
		start = time.Now()
		if _, err := e.Enqueue(t.Context(), "a", nil); err != nil || time.Since(start) > 0 {
			t.Errorf("the other queue took %v, %v", time.Since(start), err)
		}
		time.Sleep(time.Minute) // fake time: retries continue
	})
}

func TestACallWhoseReplyWasLostIsRepeatedAndAddsNothingTwice(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 1)
		store.Latency, store.Lag = time.Millisecond/2, time.Millisecond/2
		e := quietEnqueuer(store, chime.EnqueuerOptions{})
		store.fail(func(n int, _ *protocol.EnqueueCall) (before, after error) {
			switch n % 4 {
			case 1:
				return nil, hookstore.ErrReset
			case 2:
				return hookstore.ErrReset, nil
			}
			return nil, nil
		})
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if _, err := e.Enqueue(t.Context(), "a", nil); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if store.waiting() != 100 {
			t.Errorf("%d jobs, want 100", store.waiting())
		}
	})
}

func TestAnUnknownOutcomeIsReportedAndSafeToRepeat(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 1)
		e := quietEnqueuer(store, chime.EnqueuerOptions{SendTimeout: time.Second})
		down := true
		store.fail(func(int, *protocol.EnqueueCall) (before, after error) {
			if down {
				return nil, hookstore.ErrReset
			}
			return nil, nil
		})
		start := time.Now()
		receipt, err := e.Enqueue(t.Context(), "a", nil)
		if !errors.Is(err, hookstore.ErrReset) || !strings.Contains(err.Error(), "unknown") || !strings.Contains(err.Error(), receipt.ID) || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		numbers := len(store.EnqueueCalls())
		down = false
		again, err := e.Enqueue(t.Context(), "a", nil, chime.ID(receipt.ID))
		if err != nil || !again.Existing || again.ID != receipt.ID || store.waiting() != 1 {
			t.Errorf("repeated: %+v, %v; %d jobs", again, err, store.waiting())
		}
		if sent := len(store.EnqueueCalls()); sent != numbers {
			t.Errorf("the repetition was sent in %d calls, want none: the store was asked about the first call", sent-numbers)
		}
	})
}

func TestEnqueueStopsTryingAHangingStoreAfterSendTimeout(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 1)
		hanging := &hangingStore{Store: store.Store.Store, t: t}
		store.Store.Store = hanging
		e := quietEnqueuer(store, chime.EnqueuerOptions{SendTimeout: 8 * time.Second})
		for i := range 20 { // first attempts share a ctx; try it at all ages
			hanging.attempts = 0
			start := time.Now()
			if _, err := e.Enqueue(t.Context(), "a", nil); err == nil || !strings.Contains(err.Error(), "outcome unknown after 8s") || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			if took := time.Since(start); took != 8*time.Second {
				t.Errorf("Enqueue stopped trying after %v, want 8s", took)
			}
			hanging.answers = true
			time.Sleep(time.Duration(i) * 100 * time.Millisecond) // fake time: a new phase of the retries each time
			if _, err := e.Enqueue(t.Context(), "a", nil); err != nil {
				t.Error(err)
			}
			hanging.answers = false
			time.Sleep(time.Duration(i) * 70 * time.Millisecond) // fake time: as above
		}
	})
}

// A hangingStore answers only after the ctx has ended, unless answers is set.
type hangingStore struct {
	protocol.Store
	t        testing.TB
	answers  bool
	attempts int
}

func (s *hangingStore) Enqueue(ctx context.Context, calls []protocol.EnqueueCall) []protocol.EnqueueAnswer {
	s.attempts++
	if s.answers {
		return s.Store.Enqueue(ctx, calls)
	}
	least, most := time.Duration(0), 8*time.Second
	switch {
	case calls[0].Brief:
		most = protocol.BriefCall
	case s.attempts == 1:
		least = 7 * time.Second
	}
	if end, ok := ctx.Deadline(); !ok || time.Until(end) > most || time.Until(end) < least {
		s.t.Errorf("attempt %d has %v, %v; want %v to %v: the rest of the 8 seconds, or a brief call", s.attempts, time.Until(end), ok, least, most)
	}
	<-ctx.Done()
	return []protocol.EnqueueAnswer{{Err: ctx.Err()}}
}

func TestAFullStoreIsReportedAtOnce(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 1)
		e := quietEnqueuer(store, chime.EnqueuerOptions{})
		store.fail(func(int, *protocol.EnqueueCall) (before, after error) {
			return fmt.Errorf("oom: %w", chime.ErrStoreFull), nil
		})
		start := time.Now()
		receipt, err := e.Enqueue(t.Context(), "a", nil)
		if !errors.Is(err, chime.ErrStoreFull) || strings.Contains(err.Error(), "unknown") || time.Since(start) > 0 || receipt.ID == "" {
			t.Errorf("after %v: %+v, %v", time.Since(start), receipt, err)
		}
		if _, err := e.EnqueueMany(t.Context(), make([]chime.Item, 0)); err != nil {
			t.Error(err)
		}
	})
}

func TestAFullStoreAfterALostReplyIsAnUnknownOutcome(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 1)
		e := quietEnqueuer(store, chime.EnqueuerOptions{})
		store.fail(func(n int, _ *protocol.EnqueueCall) (before, after error) {
			if n == 1 {
				return nil, hookstore.ErrReset
			}
			return chime.ErrStoreFull, nil
		})
		if _, err := e.Enqueue(t.Context(), "a", nil); err == nil || !strings.Contains(err.Error(), "unknown") {
			t.Errorf("got %v", err)
		}
	})
}

func TestCallersDoNotPileUpInAnOutage(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 1)
		e := quietEnqueuer(store, chime.EnqueuerOptions{})
		down := true
		store.fail(func(int, *protocol.EnqueueCall) (before, after error) {
			if down {
				return hookstore.ErrReset, nil
			}
			return nil, nil
		})
		var all sync.WaitGroup
		for i := range 4000 {
			all.Go(func() {
				start := time.Now()
				if _, err := e.Enqueue(context.Background(), "a", nil); err == nil || time.Since(start) > 2*sendTimeout {
					t.Errorf("caller %d waited %v: %v", i, time.Since(start), err)
				}
			})
			time.Sleep(5 * time.Millisecond) // fake time: the callers start one after the other
		}
		_, err := e.EnqueueMany(context.Background(), slices.Repeat([]chime.Item{{Name: "a"}}, 5000))
		if err == nil {
			t.Error("5000 items to a store that is down: no error")
		}
		all.Wait()
		down = false
		if _, err := e.Enqueue(t.Context(), "a", nil); err != nil {
			t.Error(err)
		}
	})
}

func TestEnqueueWaitsForTheNumberOfPartitions(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 3)
		store.askFault = func(n int) error {
			if n < 4 {
				return hookstore.ErrReset
			}
			return nil
		}
		e := quietEnqueuer(store, chime.EnqueuerOptions{})
		if _, err := e.Enqueue(t.Context(), "a", nil); err != nil {
			t.Error(err)
		}
		store.askFault = func(int) error { return hookstore.ErrReset }
		if receipt, err := e.Enqueue(t.Context(), "a", nil, chime.Queue("other")); !errors.Is(err, hookstore.ErrReset) || !strings.Contains(err.Error(), "not sent") || errors.Is(err, context.DeadlineExceeded) || receipt.ID == "" {
			t.Errorf("got %+v, %v; want only the store's error, because the caller's ctx has not ended", receipt, err)
		}
		for _, final := range []error{chime.ErrUnfit, chime.ErrStoreFull} {
			store.askFault = func(int) error { return final }
			start := time.Now()
			if _, err := e.Enqueue(t.Context(), "a", nil, chime.Queue("other")); !errors.Is(err, final) || time.Since(start) > 0 {
				t.Errorf("after %v: %v, want %v at once", time.Since(start), err, final)
			}
		}
	})
}

func TestEveryJobArrivesOnceUnderFaults(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 3)
		store.Latency, store.Lag = 250*time.Microsecond, 250*time.Microsecond
		store.fail(func(n int, _ *protocol.EnqueueCall) (before, after error) {
			if n%7 == 0 {
				return hookstore.ErrReset, nil
			}
			if n%5 == 0 {
				return nil, hookstore.ErrReset
			}
			return nil, nil
		})
		e := quietEnqueuer(store, chime.EnqueuerOptions{})
		var all sync.WaitGroup
		for range 30 {
			all.Go(func() {
				for i := range 20 {
					if _, err := e.Enqueue(t.Context(), "a", i); err != nil {
						t.Error(err)
					}
				}
			})
			all.Go(func() {
				if _, err := e.EnqueueMany(t.Context(), slices.Repeat([]chime.Item{{Name: "a"}}, 700)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if want := 30*20 + 30*700; store.waiting() != want {
			t.Errorf("%d jobs, want %d", store.waiting(), want)
		}
	})
}

// A caller with its own deadline gets an error with the reason, and not with the reason of an earlier failure that is over.
func TestACallersErrorContainsTheStoresCurrentError(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 1)
		e := quietEnqueuer(store, chime.EnqueuerOptions{})
		asking, sending, failing := errors.New("no password"), errors.New("connection refused"), true
		store.checkFault = func(ctx context.Context, n int) error {
			time.Sleep(2 * time.Second) // fake time: the duration of the check
			if failing {
				return sending
			}
			return nil
		}
		store.fail(func(int, *protocol.EnqueueCall) (before, after error) {
			if failing {
				return sending, nil
			}
			return nil, nil
		})
		attempt := func(name string, want error, prefix string) {
			t.Helper()
			for many := range 2 {
				ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
				var err error
				if many == 0 {
					_, err = e.Enqueue(ctx, "a", nil)
				} else {
					_, err = e.EnqueueMany(ctx, []chime.Item{{Name: "a"}, {Name: "b"}})
				}
				stop()
				if want == nil && err != nil || want != nil && (!errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, want) || many == 0 && !strings.Contains(err.Error(), prefix)) {
					t.Errorf("%s: got %v, want %v", name, err, want)
				}
			}
			time.Sleep(time.Minute) // fake time: the unfinished calls end
			synctest.Wait()
		}
		store.askFault = func(int) error { time.Sleep(2 * time.Second); return sending } // fake time: the duration of the call
		attempt("the store is not checked", sending, "not sent: ")
		store.checkFault = func(context.Context, int) error { return nil }
		store.askFault = func(int) error {
			if failing {
				return asking
			}
			return nil
		}
		attempt("the queue is not known", asking, "not sent: ")
		failing = false
		attempt("the store answers", nil, "")
		failing = true
		attempt("the call fails", sending, "outcome unknown: ")
		failing = false
		attempt("the store answers again", nil, "")

		store.Latency, store.Lag = 30*time.Second, 30*time.Second // it is slow, but does not fail
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
		defer stop()
		if _, err := e.Enqueue(ctx, "a", nil); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, sending) || errors.Is(err, asking) {
			t.Errorf("got %v, want only the end of ctx", err)
		}
		time.Sleep(time.Hour) // fake time: the unfinished call ends
	})
}

func TestObserversReceiveTroubleAndItsEnd(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 1)
		store.fail(func(n int, _ *protocol.EnqueueCall) (before, after error) {
			if n <= 3 {
				return hookstore.ErrReset, nil
			}
			return nil, nil
		})
		var received []string
		observer := &chime.Observer{Trouble: func(op string, err error) {
			received = append(received, fmt.Sprint(op, " ", errors.Is(err, hookstore.ErrReset)))
		}}
		e := quietEnqueuer(store, chime.EnqueuerOptions{Observers: []*chime.Observer{observer, {}, {Trouble: observer.Trouble}}})
		if _, err := e.Enqueue(t.Context(), "a", nil); err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(received), "[enqueue true enqueue true enqueue false enqueue false]"; got != want {
			t.Errorf("two observers received %s, want %s", got, want)
		}
	})
}
