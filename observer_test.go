package chime

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/observe"
)

// The two types have the same layout in memory.
func TestAJobEventHasTheLayoutOfTheEnginesJob(t *testing.T) {
	event, engine := reflect.TypeFor[JobEvent](), reflect.TypeFor[observe.Job]()
	if event.Size() != engine.Size() || event.NumField() != engine.NumField() {
		t.Fatalf("a JobEvent has %d bytes and %d fields, an observe.Job %d and %d", event.Size(), event.NumField(), engine.Size(), engine.NumField())
	}
	for i := range event.NumField() {
		a, b := event.Field(i), engine.Field(i)
		if a.Name != b.Name || a.Offset != b.Offset || a.Type.Kind() != b.Type.Kind() || a.Type.Size() != b.Type.Size() || !a.Type.ConvertibleTo(b.Type) {
			t.Errorf("field %d is %s %v at %d in a JobEvent, and %s %v at %d in an observe.Job", i, a.Name, a.Type, a.Offset, b.Name, b.Type, b.Offset)
		}
	}
}

func TestOneObserverCannotChangeTheEventsOfAnother(t *testing.T) {
	now, failure := time.Now(), errors.New("no")
	want := JobEvent{
		Queue: "q", Name: "n", ID: "i", Schedule: "s", Attempt: 3, Due: now, Started: now.Add(1), Ended: now.Add(2), Outcome: RunDead, Err: failure,
		Origin: observe.Manual, First: true, Waited: now.Add(3), TimedOut: true,
	}
	counted := 0
	changes := &Observer{Ended: func(events []JobEvent) {
		if len(events) != 2 || events[1] != want {
			t.Errorf("the observer got %+v, want %+v", events, want)
		}
		counted++
		clear(events)
	}}
	all, err := observing("Observers", []*Observer{changes, changes, {}, changes}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		one := observe.Job{
			Queue: "q", Name: "n", ID: "i", Schedule: "s", Attempt: 3, Due: now, Started: now.Add(1), Ended: now.Add(2), Outcome: "dead", Err: failure,
			Origin: observe.Manual, First: true, Waited: now.Add(3), TimedOut: true,
		}
		all.Ended([]observe.Job{{}, one})
	}
	if counted != 6 {
		t.Errorf("observers were called %d times, want 6", counted)
	}
}

// countsAll is an observer that counts the events of ordinary jobs.
func countsAll(jobs *atomic.Int64) *Observer {
	count := func(events []JobEvent) { jobs.Add(int64(len(events))) }
	return &Observer{
		Enqueued: count, Taken: count, Begun: count, Ended: count, Slots: func(int, int, int) {}, Called: func(string, time.Duration, error) {},
	}
}

// The events of a job have more than 200 bytes, three times: without reused memory they would take 2 KB. The race detector makes pools lose
// some of their memory, which takes up to 1 KB.
func TestAWorkerTakesNoMemoryForObservers(t *testing.T) {
	const n = 20_000
	var counted atomic.Int64
	least := func(observers ...*Observer) (bytes uint64) {
		bytes = ^uint64(0)
		for range 3 {
			store := newBenchStore(n)
			w := NewWorker(asStore(store), WorkerOptions{Concurrency: 10, Logger: quiet(), Observers: observers})
			ctx, stop := context.WithCancel(t.Context())
			var ran atomic.Int64
			w.Handle("work", func(context.Context, *Job) error {
				if ran.Add(1) == n {
					stop()
				}
				return nil
			})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := w.Run(ctx); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			bytes = min(bytes, (after.TotalAlloc-before.TotalAlloc)/n)
		}
		return bytes
	}
	without, with := least(), least(countsAll(&counted))
	if counted.Load() < 3*3*n { // more, if the worker returned some jobs and took them again
		t.Fatalf("the observer got %d events, want each of %d jobs three times in each of three runs", counted.Load(), n)
	}
	if with > without+1200 {
		t.Errorf("a job takes %d bytes with an observer, %d without", with, without)
	}
}

func TestAnEnqueuerTakesNoMemoryForObservers(t *testing.T) {
	const n = 1000
	var counted atomic.Int64
	items := manyItems(n)
	least := func(enqueue func(e *Enqueuer) error, observers ...*Observer) (bytes uint64) {
		e := quietEnqueuer(instantStore{}, EnqueuerOptions{Observers: observers})
		bytes, _ = leastMemory(func() {
			if err := enqueue(e); err != nil {
				t.Fatal(err)
			}
		})
		return bytes
	}
	for name, enqueue := range map[string]func(e *Enqueuer) error{
		"many": func(e *Enqueuer) error { _, err := e.EnqueueMany(context.Background(), items); return err },
		"one": func(e *Enqueuer) error {
			_, err := e.Enqueue(context.Background(), "report", items[0].Args)
			return err
		},
	} {
		without := least(enqueue)
		with := least(enqueue, &Observer{Enqueued: func(events []JobEvent) { counted.Add(int64(len(events))) }})
		if with > without+100 {
			t.Errorf("%s: %d bytes with an observer, %d without", name, with, without)
		}
	}
	if counted.Load() != 50*(n+1) {
		t.Errorf("the observer got %d jobs, want %d", counted.Load(), 50*(n+1))
	}
}
