package workers_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
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
				f.Forget("default", jobs[i]) // admission finds it unreadable and logs its death
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
				t.Fatalf("%d ran and %d were dead with %d calls, want 19800 and 200 with at least 40 calls", ran.Load(), log.dead.Load(), len(calls))
			}
			for i := 15; i < 35; i++ {
				if last := calls[i] - calls[i-1]; notRun[i] < last*9/10 || notAdmitted[i] < last/100 {
					t.Errorf("concurrency %d: the last answer contained %d jobs; when the next call was sent, %d had not run and %d of the dead ones were not admitted; want almost all of them", concurrency, last, notRun[i], notAdmitted[i])
				}
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			f.CheckEmpty()
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
			t.Errorf("an idle worker made %d calls and left the sleeping workers %d times in an hour, want no such calls", worked, left)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestASessionLostBetweenTwoCallsLosesNoJob(t *testing.T) {
	for lost := 3; lost < 3+long.Seeds(3, 9); lost++ {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			store := f.Hooked()
			store.Lag = 2 * time.Millisecond
			calls := 0
			store.VisitWork = func(*protocol.WorkCall) {
				if calls++; calls == lost {
					f.LoseSessions() // the call gets ErrSessionLost while the jobs of an answer are being admitted
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
			t.Errorf("the 5000 kept jobs have %d fences, want 5000", len(fences))
		}
		if i := slices.IndexFunc(contexts, func(c context.Context) bool { return c.Err() != context.Canceled }); i >= 0 {
			t.Errorf("a kept context has Err = %v, want Canceled", contexts[i].Err())
		}
	})
}

func TestAnOutcomeWaitsAtMostTwentyMilliseconds(t *testing.T) {
	for _, work := range []time.Duration{time.Microsecond, time.Millisecond, 3 * time.Millisecond, 7 * time.Millisecond, time.Minute} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			store := f.Hooked()
			store.Lag = 200 * time.Microsecond
			const slots = 4
			jobs := 333
			if work == time.Minute {
				jobs = 40 // ten minutes
			}
			var mu sync.Mutex
			ended := make(map[string]time.Time)
			var longest time.Duration
			store.VisitWork = func(call *protocol.WorkCall) {
				mu.Lock()
				defer mu.Unlock()
				for _, settlement := range call.Settle {
					if at, ok := ended[settlement.ID]; ok { // other jobs were returned
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
			fixture.Pass(time.Duration(jobs/slots)*work + time.Minute)
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
