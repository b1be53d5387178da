package workers_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/chimejobs/chime/tests/internal/hookstore"
)

// TestEveryJobEndsOnceUnderFaults runs three workers on a store that, at random, loses calls and replies, is unavailable, and reaps
// sessions. Each seed is another sequence of faults; after each of them every job has ended exactly once.
func TestEveryJobEndsOnceUnderFaults(t *testing.T) {
	for _, seed := range long.Draw(2, 30) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) { chaos(t, f, seed, false) })
		})
	}
}

// The same with handlers that get several jobs, each with its own outcome.
func TestEveryJobOfACallEndsOnceUnderFaults(t *testing.T) {
	for _, seed := range long.Draw(1, 30) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) { chaos(t, f, seed, true) })
		})
	}
}

func chaos(t *testing.T, f *fixture.Fixture, seed uint64, many bool) {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 1))
	chance := func(n int) bool {
		mu.Lock()
		defer mu.Unlock()
		return n > 0 && random.IntN(n) == 0
	}
	upTo := func(d time.Duration) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(random.Int64N(int64(d) + 1))
	}
	store := f.Hooked()
	store.Latency = upTo(3 * time.Millisecond)
	f.Partition("a", 1+int(seed%3))
	lossy := 2 + int(seed%9)
	calm := false
	var outage time.Time
	store.SetFault(func(act string, _ protocol.Partition) (before, after error) {
		mu.Lock()
		c, o := calm, outage
		mu.Unlock()
		if c {
			return nil, nil
		}
		if time.Now().Before(o) || chance(lossy) {
			return hookstore.ErrReset, nil
		}
		if chance(lossy) {
			return nil, hookstore.ErrReset
		}
		return nil, nil
	})
	const jobs = 400
	ended := make(map[string]int)
	var stops []func() error
	start := func() {
		concurrency := 1 + int(upTo(12))
		running := 0
		w := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"a": 2, "b": 1}, Concurrency: concurrency, MaxCrashes: 1000, Logger: fixture.Quiet()})
		handle := func(ctx context.Context) error {
			mu.Lock()
			if running++; running > concurrency {
				t.Errorf("%d handlers at once, want at most %d", running, concurrency)
			}
			mu.Unlock()
			defer func() { mu.Lock(); running--; mu.Unlock() }()
			long := []time.Duration{0, 10 * time.Microsecond, time.Millisecond, 300 * time.Millisecond, 20 * time.Second}[upTo(4)]
			if chance(10) {
				time.Sleep(long) // a handler that ignores its ctx
			} else {
				select {
				case <-after(long):
				case <-ctx.Done():
				}
			}
			switch {
			case ctx.Err() != nil && chance(2):
				return context.Cause(ctx)
			case chance(20):
				return errors.New("failed")
			case chance(20):
				return chime.Snooze(upTo(time.Minute))
			case chance(50):
				panic("oh")
			}
			return nil
		}
		if many {
			options := chime.Many{Size: 1 + int(upTo(20)), Wait: upTo(500 * time.Millisecond), Together: chance(3)}
			w.HandleMany("work", options, func(ctx context.Context, jobs []*chime.Job) error {
				err := handle(ctx)
				if err != nil || chance(2) {
					return err
				}
				each := chime.Each{}
				for _, job := range jobs {
					switch {
					case chance(10):
						each[job.ID] = errors.New("failed")
					case chance(10):
						each[job.ID] = chime.Snooze(upTo(time.Minute))
					case chance(2):
						each[job.ID] = nil
					}
				}
				return each
			})
		} else {
			w.Handle("work", func(ctx context.Context, _ *chime.Job) error { return handle(ctx) })
		}
		stops = append(stops, fixture.Start(w))
	}
	for range 3 {
		start()
	}
	for i := range jobs {
		queue := []string{"a", "b"}[i%2]
		if i%5 == 0 {
			f.EnqueueAt(queue, time.Now().Add(upTo(10*time.Minute)), wire.Envelope{Name: "work", MaxAttempts: 1 << 30}, fmt.Sprint("j", i))
		} else {
			f.Enqueue(queue, wire.Envelope{Name: "work", MaxAttempts: 1 << 30}, fmt.Sprint("j", i))
		}
		if i%10 == 0 {
			time.Sleep(upTo(2 * time.Second)) // fake time: jobs come over a while
		}
		switch {
		case chance(100):
			f.LoseSessions()
		case chance(80):
			mu.Lock()
			outage = time.Now().Add(20 * time.Second)
			mu.Unlock()
		case chance(60):
			last := len(stops) - 1
			if err := stops[last](); err != nil {
				t.Logf("Run: %v", err)
			}
			stops = stops[:last]
			start()
		}
	}
	fixture.Pass(10 * time.Minute)
	mu.Lock()
	calm = true
	mu.Unlock()
	over := func() bool {
		kinds := store.Kinds()
		return kinds[protocol.SettleDone]+kinds[protocol.SettleDead] >= jobs
	}
	for calmed := time.Now(); !over() && time.Since(calmed) < 3*time.Hour; {
		fixture.Pass(time.Minute)
	}
	allEnded := time.Now()
	fixture.Pass(5 * time.Minute) // in which none runs once more
	for _, stop := range stops {
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	}
	f.CheckEmptySince(allEnded)
	t.Logf("calls %v, settled %v, %d refused", store.Counts(), store.Kinds(), store.Refused())
	for _, x := range store.Settled() {
		if x.Kind == protocol.SettleDone || x.Kind == protocol.SettleDead {
			ended[x.ID]++
		}
	}
	for i := range jobs {
		if id := fmt.Sprint("j", i); ended[id] != 1 {
			t.Errorf("%s ended %d times, want once", id, ended[id])
		}
	}
}

// after is time.After, and for no time at all a channel that is ready without a timer.
func after(d time.Duration) <-chan time.Time {
	if d > 0 {
		return time.After(d)
	}
	ready := make(chan time.Time)
	close(ready)
	return ready
}
