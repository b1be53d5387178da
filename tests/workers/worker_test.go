package workers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

func job(name string) wire.Envelope { return wire.Envelope{Name: name, MaxAttempts: 25} }

func TestJobsRunOnceAndAreSettled(t *testing.T) {
	for _, concurrency := range []int{1, 3, 100} {
		t.Run(fmt.Sprint(concurrency), func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				store := f.Hooked()
				store.Latency = time.Millisecond
				w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: concurrency})
				var ran, running, peak atomic.Int64
				w.Handle("work", func(context.Context, *chime.Job) error {
					peak.Store(max(peak.Load(), running.Add(1)))
					time.Sleep(10 * time.Millisecond) // fake time: the job takes this long
					running.Add(-1)
					ran.Add(1)
					return nil
				})
				f.Enqueue("default", job("work"), fixture.Names("job", 50)...)
				stop := fixture.Start(w)
				f.Enqueue("default", job("work"), "late")
				fixture.Pass(time.Minute)
				if err := stop(); err != nil {
					t.Fatal(err)
				}
				if ran.Load() != 51 || store.Kinds()[protocol.SettleDone] != 51 {
					t.Errorf("%d handlers ran and %v settled, want 51 of both", ran.Load(), store.Kinds())
				}
				if peak.Load() > int64(concurrency) {
					t.Errorf("%d handlers at once, want at most %d", peak.Load(), concurrency)
				}
				f.CheckEmpty()
			})
		})
	}
}

func TestAFailedJobIsRetriedUntilItsAttemptsAreUsedUp(t *testing.T) {
	tests := []struct {
		name    string
		handler chime.Handler
		options []chime.HandlerOption
		want    map[protocol.SettleKind]int
		within  time.Duration
	}{
		{"a plain error is retried until the attempts are used up", func(context.Context, *chime.Job) error { return errors.New("no") }, nil, map[protocol.SettleKind]int{protocol.SettleLater: 3, protocol.SettleDead: 1}, 3 * time.Minute},
		{"discard is dead at once", func(context.Context, *chime.Job) error { return chime.Discard(errors.New("no")) }, nil, map[protocol.SettleKind]int{protocol.SettleDead: 1}, time.Second},
		{"a wrapped discard is dead at once too", func(context.Context, *chime.Job) error { return fmt.Errorf("x: %w", chime.Discard(errors.New("no"))) }, nil, map[protocol.SettleKind]int{protocol.SettleDead: 1}, time.Second},
		{"a panic is a failure", func(context.Context, *chime.Job) error { panic("oh") }, nil, map[protocol.SettleKind]int{protocol.SettleLater: 3, protocol.SettleDead: 1}, 3 * time.Minute},
		{"panic(nil) is a failure", func(context.Context, *chime.Job) error { panic(nil) }, nil, map[protocol.SettleKind]int{protocol.SettleLater: 3, protocol.SettleDead: 1}, 3 * time.Minute},
		{"Goexit is a failure", func(context.Context, *chime.Job) error { runtime.Goexit(); return nil }, nil, map[protocol.SettleKind]int{protocol.SettleLater: 3, protocol.SettleDead: 1}, 3 * time.Minute},
		{"RetryAfter waits as long as given", func(_ context.Context, job *chime.Job) error {
			if job.Attempt == 2 {
				return nil
			}
			return chime.RetryAfter(time.Hour, errors.New("no"))
		}, nil, map[protocol.SettleKind]int{protocol.SettleLater: 1, protocol.SettleDone: 1}, time.Hour + time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				store := f.Hooked()
				w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 2, Logger: fixture.Quiet()})
				attempts := 0
				w.Handle("work", func(ctx context.Context, job *chime.Job) error {
					attempts++
					if job.Attempt != attempts {
						t.Errorf("attempt is %d, want %d", job.Attempt, attempts)
					}
					return test.handler(ctx, job)
				}, test.options...)
				f.Enqueue("default", wire.Envelope{Name: "work", MaxAttempts: 4}, "a")
				stop := fixture.Start(w)
				fixture.Pass(test.within)
				if got := store.Kinds(); !maps.Equal(got, test.want) {
					t.Errorf("after %v settled as %v, want %v", test.within, got, test.want)
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
				f.CheckEmpty()
			})
		})
	}
}

func TestSnoozeUsesUpNoAttempt(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 2, Logger: fixture.Quiet()})
		var at []time.Time
		w.Handle("work", func(_ context.Context, job *chime.Job) error {
			at = append(at, time.Now())
			if job.Attempt != 1 {
				t.Errorf("attempt %d after a snooze, want 1", job.Attempt)
			}
			if len(at) < 4 {
				return chime.Snooze(time.Hour)
			}
			return nil
		})
		f.Enqueue("default", job("work"), "a")
		stop := fixture.Start(w)
		fixture.Pass(4 * time.Hour)
		if len(at) != 4 || at[1].Sub(at[0]) < time.Hour || at[1].Sub(at[0]) > time.Hour+100*time.Millisecond {
			t.Errorf("ran at %v, want 4 times an hour apart", at)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestATimeoutEndsTheContextAndTheJobButKeepsTheSlot(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 1, Logger: fixture.Quiet()})
		release := make(chan struct{})
		var cause, err error
		w.Handle("hang", func(ctx context.Context, _ *chime.Job) error {
			<-ctx.Done()
			cause, err = context.Cause(ctx), ctx.Err()
			<-release
			return nil
		})
		ran := false
		w.Handle("next", func(context.Context, *chime.Job) error { ran = true; return nil })
		f.Enqueue("default", wire.Envelope{Name: "hang", MaxAttempts: 1, Timeout: time.Minute}, "a")
		f.Enqueue("default", job("next"), "b")
		stop := fixture.Start(w)
		fixture.Pass(time.Minute + time.Second)
		if !errors.Is(cause, chime.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the timeout Cause = %v and Err = %v, want ErrTimeout and DeadlineExceeded", cause, err)
		}
		if got := store.Kinds(); len(got) != 0 {
			t.Errorf("a second after the timeout settled %v, want nothing yet", got)
		}
		fixture.Pass(10 * time.Second)
		if got := store.Kinds(); got[protocol.SettleDead] != 1 || ran {
			t.Errorf("11 s after the timeout settled %v and the slot is free: %v; want one dead and the slot taken", got, ran)
		}
		close(release)
		fixture.Pass(time.Second)
		if got := store.Kinds(); !ran || got[protocol.SettleDead] != 1 || got[protocol.SettleDone] != 1 {
			t.Errorf("after the handler has returned settled %v, next ran: %v; want its result dropped and the slot free", got, ran)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}

func TestQueuesShareTheSlotsByWeight(t *testing.T) {
	for _, concurrency := range []int{1, 8} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			store := f.Hooked()
			w := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"high": 3, "low": 1}, Concurrency: concurrency, Logger: fixture.Quiet()})
			var mu sync.Mutex
			ran := make(map[string]int)
			w.Handle("work", func(_ context.Context, job *chime.Job) error {
				time.Sleep(100 * time.Millisecond) // fake time: the job takes this long
				mu.Lock()
				ran[job.Queue]++
				mu.Unlock()
				return nil
			})
			for _, queue := range []string{"high", "low"} {
				f.Enqueue(queue, job("work"), fixture.Names(queue, 1000)...)
			}
			stop := fixture.Start(w)
			fixture.Pass(10 * time.Second)
			mu.Lock()
			if share := float64(ran["high"]) / float64(ran["low"]); share < 2.7 || share > 3.3 {
				t.Errorf("with %d slots %v ran, want three high for one low", concurrency, ran)
			}
			mu.Unlock()
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMiddlewareRunsOutermostFirst(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		w := chime.NewWorker(store, chime.WorkerOptions{})
		var order []string
		layer := func(name string) func(chime.Handler) chime.Handler {
			return func(next chime.Handler) chime.Handler {
				return func(ctx context.Context, job *chime.Job) error {
					order = append(order, name)
					return next(ctx, job)
				}
			}
		}
		w.Use(layer("a"), layer("b"))
		w.Handle("work", func(context.Context, *chime.Job) error { order = append(order, "handler"); return nil })
		w.Use(layer("c"))
		f.Enqueue("default", job("work"), "a")
		stop := fixture.Start(w)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if got, want := strings.Join(order, " "), "a b c handler"; got != want {
			t.Errorf("ran %q, want %q", got, want)
		}
	})
}
