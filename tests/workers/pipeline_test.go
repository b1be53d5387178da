package workers_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A slowLog takes a millisecond for each record, and counts the dead jobs.
type slowLog struct {
	slog.Handler
	dead atomic.Int64
}

func (l *slowLog) Enabled(context.Context, slog.Level) bool { return true }

func (l *slowLog) Handle(_ context.Context, record slog.Record) error {
	time.Sleep(time.Millisecond) // fake time: writing a line takes this long
	record.Attrs(func(a slog.Attr) bool {
		if a.Key == "event" && a.Value.String() == "job.dead" {
			l.dead.Add(1)
		}
		return true
	})
	return nil
}

func TestTheNextCallIsSentBeforeTheLastAnswersJobsAreAdmitted(t *testing.T) {
	for _, concurrency := range []int{1, 10, 100} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			store := f.Hooked()
			store.Lag = 2 * time.Millisecond
			jobs := fixture.Names("job", 20_000)
			f.Enqueue("default", job("work"), jobs...)
			for i := 99; i < len(jobs); i += 100 {
				f.Forget("default", jobs[i]) // admission finds it dead and logs that
			}
			var ran atomic.Int64
			var log slowLog
			var calls, notRun, notAdmitted []int64
			store.VisitWork = func(*protocol.WorkCall) {
				taken := store.Taken()
				calls = append(calls, taken)
				notRun = append(notRun, taken-taken/100-ran.Load())
				notAdmitted = append(notAdmitted, taken/100-log.dead.Load())
			}
			w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: concurrency, Logger: slog.New(&log)})
			w.Handle("work", func(context.Context, *chime.Job) error {
				time.Sleep(time.Microsecond) // fake time: the job takes this long
				ran.Add(1)
				return nil
			})
			stop := fixture.Start(w)
			fixture.Pass(time.Minute)
			if ran.Load() != 19800 || log.dead.Load() != 200 || len(calls) < 40 {
				t.Fatalf("%d ran and %d were dead with %d calls, want 19800 and 200 with 40 calls at least", ran.Load(), log.dead.Load(), len(calls))
			}
			for i := 15; i < 35; i++ {
				if last := calls[i] - calls[i-1]; notRun[i] < last*9/10 || notAdmitted[i] < last/100 {
					t.Errorf("concurrency %d: the last answer brought %d jobs; when the next call was sent %d had not run and %d of the dead were not admitted, want nearly all of them", concurrency, last, notRun[i], notAdmitted[i])
				}
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			f.CheckEmpty()
		})
	}
}

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
				time.Sleep(test.work + rand.N(test.work/5) - test.work/10)
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

func TestAWorkerThatTookAheadSleepsAlthoughCallsFail(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		store.Latency = 300 * time.Microsecond
		store.SetFault(loseEvery("work", 3, 5))
		f.Partition("default", 8)
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 10, Logger: fixture.Quiet()})
		w.Handle("work", func(context.Context, *chime.Job) error { time.Sleep(time.Millisecond); return nil }) // fake time: the job takes this long
		f.Enqueue("default", job("work"), fixture.Names("job", 300)...)
		stop := fixture.Start(w)
		fixture.Pass(time.Minute)
		if got := store.Kinds(); got[protocol.SettleDone] != 300 {
			t.Errorf("in a minute settled %v, want 300 done", got)
		}
		worked, left := store.Count("work"), store.Count("leave")
		fixture.Pass(time.Hour)
		if worked, left = store.Count("work")-worked, store.Count("leave")-left; worked > 0 || left > 0 {
			t.Errorf("an idle worker made %d calls and left the sleeping workers %d times in an hour, want neither", worked, left)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestASessionLostBetweenTwoCallsLosesNoJob(t *testing.T) {
	for lost := 3; lost < 12; lost++ {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			store := f.Hooked()
			store.Lag = 2 * time.Millisecond
			calls := 0
			store.VisitWork = func(*protocol.WorkCall) {
				if calls++; calls == lost {
					f.LoseSessions() // the call gets ErrSessionLost while the jobs of an answer are admitted
				}
			}
			w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 10, Logger: fixture.Quiet()})
			var ran atomic.Int64
			w.Handle("work", func(context.Context, *chime.Job) error {
				time.Sleep(time.Microsecond) // fake time: the job takes this long
				ran.Add(1)
				return nil
			})
			f.Enqueue("default", job("work"), fixture.Names("job", 6000)...)
			stop := fixture.Start(w)
			fixture.Pass(time.Minute)
			if got := store.Kinds(); got[protocol.SettleDone] != 6000 || ran.Load() < 6000 || ran.Load() > 6000+10+2*1000 {
				t.Errorf("session lost at call %d: %d handlers ran and %v settled, want 6000 done", lost, ran.Load(), got)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			f.CheckEmpty()
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

func TestAHandlerMayKeepItsJobAndContext(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 3, Logger: fixture.Quiet()})
		var mu sync.Mutex
		kept := make(map[string]*chime.Job)
		var contexts []context.Context
		w.Handle("work", func(ctx context.Context, job *chime.Job) error {
			mu.Lock()
			defer mu.Unlock()
			kept[job.ID] = job
			contexts = append(contexts, ctx)
			return nil
		})
		f.Enqueue("default", wire.Envelope{Name: "work", Payload: []byte("payload")}, fixture.Names("job", 5000)...)
		stop := fixture.Start(w)
		fixture.Pass(time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if len(kept) != 5000 {
			t.Errorf("%d jobs ran, want 5000", len(kept))
		}
		fences := make(map[int64]bool)
		for id, job := range kept {
			if job.ID != id || string(job.Payload) != "payload" || job.Attempt != 1 {
				t.Fatalf("job %s was kept and is %+v now", id, *job)
			}
			fences[job.Fence] = true
		}
		if len(fences) != 5000 {
			t.Errorf("the 5000 jobs that were kept have %d fences, want 5000", len(fences))
		}
		if i := slices.IndexFunc(contexts, func(c context.Context) bool { return c.Err() != context.Canceled }); i >= 0 {
			t.Errorf("a context that was kept has Err = %v, want Canceled", contexts[i].Err())
		}
	})
}

func TestAnOutcomeWaitsAtMostTwentyMilliseconds(t *testing.T) {
	for _, work := range []time.Duration{time.Microsecond, time.Millisecond, 3 * time.Millisecond, 7 * time.Millisecond, time.Minute} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			store := f.Hooked()
			store.Lag = 200 * time.Microsecond
			const jobs, slots = 333, 4
			var mu sync.Mutex
			ended := make(map[string]time.Time)
			var longest time.Duration
			store.VisitWork = func(call *protocol.WorkCall) {
				mu.Lock()
				defer mu.Unlock()
				for _, settlement := range call.Settle {
					if at, ok := ended[settlement.ID]; ok { // others were given back
						longest = max(longest, time.Since(at))
					}
				}
			}
			w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: slots, Logger: fixture.Quiet()})
			w.Handle("work", func(_ context.Context, job *chime.Job) error {
				d := work
				if job.ID[len(job.ID)-1] == '7' {
					d = 50 * time.Millisecond // so that the slots become free at different times
				}
				time.Sleep(d) // fake time: the job takes this long
				mu.Lock()
				ended[job.ID] = time.Now()
				mu.Unlock()
				return nil
			})
			f.Enqueue("default", job("work"), fixture.Names("job", jobs)...)
			stop := fixture.Start(w)
			fixture.Pass(jobs/slots*work + time.Hour)
			if limit := 20*time.Millisecond + store.Lag; longest > limit || len(ended) != jobs {
				t.Errorf("handlers of %v: an outcome waited %v before it was sent, want at most %v (%d ran)", work, longest, limit, len(ended))
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			f.CheckEmpty()
		})
	}
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
