package workers_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

func TestAJobOfAnUnknownNameIsParkedForAWorkerThatHandlesIt(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		first := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 2, Logger: fixture.Quiet()})
		first.Handle("old", func(context.Context, *chime.Job) error { return nil })
		f.Enqueue("default", job("new"), fixture.Names("job", 5)...)
		f.Enqueue("default", job("old"), "o")
		stopFirst := fixture.Start(first)
		fixture.Pass(time.Second)
		if got := store.Kinds(); got[protocol.SettlePark] != 5 || got[protocol.SettleDone] != 1 {
			t.Fatalf("settled %v, want five parked and one done", got)
		}
		var ran atomic.Int64
		second := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 2, Logger: fixture.Quiet()})
		second.Handle("new", func(context.Context, *chime.Job) error { ran.Add(1); return nil })
		stopSecond := fixture.Start(second)
		fixture.Pass(time.Minute)
		if got := store.Kinds(); ran.Load() != 5 || got[protocol.SettlePark] != 5 {
			t.Errorf("%d ran, settled %v; want five run and nothing parked twice", ran.Load(), got)
		}
		for _, stop := range []func() error{stopFirst, stopSecond} {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
		f.CheckEmpty()
	})
}

func TestABodyOfANewerVersionIsParkedAndTakenAgainAtMostOnceAMinute(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 2, Logger: fixture.Quiet()})
		w.Handle("work", func(context.Context, *chime.Job) error { t.Error("it ran"); return nil })
		envelope := job("work")
		body := envelope.Encode()
		body[0] += 2
		f.Put("default", protocol.EnqueueItem{Body: body}, "a")
		stop := fixture.Start(w)
		fixture.Pass(10 * time.Minute)
		if got := store.Kinds(); got[protocol.SettlePark] < 1 || got[protocol.SettlePark] > 11 || len(got) != 1 {
			t.Errorf("in ten minutes settled %v, want it parked, and taken again at most once a minute", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAnUnreadableJobIsDeadWithTheReason(t *testing.T) {
	for _, body := range [][]byte{nil, {}, {1}, {1, 0xdd, 0xff, 0xff, 0xff, 0xff}, []byte("nonsense")} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			store := f.Hooked()
			w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 2, Logger: fixture.Quiet()})
			w.Handle("work", func(context.Context, *chime.Job) error { t.Error("it ran"); return nil })
			f.Put("default", protocol.EnqueueItem{Body: body}, "a")
			stop := fixture.Start(w)
			fixture.Pass(time.Second)
			kinds := store.Kinds()
			if len(body) > 0 && body[0] > 2 {
				if kinds[protocol.SettlePark] != 1 {
					t.Errorf("body %q settled %v, want it parked", body, kinds)
				}
			} else if dead, err := wire.DecodeEnvelope(f.Body("default", "a")); kinds[protocol.SettleDead] != 1 || err != nil || dead.LastError == "" {
				t.Errorf("body %q settled %v with %+v, %v; want it dead with the reason", body, kinds, dead, err)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAJobWhoseWorkersVanishedThreeTimesIsDead(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 2, Logger: fixture.Quiet()})
		w.Handle("work", func(context.Context, *chime.Job) error { t.Error("it ran"); return nil })
		f.Enqueue("default", job("work"), "a")
		for range 3 {
			session, lapse := vanish(f, time.Second)
			fixture.Pass(time.Second)
			f.Reap(defaultPartition, session, lapse)
			fixture.Pass(time.Minute) // after the second time it is due within a minute
		}
		stop := fixture.Start(w)
		if got := store.Kinds(); got[protocol.SettleDead] != 1 {
			fixture.Pass(time.Second)
			if got := store.Kinds(); got[protocol.SettleDead] != 1 {
				t.Errorf("settled %v, want it dead", got)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
