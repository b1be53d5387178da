package chime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/enqueue"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

func quietEnqueuer(store protocol.Store, options EnqueuerOptions) *Enqueuer {
	options.Logger = slog.New(slog.DiscardHandler)
	return NewEnqueuer(asStore(store), options)
}

func TestOptionsSetWhatIsEnqueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newEnqueueStore(t, 4)
		e := quietEnqueuer(store, EnqueuerOptions{})
		at := time.Now().Add(time.Hour)
		for name, test := range map[string]struct {
			options []EnqueueOption
			want    func(protocol.EnqueueItem, wire.Envelope, protocol.Partition) bool
		}{
			"now": {nil, func(i protocol.EnqueueItem, e wire.Envelope, p protocol.Partition) bool {
				return i.In == 0 && i.At.IsZero() && !i.Own && e.MaxAttempts == 0 && e.Timeout == 0 && p.Queue == "default" && e.Planned.Equal(time.Now())
			}},
			"in": {[]EnqueueOption{In(time.Minute)}, func(i protocol.EnqueueItem, e wire.Envelope, p protocol.Partition) bool {
				return i.In == time.Minute && e.Planned.Equal(time.Now().Add(time.Minute))
			}},
			"in the past": {[]EnqueueOption{In(-time.Minute)}, func(i protocol.EnqueueItem, e wire.Envelope, p protocol.Partition) bool {
				return i.In == 0 && i.At.IsZero()
			}},
			"at": {[]EnqueueOption{At(at)}, func(i protocol.EnqueueItem, e wire.Envelope, p protocol.Partition) bool {
				return i.In == 0 && i.At.Equal(at) && e.Planned.Equal(at)
			}},
			"own": {[]EnqueueOption{ID("own"), Queue("mail"), MaxAttempts(3), Timeout(time.Minute)}, func(i protocol.EnqueueItem, e wire.Envelope, p protocol.Partition) bool {
				return i.ID == "own" && i.Own && p.Queue == "mail" && e.MaxAttempts == 3 && e.Timeout == time.Minute
			}},
		} {
			receipt, err := e.Enqueue(t.Context(), "report", []byte("payload"), test.options...)
			if err != nil || receipt.Existing {
				t.Errorf("%s: got %+v, %v", name, receipt, err)
				continue
			}
			call := store.calls[len(store.calls)-1]
			item := call.Items[0]
			env, err := wire.DecodeEnvelope(item.Body)
			if err != nil || env.Name != "report" || string(env.Payload) != "payload" || !test.want(item, env, call.Partition) {
				t.Errorf("%s: sent %+v with %+v to %v", name, item, env, call.Partition)
			}
			if item.ID != receipt.ID || call.Partition.Index != protocol.PartitionOf(item.ID, 4) {
				t.Errorf("%s: receipt says %q, %q was sent to %v", name, receipt.ID, item.ID, call.Partition)
			}
		}
		if receipt, err := e.Enqueue(t.Context(), "report", nil, ID("own"), Queue("mail")); err != nil || !receipt.Existing {
			t.Errorf("the same ID again: got %+v, %v; want Existing", receipt, err)
		}
	})
}

func TestARefusedJobIsNotSentAndTheErrorSaysWhy(t *testing.T) {
	far := 200 * 365 * 24 * time.Hour
	for name, test := range map[string]struct {
		item Item
		want []string
	}{
		"no name":          {Item{}, []string{"job name"}},
		"a bad name":       {Item{Name: "a b"}, []string{"job name", `"a b"`}},
		"a long name":      {Item{Name: strings.Repeat("n", 101)}, []string{"job name", "101", "100"}},
		"a large payload":  {Item{Name: "a", Args: make([]byte, 1<<20+1)}, []string{"args", "1048577", "1048576"}},
		"large args":       {Item{Name: "a", Args: strings.Repeat("x", 1<<20)}, []string{"args", "1048576"}},
		"a channel":        {Item{Name: "a", Args: make(chan int)}, []string{"args", "chan"}},
		"in 200 years":     {Item{Name: "a", Options: []EnqueueOption{In(far)}}, []string{"in", "100 years"}},
		"at in 200 years":  {Item{Name: "a", Options: []EnqueueOption{At(time.Now().Add(far))}}, []string{"at", "100 years"}},
		"200 years ago":    {Item{Name: "a", Options: []EnqueueOption{At(time.Now().Add(-far))}}, []string{"at", "100 years"}},
		"at the zero time": {Item{Name: "a", Options: []EnqueueOption{At(time.Time{})}}, []string{"at", "100 years"}},
		"a bad queue":      {Item{Name: "a", Options: []EnqueueOption{Queue("{x}")}}, []string{"queue", "{x}"}},
		"no attempts":      {Item{Name: "a", Options: []EnqueueOption{MaxAttempts(0)}}, []string{"attempts", "0"}},
		"no timeout":       {Item{Name: "a", Options: []EnqueueOption{Timeout(0)}}, []string{"timeout", "0s"}},
		"an empty ID":      {Item{Name: "a", Options: []EnqueueOption{ID("")}}, []string{"ID"}},
		"an occurrence":    {Item{Name: "a", Options: []EnqueueOption{ID("a@2026-01-01T00:00:00Z")}}, []string{"ID", "@"}},
	} {
		store := newEnqueueStore(t, 1)
		e := quietEnqueuer(store, EnqueuerOptions{})
		receipt, err := e.Enqueue(t.Context(), test.item.Name, test.item.Args, test.item.Options...)
		_, manyErr := e.EnqueueMany(t.Context(), []Item{{Name: "good"}, test.item})
		if err == nil || manyErr == nil || store.asked+store.roundTrips > 0 {
			t.Errorf("%s: got %v and %v, and the store was asked %d times", name, err, manyErr, store.asked+store.roundTrips)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) || !strings.Contains(manyErr.Error(), want) {
				t.Errorf("%s: %q and %q do not say %q", name, err, manyErr, want)
			}
		}
		if !strings.Contains(manyErr.Error(), "item 1") || len(manyErr.Error()) > 400 {
			t.Errorf("%s: %q", name, manyErr)
		}
		if got := errors.Is(err, ErrPayloadTooLarge); got != strings.Contains(name, "large") {
			t.Errorf("%s: %v is ErrPayloadTooLarge: %v", name, err, got)
		}
		if receipt.ID == "" && !slices.Contains(test.want, "ID") {
			t.Errorf("%s: receipt has no ID", name)
		}
	}
}

func TestMaxPayloadLimitsPayloads(t *testing.T) {
	store := newEnqueueStore(t, 1)
	e := quietEnqueuer(store, EnqueuerOptions{MaxPayload: 10})
	if _, err := e.Enqueue(t.Context(), "a", make([]byte, 10)); err != nil {
		t.Error(err)
	}
	if _, err := e.Enqueue(t.Context(), "a", make([]byte, 11)); !errors.Is(err, ErrPayloadTooLarge) {
		t.Errorf("11 bytes: %v", err)
	}
}

func TestEnqueueManyNamesAllBadItems(t *testing.T) {
	e := quietEnqueuer(newEnqueueStore(t, 1), EnqueuerOptions{})
	receipts, err := e.EnqueueMany(t.Context(), []Item{{Name: "a"}, {Name: ""}, {Name: "b"}, {Name: "c", Options: []EnqueueOption{MaxAttempts(-1), Queue("")}}})
	if err == nil || !strings.Contains(err.Error(), "item 1") || !strings.Contains(err.Error(), "item 3") || strings.Contains(err.Error(), "item 2") {
		t.Errorf("got %v", err)
	}
	for i, receipt := range receipts {
		if receipt.ID == "" {
			t.Errorf("receipt %d has no ID", i)
		}
	}
}

func TestTheFirstCallReturnsBadEnqueuerOptions(t *testing.T) {
	for _, options := range []EnqueuerOptions{{Queue: "a b"}, {MaxPayload: -1}, {MaxPayload: 1 << 30}, {SendTimeout: -1}} {
		store := newEnqueueStore(t, 1)
		e := quietEnqueuer(store, options)
		if receipt, err := e.Enqueue(t.Context(), "a", nil); err == nil || receipt.ID == "" || store.asked > 0 {
			t.Errorf("%+v: got %+v, %v", options, receipt, err)
		}
		if receipts, err := e.EnqueueMany(t.Context(), make([]Item, 3)); err == nil || receipts[2].ID == "" || strings.Contains(err.Error(), "item") {
			t.Errorf("%+v: got %+v, %v", options, receipts, err)
		}
	}
	if _, err := quietEnqueuer(nil, EnqueuerOptions{}).Enqueue(t.Context(), "a", nil); err == nil {
		t.Error("no store: no error")
	}
}

func TestEnqueueManySendsFewCallsInOrder(t *testing.T) {
	store := newEnqueueStore(t, 1)
	e := quietEnqueuer(store, EnqueuerOptions{})
	items := make([]Item, 1750)
	for i := range items {
		items[i] = Item{Name: "a", Args: i}
	}
	items[7].Options = []EnqueueOption{ID("twice")}
	items[1700].Options = []EnqueueOption{ID("twice")}
	receipts, err := e.EnqueueMany(t.Context(), items)
	if err != nil {
		t.Fatal(err)
	}
	if len(store.calls) != 4 {
		t.Errorf("%d calls, want 4", len(store.calls))
	}
	if receipts[7].Existing || !receipts[1700].Existing {
		t.Errorf("of two with one ID: %+v and %+v, want the second Existing", receipts[7], receipts[1700])
	}
	want := make([]string, 0, len(items))
	for i, receipt := range receipts {
		if i != 1700 {
			want = append(want, receipt.ID)
		}
	}
	if !slices.Equal(store.order, want) {
		t.Error("jobs are not in the order of the items")
	}
}

func TestEnqueueManySendsAllPartitionsInOneRoundTrip(t *testing.T) {
	store := newEnqueueStore(t, 8)
	e := quietEnqueuer(store, EnqueuerOptions{})
	items := make([]Item, 1000)
	for i := range items {
		items[i] = Item{Name: "a", Options: []EnqueueOption{ID(fmt.Sprint(i)), Queue([]string{"x", "y"}[i%2])}}
	}
	for _, existing := range []bool{false, true} {
		store.roundTrips = 0
		receipts, err := e.EnqueueMany(t.Context(), items)
		if err != nil {
			t.Fatal(err)
		}
		for i, receipt := range receipts {
			if receipt.ID != fmt.Sprint(i) || receipt.Existing != existing {
				t.Fatalf("receipt %d is %+v, want Existing %v", i, receipt, existing)
			}
		}
		if store.roundTrips != 1 {
			t.Errorf("%d round trips, want 1", store.roundTrips)
		}
	}
}

func TestLargePayloadsAreSplitIntoCallsOfAboutAMebibyte(t *testing.T) {
	store := newEnqueueStore(t, 1)
	e := quietEnqueuer(store, EnqueuerOptions{})
	items := make([]Item, 10)
	for i := range items {
		items[i] = Item{Name: "a", Args: make([]byte, 400<<10)}
	}
	items[3].Args = make([]byte, 1<<20)
	if _, err := e.EnqueueMany(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	if len(store.order) != 10 || len(store.calls) != 6 {
		t.Errorf("%d jobs in %d calls, want 10 in 6", len(store.order), len(store.calls))
	}
}

func TestEnqueueManyOfNothingMakesNoCall(t *testing.T) {
	store := newEnqueueStore(t, 1)
	receipts, err := quietEnqueuer(store, EnqueuerOptions{}).EnqueueMany(t.Context(), nil)
	if err != nil || len(receipts) != 0 || store.asked+store.roundTrips > 0 {
		t.Errorf("got %v, %v", receipts, err)
	}
}

func TestConcurrentCallsShareRoundTrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newEnqueueStore(t, 1)
		store.rtt = time.Millisecond
		e := quietEnqueuer(store, EnqueuerOptions{})
		start := time.Now()
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() {
				if _, err := e.Enqueue(t.Context(), "a", nil); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if len(store.order) != 1000 || store.roundTrips > 4 || time.Since(start) > 4*time.Millisecond {
			t.Errorf("%d jobs in %d round trips and %v; want 1000 in 4 and 4ms", len(store.order), store.roundTrips, time.Since(start))
		}
		if store.asked != 1 {
			t.Errorf("the store was asked %d times for the number of partitions, want once", store.asked)
		}
	})
}

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
		time.Sleep(time.Minute)
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
			time.Sleep(time.Duration(i) * 100 * time.Millisecond)
			if _, err := e.Enqueue(t.Context(), "a", nil); err != nil {
				t.Error(err)
			}
			store.answers = false
			time.Sleep(time.Duration(i) * 70 * time.Millisecond)
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

func TestACancelledCallerEndsOnlyItsOwnWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newEnqueueStore(t, 1)
		store.rtt = time.Second
		e := quietEnqueuer(store, EnqueuerOptions{})
		var all sync.WaitGroup
		ended := make([]error, 4)
		took := make([]time.Duration, 4)
		receipts := make([]Receipt, 4)
		call := func(i int, d time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			start := time.Now()
			receipts[i], ended[i] = e.Enqueue(ctx, "a", nil)
			took[i] = time.Since(start)
		}
		all.Go(func() { call(0, 100*time.Millisecond) }) // is sent at once
		synctest.Wait()
		all.Go(func() { call(1, 100*time.Millisecond) }) // waits behind it
		all.Go(func() { call(2, time.Minute) })
		synctest.Wait()
		time.Sleep(1500 * time.Millisecond)
		all.Go(func() { call(3, time.Minute) })
		all.Wait()
		for i, want := range []struct {
			text string
			took time.Duration
			job  bool
		}{{"outcome unknown", 100 * time.Millisecond, true}, {"not sent", 100 * time.Millisecond, false}, {"", 2 * time.Second, true}, {"", 1500 * time.Millisecond, true}} {
			if (ended[i] == nil) != (want.text == "") || ended[i] != nil && (!strings.Contains(ended[i].Error(), want.text) || !errors.Is(ended[i], context.DeadlineExceeded)) {
				t.Errorf("call %d: got %v, want %q", i, ended[i], want.text)
			}
			if _, there := store.jobs[receipts[i].ID]; there != want.job || took[i] != want.took {
				t.Errorf("call %d: took %v, job there %v; want %v, %v", i, took[i], there, want.took, want.job)
			}
		}
		if _, err := e.Enqueue(cancelled(t), "a", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("with a ctx that has ended: got %v, want context.Canceled", err)
		}
	})
}

func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
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
			time.Sleep(5 * time.Millisecond)
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

func TestALargeCallDoesNotDelayASmallOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newEnqueueStore(t, 1)
		store.rtt = time.Millisecond
		e := quietEnqueuer(store, EnqueuerOptions{})
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := e.EnqueueMany(t.Context(), slices.Repeat([]Item{{Name: "a"}}, 10_000)); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		start := time.Now()
		if _, err := e.Enqueue(t.Context(), "a", nil); err != nil || time.Since(start) > 3*time.Millisecond {
			t.Errorf("took %v, %v; want 3ms at most", time.Since(start), err)
		}
		all.Wait()
		if len(store.order) != 10_001 {
			t.Errorf("%d jobs, want 10001", len(store.order))
		}
	})
}

func TestAnIdleEnqueuerRunsNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	e := quietEnqueuer(newEnqueueStore(t, 4), EnqueuerOptions{})
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() { e.Enqueue(t.Context(), "a", nil) })
	}
	all.Wait()
	deadline, tick := time.After(10*time.Second), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for runtime.NumGoroutine() > before {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%d goroutines, want %d", runtime.NumGoroutine(), before)
		}
	}
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

// BenchmarkEnqueue measures how many jobs a second a number of goroutines enqueue on a server 50 µs away that needs 20 µs for a call
// and 1.8 µs for a job. With many goroutines the unbatched calls leave out the 50 µs, because the server is what limits them.
func BenchmarkEnqueue(b *testing.B) {
	body := (&wire.Envelope{Name: "a", Payload: make([]byte, 100)}).Encode()
	for _, goroutines := range []int{1, 16, 100, 1000} {
		store := newEnqueueStore(b, 1)
		store.keep, store.rtt, store.perCall, store.perItem = false, 50*time.Microsecond, 20*time.Microsecond, 1800*time.Nanosecond
		e := quietEnqueuer(store, EnqueuerOptions{})
		b.Run(fmt.Sprintf("batched/%d", goroutines), func(b *testing.B) {
			onGoroutines(b, goroutines, func() {
				if _, err := e.Enqueue(context.Background(), "a", body); err != nil {
					b.Error(err)
				}
			})
		})
		b.Run(fmt.Sprintf("unbatched/%d", goroutines), func(b *testing.B) {
			onGoroutines(b, goroutines, func() {
				if goroutines == 1 {
					wait(context.Background(), store.rtt)
				}
				store.enqueue(protocol.EnqueueCall{Number: 1, Items: []protocol.EnqueueItem{{ID: enqueue.NewID(), Body: body}}})
			})
		})
	}
}

// onGoroutines calls do b.N times in total, from a number of goroutines.
func onGoroutines(b *testing.B, goroutines int, do func()) {
	b.ReportAllocs()
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				do()
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}
