package chime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// startWorker runs a worker inside a bubble until stop is called, which returns what Run returned.
func startWorker(t *testing.T, w *Worker) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	synctest.Wait()
	return func() error {
		cancel()
		return <-done
	}
}

func ids(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("job-%04d", i)
	}
	return ids
}

func job(name string) wire.Envelope { return wire.Envelope{Name: name, MaxAttempts: 25} }

func TestJobsRunOnceAndAreSettled(t *testing.T) {
	for _, concurrency := range []int{1, 3, 100} {
		t.Run(fmt.Sprint(concurrency), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newFakeJobStore(t)
				store.latency = time.Millisecond
				w := NewWorker(asStore(store), WorkerOptions{Concurrency: concurrency})
				var ran, running, peak atomic.Int64
				w.Handle("work", func(context.Context, *Job) error {
					peak.Store(max(peak.Load(), running.Add(1)))
					time.Sleep(10 * time.Millisecond) // fake time: the job takes this long
					running.Add(-1)
					ran.Add(1)
					return nil
				})
				store.add("default", job("work"), ids(50)...)
				stop := startWorker(t, w)
				store.add("default", job("work"), "late")
				pass(time.Minute)
				if err := stop(); err != nil {
					t.Fatal(err)
				}
				if ran.Load() != 51 || store.kinds()[protocol.SettleDone] != 51 {
					t.Errorf("%d handlers ran and %v settled, want 51 of both", ran.Load(), store.kinds())
				}
				if peak.Load() > int64(concurrency) {
					t.Errorf("%d handlers at once, want at most %d", peak.Load(), concurrency)
				}
				store.checkEmpty()
			})
		})
	}
}

func TestAFailedJobIsRetriedUntilItsAttemptsAreUsedUp(t *testing.T) {
	tests := []struct {
		name    string
		handler Handler
		options []HandlerOption
		want    map[protocol.SettleKind]int
		within  time.Duration
	}{
		{"a plain error is retried until the attempts are used up", func(context.Context, *Job) error { return errors.New("no") }, nil, map[protocol.SettleKind]int{protocol.SettleLater: 3, protocol.SettleDead: 1}, 3 * time.Minute},
		{"discard is dead at once", func(context.Context, *Job) error { return Discard(errors.New("no")) }, nil, map[protocol.SettleKind]int{protocol.SettleDead: 1}, time.Second},
		{"a wrapped discard too", func(context.Context, *Job) error { return fmt.Errorf("x: %w", Discard(errors.New("no"))) }, nil, map[protocol.SettleKind]int{protocol.SettleDead: 1}, time.Second},
		{"a panic is a failure", func(context.Context, *Job) error { panic("oh") }, nil, map[protocol.SettleKind]int{protocol.SettleLater: 3, protocol.SettleDead: 1}, 3 * time.Minute},
		{"panic(nil) is a failure", func(context.Context, *Job) error { panic(nil) }, nil, map[protocol.SettleKind]int{protocol.SettleLater: 3, protocol.SettleDead: 1}, 3 * time.Minute},
		{"Goexit is a failure", func(context.Context, *Job) error { runtime.Goexit(); return nil }, nil, map[protocol.SettleKind]int{protocol.SettleLater: 3, protocol.SettleDead: 1}, 3 * time.Minute},
		{"RetryAfter waits so long", func(_ context.Context, job *Job) error {
			if job.Attempt == 2 {
				return nil
			}
			return RetryAfter(time.Hour, errors.New("no"))
		}, nil, map[protocol.SettleKind]int{protocol.SettleLater: 1, protocol.SettleDone: 1}, time.Hour + time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newFakeJobStore(t)
				w := NewWorker(asStore(store), WorkerOptions{Concurrency: 2, Logger: quiet()})
				attempts := 0
				w.Handle("work", func(ctx context.Context, job *Job) error {
					attempts++
					if job.Attempt != attempts {
						t.Errorf("attempt is %d, want %d", job.Attempt, attempts)
					}
					return test.handler(ctx, job)
				}, test.options...)
				store.add("default", wire.Envelope{Name: "work", MaxAttempts: 4}, "a")
				stop := startWorker(t, w)
				pass(test.within)
				if got := store.kinds(); !maps.Equal(got, test.want) {
					t.Errorf("after %v settled as %v, want %v", test.within, got, test.want)
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
				store.checkEmpty()
			})
		})
	}
}

func TestSnoozeUsesUpNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeJobStore(t)
		w := NewWorker(asStore(store), WorkerOptions{Concurrency: 2, Logger: quiet()})
		var at []time.Time
		w.Handle("work", func(_ context.Context, job *Job) error {
			at = append(at, time.Now())
			if job.Attempt != 1 {
				t.Errorf("attempt %d after a snooze, want 1", job.Attempt)
			}
			if len(at) < 4 {
				return Snooze(time.Hour)
			}
			return nil
		})
		store.add("default", job("work"), "a")
		stop := startWorker(t, w)
		pass(4 * time.Hour)
		if len(at) != 4 || at[1].Sub(at[0]) < time.Hour || at[1].Sub(at[0]) > time.Hour+100*time.Millisecond {
			t.Errorf("ran at %v, want 4 times an hour apart", at)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestATimeoutEndsTheContextAndTheJobButKeepsTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeJobStore(t)
		w := NewWorker(asStore(store), WorkerOptions{Concurrency: 1, Logger: quiet()})
		release := make(chan struct{})
		var cause, err error
		w.Handle("hang", func(ctx context.Context, _ *Job) error {
			<-ctx.Done()
			cause, err = context.Cause(ctx), ctx.Err()
			<-release
			return nil
		})
		ran := false
		w.Handle("next", func(context.Context, *Job) error { ran = true; return nil })
		store.add("default", wire.Envelope{Name: "hang", MaxAttempts: 1, Timeout: time.Minute}, "a")
		store.add("default", job("next"), "b")
		stop := startWorker(t, w)
		pass(time.Minute + time.Second)
		if !errors.Is(cause, ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the timeout Cause = %v and Err = %v, want ErrTimeout and DeadlineExceeded", cause, err)
		}
		if got := store.kinds(); len(got) != 0 {
			t.Errorf("a second after the timeout settled %v, want nothing yet", got)
		}
		pass(10 * time.Second)
		if got := store.kinds(); got[protocol.SettleDead] != 1 || ran {
			t.Errorf("11 s after the timeout settled %v and the slot is free: %v; want one dead and the slot taken", got, ran)
		}
		close(release)
		pass(time.Second)
		if got := store.kinds(); !ran || got[protocol.SettleDead] != 1 || got[protocol.SettleDone] != 1 {
			t.Errorf("when the handler has returned settled %v, next ran: %v; want its result dropped and the slot free", got, ran)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		store.checkEmpty()
	})
}

// loseEvery returns a fault that loses every reply-th reply and every call-th call; 0: none.
func loseEvery(act string, reply, call int) func(string, protocol.Partition) (error, error) {
	n := 0
	return func(a string, _ protocol.Partition) (before, after error) {
		if a != act {
			return nil, nil
		}
		n++
		if call > 0 && n%call == 0 {
			before = errFake
		}
		if reply > 0 && n%reply == 0 {
			after = errFake
		}
		return before, after
	}
}

func TestLostRepliesLoseNoJobAndRunNoneTwice(t *testing.T) {
	tests := []struct {
		name        string
		reply, call int
		concurrency int
		work        time.Duration
		partitions  int
	}{
		{"every second reply, long handlers", 2, 0, 7, 300 * time.Millisecond, 1},
		{"every third reply, short handlers", 3, 0, 7, 50 * time.Microsecond, 1},
		{"every second call", 0, 2, 7, 10 * time.Millisecond, 1},
		{"both", 3, 5, 3, time.Millisecond, 1},
		{"both, many partitions", 3, 5, 10, time.Millisecond, 8},
		{"both, one slot, many partitions", 2, 3, 1, time.Millisecond, 8},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newFakeJobStore(t)
				store.latency = 300 * time.Microsecond
				store.fault = loseEvery("work", test.reply, test.call)
				store.sizes["default"] = test.partitions
				w := NewWorker(asStore(store), WorkerOptions{Concurrency: test.concurrency, Logger: quiet()})
				var mu sync.Mutex
				ran := make(map[string]int)
				w.Handle("work", func(_ context.Context, job *Job) error {
					time.Sleep(test.work) // fake time: the job takes this long
					mu.Lock()
					ran[job.ID]++
					mu.Unlock()
					return nil
				})
				store.add("default", job("work"), ids(300)...)
				stop := startWorker(t, w)
				pass(time.Hour)
				if err := stop(); err != nil {
					t.Error(err)
				}
				for id, n := range ran {
					if n != 1 {
						t.Errorf("%s ran %d times, want once", id, n)
					}
				}
				if len(ran) != 300 || store.kinds()[protocol.SettleDone] != 300 || store.refused != 0 {
					t.Errorf("%d of 300 ran, settled as %v, %d refused", len(ran), store.kinds(), store.refused)
				}
				store.checkEmpty()
			})
		})
	}
}

func TestJobsOfShortHandlersAreTakenAheadAndGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeJobStore(t)
		store.latency = time.Millisecond
		store.keepCalls = true
		w := NewWorker(asStore(store), WorkerOptions{Concurrency: 2, Logger: quiet()})
		var slow atomic.Bool
		var ran atomic.Int64
		w.Handle("work", func(context.Context, *Job) error {
			if slow.Swap(false) {
				time.Sleep(time.Minute) // fake time: one job is slow
			}
			ran.Add(1)
			time.Sleep(10 * time.Microsecond) // fake time: the others are short
			return nil
		})
		store.add("default", job("work"), ids(3000)...)
		stop := startWorker(t, w)
		for ran.Load() < 1000 {
			pass(time.Millisecond)
		}
		ahead := 0
		for _, call := range store.workCalls {
			ahead = max(ahead, call.Ahead)
		}
		if ahead < 100 {
			t.Errorf("a call takes at most %d jobs of 10 µs ahead, want hundreds", ahead)
		}
		if n := store.count("work"); n > 100 {
			t.Errorf("%d calls for %d short jobs, want at most 100", n, ran.Load())
		}
		slow.Store(true)
		pass(30 * time.Second)
		slow.Store(true)
		pass(10 * time.Minute)
		if ran.Load() != 3000 || store.kinds()[protocol.SettleDone] != 3000 {
			t.Errorf("%d of 3000 ran, settled %v", ran.Load(), store.kinds())
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		store.checkEmpty()
	})
}

func TestQueuesShareTheSlotsByWeight(t *testing.T) {
	for _, concurrency := range []int{1, 8} {
		synctest.Test(t, func(t *testing.T) {
			store := newFakeJobStore(t)
			w := NewWorker(asStore(store), WorkerOptions{Queues: map[string]int{"high": 3, "low": 1}, Concurrency: concurrency, Logger: quiet()})
			var mu sync.Mutex
			ran := make(map[string]int)
			w.Handle("work", func(_ context.Context, job *Job) error {
				time.Sleep(100 * time.Millisecond) // fake time: the job takes this long
				mu.Lock()
				ran[job.Queue]++
				mu.Unlock()
				return nil
			})
			for i := range 1000 {
				store.add("high", job("work"), fmt.Sprint("h", i))
				store.add("low", job("work"), fmt.Sprint("l", i))
			}
			stop := startWorker(t, w)
			pass(10 * time.Second)
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

func TestAWorkerLogsWhatItServesAndWhatItDid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeJobStore(t)
		var log logBuffer
		w := NewWorker(asStore(store), WorkerOptions{Queues: map[string]int{"mail": 1, "default": 3}, Concurrency: 20, Logger: log.logger()})
		w.Handle("report", func(context.Context, *Job) error { return nil })
		w.Handle("alert", func(_ context.Context, job *Job) error {
			switch job.ID {
			case "retry":
				return RetryAfter(time.Hour, errors.New("no"))
			case "snooze":
				return Snooze(time.Hour)
			}
			return Discard(errors.New("no"))
		})
		store.add("default", job("report"), ids(7)...)
		store.add("default", job("elsewhere"), "parked")
		store.add("mail", job("alert"), "dead", "retry", "snooze", "unreadable")
		store.part(protocol.Partition{Queue: "mail"}).jobs["unreadable"] = []byte{1}
		stop := startWorker(t, w)
		pass(time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		for _, want := range []string{
			`event=worker.started`, `note="queues: default (weight 3), mail (weight 1); handlers: alert, report; 20 at once; on a store in memory"`,
			`event=drain.ended`,
			`note="attempts: 7 done, 1 failed and retried, 2 dead, 1 snoozed, 0 cancelled; not run: 1 parked, 0 missed, 0 given back"`,
		} {
			if log.count(want) != 1 {
				t.Errorf("%s is logged %d times, want once, in\n%s", want, log.count(want), log.text.String())
			}
		}
	})
}

func TestMiddlewareRunsOutermostFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeJobStore(t)
		w := NewWorker(asStore(store), WorkerOptions{})
		var order []string
		layer := func(name string) func(Handler) Handler {
			return func(next Handler) Handler {
				return func(ctx context.Context, job *Job) error {
					order = append(order, name)
					return next(ctx, job)
				}
			}
		}
		w.Use(layer("a"), layer("b"))
		w.Handle("work", func(context.Context, *Job) error { order = append(order, "handler"); return nil })
		w.Use(layer("c"))
		store.add("default", job("work"), "a")
		stop := startWorker(t, w)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if got, want := strings.Join(order, " "), "a b c handler"; got != want {
			t.Errorf("ran %q, want %q", got, want)
		}
	})
}

func TestRunReturnsBadWorkerOptions(t *testing.T) {
	for _, options := range []WorkerOptions{
		{Concurrency: -1},
		{SessionTTL: time.Millisecond},
		{Queues: map[string]int{"a": 0}},
		{MaxCrashes: -1},
	} {
		if err := NewWorker(nil, options).Run(context.Background()); err == nil {
			t.Errorf("Run with %+v returned nil, want an error", options)
		}
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// pass lets time pass, and waits until everything that is due by then has happened.
func pass(d time.Duration) {
	fakeSchedules.Lock()
	//lint:ignore SA2001 it orders the test's reads before the writes that follow
	fakeSchedules.Unlock()
	time.Sleep(d) // fake time
	synctest.Wait()
}

func encoded(e wire.Envelope) []byte { return e.Encode() }
