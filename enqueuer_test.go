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
		time.Sleep(1500 * time.Millisecond) // fake time: the last caller comes later
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
