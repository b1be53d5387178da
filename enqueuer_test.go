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
	"time"

	"github.com/chimejobs/chime/internal/enqueue"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// These tests need only the client: what it refuses, and what it costs. Tests that need a store are in tests/jobs.

func quietEnqueuer(store protocol.Store, options EnqueuerOptions) *Enqueuer {
	options.Logger = slog.New(slog.DiscardHandler)
	return NewEnqueuer(asStore(store), options)
}

// An instantStore replies immediately and keeps nothing, so that only the enqueuer is measured.
type instantStore struct {
	protocol.Store
	partitions int // of a queue; 0: one
}

func (instantStore) Check(context.Context) error { return nil }

func (instantStore) CheckUse(context.Context, protocol.Use, []string) error { return nil }

func (s instantStore) Partitions(context.Context, string) (int, error) {
	return max(s.partitions, 1), nil
}

func (instantStore) Enqueue(_ context.Context, calls []protocol.EnqueueCall) []protocol.EnqueueAnswer {
	answers := make([]protocol.EnqueueAnswer, len(calls))
	for i := range answers {
		answers[i] = protocol.EnqueueAnswer{Now: time.Now(), Existing: make([]bool, len(calls[i].Items))}
	}
	return answers
}

func TestARefusedJobIsNotSentAndTheErrorHasTheReason(t *testing.T) {
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
		e := quietEnqueuer(noStore{}, EnqueuerOptions{})
		receipt, err := e.Enqueue(t.Context(), test.item.Name, test.item.Args, test.item.Options...)
		_, manyErr := e.EnqueueMany(t.Context(), []Item{{Name: "good"}, test.item})
		if err == nil || manyErr == nil {
			t.Errorf("%s: got %v and %v, want both refused", name, err, manyErr)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) || !strings.Contains(manyErr.Error(), want) {
				t.Errorf("%s: %q and %q do not contain %q", name, err, manyErr, want)
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
	e := quietEnqueuer(instantStore{}, EnqueuerOptions{MaxPayload: 10})
	if _, err := e.Enqueue(t.Context(), "a", make([]byte, 10)); err != nil {
		t.Error(err)
	}
	if _, err := e.Enqueue(t.Context(), "a", make([]byte, 11)); !errors.Is(err, ErrPayloadTooLarge) {
		t.Errorf("11 bytes: %v", err)
	}
}

func TestTheFirstCallReturnsBadEnqueuerOptions(t *testing.T) {
	for _, options := range []EnqueuerOptions{{Queue: "a b"}, {MaxPayload: -1}, {MaxPayload: 1 << 30}, {SendTimeout: -1}} {
		e := quietEnqueuer(noStore{}, options)
		if receipt, err := e.Enqueue(t.Context(), "a", nil); err == nil || receipt.ID == "" {
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

func TestEnqueueManyNamesAllBadItems(t *testing.T) {
	e := quietEnqueuer(noStore{}, EnqueuerOptions{})
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

func TestEnqueueManyOfNothingMakesNoCall(t *testing.T) {
	receipts, err := quietEnqueuer(noStore{}, EnqueuerOptions{}).EnqueueMany(t.Context(), nil)
	if err != nil || len(receipts) != 0 {
		t.Errorf("got %v, %v", receipts, err)
	}
}

func TestAnIdleEnqueuerRunsNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	e := quietEnqueuer(instantStore{partitions: 4}, EnqueuerOptions{})
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

// manyItems returns n jobs of 100 bytes.
func manyItems(n int, options ...EnqueueOption) []Item {
	items := make([]Item, n)
	for i := range items {
		items[i] = Item{Name: "report", Args: []byte(strings.Repeat("x", 100)), Options: options}
	}
	return items
}

// leastMemory returns the smallest allocation of many runs of do: a garbage collection makes a run allocate more.
func leastMemory(do func()) (bytes, objects uint64) {
	bytes, objects = ^uint64(0), ^uint64(0)
	for range 50 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		bytes, objects = min(bytes, after.TotalAlloc-before.TotalAlloc), min(objects, after.Mallocs-before.Mallocs)
	}
	return bytes, objects
}

func TestManyJobsCostLittleMemory(t *testing.T) {
	const n = 1000
	e := quietEnqueuer(instantStore{}, EnqueuerOptions{})
	items := manyItems(n)
	bytes, objects := leastMemory(func() {
		if _, err := e.EnqueueMany(context.Background(), items); err != nil {
			t.Fatal(err)
		}
	})
	// A job allocates its receipt (56 bytes), its ID, and its part of the call's memory.
	if bytes > 76*n || objects > 60 {
		t.Errorf("%d jobs cost %d bytes in %d objects, want %d in 60 at most", n, bytes, objects, 76*n)
	}
}

func TestOneJobCostsLittleMemory(t *testing.T) {
	e := quietEnqueuer(instantStore{}, EnqueuerOptions{})
	args := []byte(strings.Repeat("x", 100))
	bytes, objects := leastMemory(func() {
		if _, err := e.Enqueue(context.Background(), "report", args); err != nil {
			t.Fatal(err)
		}
	})
	// The caller keeps the ID. The rest is this store's reply, and some reserve for other versions of the compiler.
	if bytes > 256 || objects > 6 {
		t.Errorf("one job cost %d bytes in %d objects, want 256 in 6 at most", bytes, objects)
	}
}

func BenchmarkEnqueueMany(b *testing.B) {
	e := quietEnqueuer(instantStore{}, EnqueuerOptions{})
	for _, n := range []int{1, 10, 1000} {
		items := manyItems(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.EnqueueMany(context.Background(), items); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/job")
		})
	}
}

// BenchmarkEnqueueOne measures the enqueuer's own work for one job of one caller.
func BenchmarkEnqueueOne(b *testing.B) {
	e := quietEnqueuer(instantStore{}, EnqueuerOptions{})
	args := []byte(strings.Repeat("x", 100))
	mayEnd, cancel := context.WithCancel(context.Background())
	defer cancel()
	for name, ctx := range map[string]context.Context{"ctx that never ends": context.Background(), "ctx that may end": mayEnd} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Enqueue(ctx, "report", args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A farStore is an instantStore that is 50 µs away and needs 20 µs for a call and 1.8 µs for a job. It does one call at a time.
type farStore struct {
	instantStore
	server sync.Mutex
}

const farRoundTrip = 50 * time.Microsecond

func (s *farStore) Enqueue(ctx context.Context, calls []protocol.EnqueueCall) []protocol.EnqueueAnswer {
	spin(farRoundTrip / 2)
	for i := range calls {
		s.carryOut(&calls[i])
	}
	spin(farRoundTrip / 2)
	return s.instantStore.Enqueue(ctx, calls)
}

// carryOut spends the server's time for a call.
func (s *farStore) carryOut(call *protocol.EnqueueCall) {
	s.server.Lock()
	defer s.server.Unlock()
	for end := time.Now().Add(20*time.Microsecond + time.Duration(len(call.Items))*1800*time.Nanosecond); time.Now().Before(end); {
	}
}

// spin waits for a time that is too short for a timer.
func spin(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		runtime.Gosched()
	}
}

// BenchmarkEnqueue measures how many jobs a second some goroutines enqueue on a server 50 µs away that needs 20 µs for a call and 1.8 µs for
// a job. With many goroutines the 50 µs do not matter for the unbatched calls, because the server is what limits them.
func BenchmarkEnqueue(b *testing.B) {
	body := (&wire.Envelope{Name: "a", Payload: make([]byte, 100)}).Encode()
	for _, goroutines := range []int{1, 16, 100, 1000} {
		store := &farStore{}
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
					spin(farRoundTrip)
				}
				store.carryOut(&protocol.EnqueueCall{Number: 1, Items: []protocol.EnqueueItem{{ID: enqueue.NewID(), Body: body}}})
			})
		})
	}
}

// onGoroutines calls do b.N times in total, from several goroutines.
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
