package chime

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// An instantStore answers at once and keeps nothing, so that only the enqueuer is measured.
type instantStore struct{ protocol.Store }

func (instantStore) Check(context.Context) error { return nil }

func (instantStore) CheckUse(context.Context, protocol.Use, []string) error { return nil }

func (instantStore) Partitions(context.Context, string) (int, error) { return 1, nil }

func (instantStore) Enqueue(_ context.Context, calls []protocol.EnqueueCall) []protocol.EnqueueAnswer {
	answers := make([]protocol.EnqueueAnswer, len(calls))
	for i := range answers {
		answers[i] = protocol.EnqueueAnswer{Now: time.Now(), Existing: make([]bool, len(calls[i].Items))}
	}
	return answers
}

// manyItems are n jobs of 100 bytes.
func manyItems(n int, options ...EnqueueOption) []Item {
	items := make([]Item, n)
	for i := range items {
		items[i] = Item{Name: "report", Args: []byte(strings.Repeat("x", 100)), Options: options}
	}
	return items
}

// leastMemory returns the least that one of many runs of do has allocated: a garbage collection makes a run allocate more.
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
	// A job allocates its receipt (56 bytes), its ID, and a share of what the call needs.
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
	// The caller keeps the ID; the rest is this store's answer, and some room for other versions of the compiler.
	if bytes > 256 || objects > 6 {
		t.Errorf("one job cost %d bytes in %d objects, want 256 in 6 at most", bytes, objects)
	}
}

// A store may read a call that it has not answered at any later time.
func TestBodiesOfACallThatFailedAreNotOverwritten(t *testing.T) {
	store := newEnqueueStore(t, 1)
	e := quietEnqueuer(store, EnqueuerOptions{})
	var kept []protocol.EnqueueItem
	var texts []string
	store.fault = func(_ int, call protocol.EnqueueCall) (before, after error) {
		for _, item := range call.Items {
			kept, texts = append(kept, item), append(texts, string(item.Body))
		}
		return fmt.Errorf("no: %w", ErrStoreFull), nil
	}
	e.EnqueueMany(t.Context(), manyItems(100))
	e.Enqueue(t.Context(), "a.name.that.is.long.so.that.the.next.body.fits", strings.Repeat("one", 20))
	store.fault = nil
	for i := range 10 {
		if _, err := e.EnqueueMany(t.Context(), manyItems(100, ID(fmt.Sprint("second-", i)))); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Enqueue(t.Context(), "another", "two"); err != nil {
			t.Fatal(err)
		}
	}
	for i, item := range kept {
		if string(item.Body) != texts[i] {
			t.Fatalf("body %d is %q now, was %q", i, item.Body, texts[i])
		}
	}
}

// A caller that does not wait for the outcome leaves its call under way. The memory of that call is not used again.
func TestBodiesOfACallUnderWayAreNotOverwritten(t *testing.T) {
	store := newEnqueueStore(t, 1)
	e := quietEnqueuer(store, EnqueuerOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	waiting, goOn := make(chan struct{}), make(chan struct{})
	first := true
	store.fault = func(_ int, call protocol.EnqueueCall) (before, after error) {
		if first {
			first = false
			close(waiting)
			<-goOn
		}
		return nil, nil
	}
	ended := make(chan error)
	go func() {
		_, err := e.EnqueueMany(ctx, manyItems(50))
		ended <- err
	}()
	<-waiting
	cancel()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "outcome unknown") {
		t.Errorf("got %v, want an error with \"outcome unknown\"", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := e.EnqueueMany(t.Context(), []Item{{Name: "other", Args: []byte(strings.Repeat("y", 100))}}); err != nil {
			t.Error(err)
		}
	}()
	close(goOn)
	<-done
	for i, item := range store.calls[0].Items {
		if env, err := wire.DecodeEnvelope(item.Body); err != nil || env.Name != "report" {
			t.Fatalf("item %d arrived as %q, %v", i, env.Name, err)
		}
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

// BenchmarkEnqueueOne measures what the enqueuer itself needs for one job of one caller.
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
