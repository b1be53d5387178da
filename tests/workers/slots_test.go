package workers_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

func TestAWorkerHoldsAtMostItsSlotsAndFourMillisecondsOfWork(t *testing.T) {
	for _, test := range []struct {
		work        time.Duration
		concurrency int
		limit       int64
	}{
		{time.Microsecond, 10, 10 + 1000},
		{100 * time.Microsecond, 10, 10 + 400},
		{time.Millisecond, 10, 10 + 40},
		{time.Millisecond, 100, 100 + 400},
		{5 * time.Millisecond, 100, 100 + 80},
		{50 * time.Millisecond, 100, 100 + 8},
		{time.Second, 7, 7},
	} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			store := f.Hooked()
			store.Lag = 300 * time.Microsecond
			var ran atomic.Int64
			var held int64 // at most, at any call
			store.VisitWork = func(call *protocol.WorkCall) { held = max(held, store.Taken()-ran.Load()+int64(call.Take)) }
			w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: test.concurrency, Logger: fixture.Quiet()})
			w.Handle("work", func(context.Context, *chime.Job) error {
				time.Sleep(test.work) // fake time: the job takes this long
				ran.Add(1)
				return nil
			})
			f.Enqueue("default", job("work"), fixture.Names("job", 5000)...)
			stop := fixture.Start(w)
			for ran.Load() < 2500 {
				fixture.Pass(test.work)
			}
			if held > test.limit || held < test.limit*3/4 {
				t.Errorf("handlers of %v, %d at once: %d jobs were held or asked for, want nearly %d and no more", test.work, test.concurrency, held, test.limit)
			}
			if n := store.Kinds()[protocol.SettleBack]; n > 0 {
				t.Errorf("handlers of %v, %d at once: %d jobs were given back, want none", test.work, test.concurrency, n)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			f.CheckEmpty()
		})
	}
}

// However long a call takes beside the handlers, the slots work: what is taken ahead lasts until the next jobs are here. With many
// queues too, each of which is asked by a call of its own.
func TestSlotsAreBusyWhileThereIsABacklog(t *testing.T) {
	const slots, atLeast = 100, 0.95
	warm, measured := int64(long.Seeds(1000, 2000)), int64(long.Seeds(3000, 8000))
	for _, test := range []struct {
		work, call time.Duration
		queues     int
	}{
		{time.Millisecond, 400 * time.Microsecond, 1},
		{5 * time.Millisecond, 400 * time.Microsecond, 1},
		{5 * time.Millisecond, 2 * time.Millisecond, 1},
		{5 * time.Millisecond, time.Millisecond, 20},
		{20 * time.Millisecond, 2 * time.Millisecond, 1},
		{50 * time.Millisecond, 400 * time.Microsecond, 1},
		{50 * time.Millisecond, 2 * time.Millisecond, 1},
	} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			store := f.Hooked()
			store.Latency, store.Lag = test.call/2, test.call/2
			queues := map[string]int{}
			for i := range test.queues {
				queue := fmt.Sprint("queue", i)
				queues[queue] = 1
				var names []string
				for j := range int(warm+measured) * 6 / 5 / test.queues {
					names = append(names, fmt.Sprint(queue, "-", j))
				}
				f.Enqueue(queue, job("work"), names...)
			}
			var ran atomic.Int64
			var from, to time.Time
			w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: slots, Queues: queues, Logger: fixture.Quiet()})
			w.Handle("work", func(context.Context, *chime.Job) error {
				// Fake time: the job takes this long, up to a tenth more or less, so that not all end together.
				time.Sleep(test.work + rand.N(test.work/5) - test.work/10) // fake time
				switch ran.Add(1) {
				case warm:
					from = time.Now()
				case warm + measured:
					to = time.Now()
				}
				return nil
			})
			stop := fixture.Start(w)
			for ran.Load() < warm+measured {
				fixture.Pass(test.work)
			}
			if busy := float64(measured) * test.work.Seconds() / slots / to.Sub(from).Seconds(); busy < atLeast {
				t.Errorf("handlers of %v, calls of %v, %d queues: %.1f %% of the slots are busy, want %.0f %%", test.work, test.call, test.queues, 100*busy, 100*atLeast)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestHandlersThatBlockGetAllSlotsAtOnce(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 100, Logger: fixture.Quiet()})
		var running atomic.Int64
		release := make(chan struct{})
		w.Handle("short", func(context.Context, *chime.Job) error { return nil })
		w.Handle("long", func(context.Context, *chime.Job) error {
			running.Add(1)
			<-release
			return nil
		})
		f.Enqueue("default", job("short"), fixture.Names("job", 3000)...)
		stop := fixture.Start(w)
		fixture.Pass(time.Second)
		begun := time.Now()
		long := make([]string, 300)
		for i := range long {
			long[i] = fmt.Sprint("long-", i)
		}
		f.Enqueue("default", job("long"), long...)
		synctest.Wait()
		if running.Load() != 100 || !time.Now().Equal(begun) {
			t.Errorf("%d blocking handlers run after %v, want 100 at once", running.Load(), time.Since(begun))
		}
		close(release)
		fixture.Pass(time.Second)
		if got := store.Kinds(); got[protocol.SettleDone] != 3300 {
			t.Errorf("settled %v, want 3300 done", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}

func TestJobsOfShortHandlersAreTakenAheadAndGivenBack(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		store.Latency = time.Millisecond
		store.KeepWork = true
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 2, Logger: fixture.Quiet()})
		var slow atomic.Bool
		var ran atomic.Int64
		w.Handle("work", func(context.Context, *chime.Job) error {
			if slow.Swap(false) {
				time.Sleep(time.Minute) // fake time: one job is slow
			}
			ran.Add(1)
			time.Sleep(10 * time.Microsecond) // fake time: the others are short
			return nil
		})
		f.Enqueue("default", job("work"), fixture.Names("job", 3000)...)
		stop := fixture.Start(w)
		for ran.Load() < 1000 {
			fixture.Pass(time.Millisecond)
		}
		ahead := 0
		for _, call := range store.WorkCalls() {
			ahead = max(ahead, call.Ahead)
		}
		if ahead < 100 {
			t.Errorf("a call takes at most %d jobs of 10 µs ahead, want hundreds", ahead)
		}
		if n := store.Count("work"); n > 100 {
			t.Errorf("%d calls for %d short jobs, want at most 100", n, ran.Load())
		}
		slow.Store(true)
		fixture.Pass(30 * time.Second)
		slow.Store(true)
		fixture.Pass(10 * time.Minute)
		if ran.Load() != 3000 || store.Kinds()[protocol.SettleDone] != 3000 {
			t.Errorf("%d of 3000 ran, settled %v", ran.Load(), store.Kinds())
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}
