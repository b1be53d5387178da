package chime

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

	"github.com/chimejobs/chime/internal/protocol"
)

func TestAFailingPartitionDoesNotDelayOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newEnqueueStore(t, 1)
		e := quietEnqueuer(store, EnqueuerOptions{})
		store.fault = func(_ int, call protocol.EnqueueCall) (before, after error) {
			if call.Partition.Queue == "bad" {
				return errLost, nil
			}
			return nil, nil
		}
		start := time.Now()
		receipts, err := e.EnqueueMany(t.Context(), []Item{{Name: "a"}, {Name: "a", Options: []EnqueueOption{Queue("bad")}}})
		if err == nil || !errors.Is(err, errLost) || !strings.Contains(err.Error(), "from item 1 on") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took < defaultSendTimeout || took > defaultSendTimeout+time.Second {
			t.Errorf("EnqueueMany gave up after %v, want %v", took, defaultSendTimeout)
		}
		if _, ok := store.jobs[receipts[0].ID]; !ok {
			t.Error("the job on the good queue was not stored")
		}
		go e.Enqueue(t.Context(), "a", nil, Queue("bad"))
		synctest.Wait()
		start = time.Now()
		if _, err := e.Enqueue(t.Context(), "a", nil); err != nil || time.Since(start) > 0 {
			t.Errorf("the other queue took %v, %v", time.Since(start), err)
		}
		time.Sleep(time.Minute) // fake time: retries go on in it
	})
}

func TestACallWhoseReplyWasLostIsRepeatedAndAddsNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newEnqueueStore(t, 1)
		store.rtt = time.Millisecond
		e := quietEnqueuer(store, EnqueuerOptions{})
		store.fault = func(n int, _ protocol.EnqueueCall) (before, after error) {
			switch n % 4 {
			case 1:
				return nil, errLost
			case 2:
				return errLost, nil
			}
			return nil, nil
		}
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if _, err := e.Enqueue(t.Context(), "a", nil); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if len(store.order) != 100 {
			t.Errorf("%d jobs, want 100", len(store.order))
		}
	})
}

func TestAnUnknownOutcomeIsReportedAndSafeToRepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newEnqueueStore(t, 1)
		e := quietEnqueuer(store, EnqueuerOptions{SendTimeout: time.Second})
		down := true
		store.fault = func(int, protocol.EnqueueCall) (before, after error) {
			if down {
				return nil, errLost
			}
			return nil, nil
		}
		start := time.Now()
		receipt, err := e.Enqueue(t.Context(), "a", nil)
		if !errors.Is(err, errLost) || !strings.Contains(err.Error(), "unknown") || !strings.Contains(err.Error(), receipt.ID) || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		numbers := len(store.calls)
		down = false
		again, err := e.Enqueue(t.Context(), "a", nil, ID(receipt.ID))
		if err != nil || !again.Existing || again.ID != receipt.ID || len(store.order) != 1 {
			t.Errorf("repeated: %+v, %v; %d jobs", again, err, len(store.order))
		}
		if first, last := store.calls[0].Number, store.calls[numbers].Number; last != first+1 {
			t.Errorf("call %d follows %d", last, first)
		}
	})
}

func TestEnqueueGivesUpOnAStoreThatHangsAfterSendTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hangingStore{enqueueStore: newEnqueueStore(t, 1)}
		e := quietEnqueuer(store, EnqueuerOptions{SendTimeout: 8 * time.Second})
		for i := range 20 { // at all ages of the ctx that first attempts share
			store.attempts = 0
			start := time.Now()
			if _, err := e.Enqueue(t.Context(), "a", nil); err == nil || !strings.Contains(err.Error(), "outcome unknown after 8s") || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			if took := time.Since(start); took != 8*time.Second {
				t.Errorf("Enqueue gave up after %v, want 8s", took)
			}
			store.answers = true
			time.Sleep(time.Duration(i) * 100 * time.Millisecond) // fake time: a new phase of the retries each time
			if _, err := e.Enqueue(t.Context(), "a", nil); err != nil {
				t.Error(err)
			}
			store.answers = false
			time.Sleep(time.Duration(i) * 70 * time.Millisecond) // fake time: as above
		}
	})
}

// A hangingStore answers only when the ctx has ended, unless answers is set.
type hangingStore struct {
	*enqueueStore
	answers  bool
	attempts int
}

func (s *hangingStore) Enqueue(ctx context.Context, calls []protocol.EnqueueCall) []protocol.EnqueueAnswer {
	s.attempts++
	if s.answers {
		return s.enqueueStore.Enqueue(ctx, calls)
	}
	if end, ok := ctx.Deadline(); !ok || time.Until(end) > 8*time.Second || s.attempts == 1 && time.Until(end) < 7*time.Second {
		s.t.Errorf("attempt %d has %v, %v; want 7 to 8 seconds for the first, and the rest of 8 for the others", s.attempts, time.Until(end), ok)
	}
	<-ctx.Done()
	return []protocol.EnqueueAnswer{{Err: ctx.Err()}}
}

func TestAFullStoreIsReportedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newEnqueueStore(t, 1)
		e := quietEnqueuer(store, EnqueuerOptions{})
		store.fault = func(int, protocol.EnqueueCall) (before, after error) { return fmt.Errorf("oom: %w", ErrStoreFull), nil }
		start := time.Now()
		receipt, err := e.Enqueue(t.Context(), "a", nil)
		if !errors.Is(err, ErrStoreFull) || strings.Contains(err.Error(), "unknown") || time.Since(start) > 0 || receipt.ID == "" {
			t.Errorf("after %v: %+v, %v", time.Since(start), receipt, err)
		}
		if _, err := e.EnqueueMany(t.Context(), make([]Item, 0)); err != nil {
			t.Error(err)
		}
	})
}

func TestAFullStoreAfterALostReplyIsAnUnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newEnqueueStore(t, 1)
		e := quietEnqueuer(store, EnqueuerOptions{})
		store.fault = func(n int, _ protocol.EnqueueCall) (before, after error) {
			if n == 1 {
				return nil, errLost
			}
			return ErrStoreFull, nil
		}
		if _, err := e.Enqueue(t.Context(), "a", nil); err == nil || !strings.Contains(err.Error(), "unknown") {
			t.Errorf("got %v", err)
		}
	})
}

func TestCallersDoNotPileUpInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newEnqueueStore(t, 1)
		e := quietEnqueuer(store, EnqueuerOptions{})
		down := true
		store.fault = func(int, protocol.EnqueueCall) (before, after error) {
			if down {
				return errLost, nil
			}
			return nil, nil
		}
		var all sync.WaitGroup
		for i := range 4000 {
			all.Go(func() {
				start := time.Now()
				if _, err := e.Enqueue(context.Background(), "a", nil); err == nil || time.Since(start) > 2*defaultSendTimeout {
					t.Errorf("caller %d waited %v: %v", i, time.Since(start), err)
				}
			})
			time.Sleep(5 * time.Millisecond) // fake time: callers come one after the other
		}
		_, err := e.EnqueueMany(context.Background(), slices.Repeat([]Item{{Name: "a"}}, 5000))
		if err == nil {
			t.Error("5000 items into a store that is down: no error")
		}
		all.Wait()
		down = false
		if _, err := e.Enqueue(t.Context(), "a", nil); err != nil {
			t.Error(err)
		}
	})
}

func TestEnqueueWaitsForTheNumberOfPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newEnqueueStore(t, 3)
		store.askFault = func(n int) error {
			if n < 4 {
				return errLost
			}
			return nil
		}
		e := quietEnqueuer(store, EnqueuerOptions{})
		if _, err := e.Enqueue(t.Context(), "a", nil); err != nil {
			t.Error(err)
		}
		store.askFault = func(int) error { return errLost }
		if receipt, err := e.Enqueue(t.Context(), "a", nil, Queue("other")); !errors.Is(err, errLost) || !strings.Contains(err.Error(), "not sent") || errors.Is(err, context.DeadlineExceeded) || receipt.ID == "" {
			t.Errorf("got %+v, %v; want the store's error alone, for no ctx of the caller's has ended", receipt, err)
		}
		for _, final := range []error{ErrUnfit, ErrStoreFull} {
			store.askFault = func(int) error { return final }
			start := time.Now()
			if _, err := e.Enqueue(t.Context(), "a", nil, Queue("other")); !errors.Is(err, final) || time.Since(start) > 0 {
				t.Errorf("after %v: %v, want %v at once", time.Since(start), err, final)
			}
		}
	})
}

func TestEveryJobArrivesOnceUnderFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newEnqueueStore(t, 3)
		store.rtt = 500 * time.Microsecond
		store.fault = func(n int, _ protocol.EnqueueCall) (before, after error) {
			if n%7 == 0 {
				return errLost, nil
			}
			if n%5 == 0 {
				return nil, errLost
			}
			return nil, nil
		}
		e := quietEnqueuer(store, EnqueuerOptions{})
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
				if _, err := e.EnqueueMany(t.Context(), slices.Repeat([]Item{{Name: "a"}}, 700)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if want := 30*20 + 30*700; len(store.order) != want {
			t.Errorf("%d jobs, want %d", len(store.order), want)
		}
	})
}

// A request with a deadline of its own learns why it came to nothing, and not of a failure that is over.
func TestACallersErrorSaysWithWhatTheStoreHasBeenFailing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newEnqueueStore(t, 1)
		e := quietEnqueuer(store, EnqueuerOptions{})
		asking, sending, failing := errors.New("no password"), errors.New("connection refused"), true
		store.checkFault = func(ctx context.Context, n int) error {
			time.Sleep(2 * time.Second) // fake time: of the check
			if failing {
				return sending
			}
			return nil
		}
		store.fault = func(int, protocol.EnqueueCall) (before, after error) {
			if failing {
				return sending, nil
			}
			return nil, nil
		}
		attempt := func(name string, want error, prefix string) {
			t.Helper()
			for many := range 2 {
				ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
				var err error
				if many == 0 {
					_, err = e.Enqueue(ctx, "a", nil)
				} else {
					_, err = e.EnqueueMany(ctx, []Item{{Name: "a"}, {Name: "b"}})
				}
				stop()
				if want == nil && err != nil || want != nil && (!errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, want) || many == 0 && !strings.Contains(err.Error(), prefix)) {
					t.Errorf("%s: got %v, want %v", name, err, want)
				}
			}
			time.Sleep(time.Minute) // fake time: what the calls left behind is given up
			synctest.Wait()
		}
		store.askFault = func(int) error { time.Sleep(2 * time.Second); return sending } // fake time: of the question
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

		store.rtt = time.Minute // it is slow, and has not failed
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
		defer stop()
		if _, err := e.Enqueue(ctx, "a", nil); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, sending) || errors.Is(err, asking) {
			t.Errorf("got %v, want the end of ctx alone", err)
		}
		time.Sleep(time.Hour) // fake time: the call under way ends
	})
}

func TestObserversHearOfTroubleAndOfItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newEnqueueStore(t, 1)
		store.fault = func(n int, _ protocol.EnqueueCall) (before, after error) {
			if n <= 3 {
				return errLost, nil
			}
			return nil, nil
		}
		var heard []string
		observer := &Observer{Trouble: func(op string, err error) { heard = append(heard, fmt.Sprint(op, " ", errors.Is(err, errLost))) }}
		e := quietEnqueuer(store, EnqueuerOptions{Observers: []*Observer{observer, {}, {Trouble: observer.Trouble}}})
		if _, err := e.Enqueue(t.Context(), "a", nil); err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(heard), "[enqueue true enqueue true enqueue false enqueue false]"; got != want {
			t.Errorf("two observers heard %s, want %s", got, want)
		}
	})
}
