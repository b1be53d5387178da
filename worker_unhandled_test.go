package chime

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

func TestAJobOfAnUnknownNameIsParkedForAWorkerThatHandlesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeJobStore(t)
		first := NewWorker(asStore(store), WorkerOptions{Concurrency: 2, Logger: quiet()})
		first.Handle("old", func(context.Context, *Job) error { return nil })
		store.add("default", job("new"), ids(5)...)
		store.add("default", job("old"), "o")
		stopFirst := startWorker(t, first)
		pass(time.Second)
		if got := store.kinds(); got[protocol.SettlePark] != 5 || got[protocol.SettleDone] != 1 {
			t.Fatalf("settled %v, want five parked and one done", got)
		}
		var ran atomic.Int64
		second := NewWorker(asStore(store), WorkerOptions{Concurrency: 2, Logger: quiet()})
		second.Handle("new", func(context.Context, *Job) error { ran.Add(1); return nil })
		stopSecond := startWorker(t, second)
		pass(time.Minute)
		if got := store.kinds(); ran.Load() != 5 || got[protocol.SettlePark] != 5 {
			t.Errorf("%d ran, settled %v; want five run and nothing parked twice", ran.Load(), got)
		}
		for _, stop := range []func() error{stopFirst, stopSecond} {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
		store.checkEmpty()
	})
}

func TestABodyOfANewerVersionIsParkedAndSeldomTakenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeJobStore(t)
		w := NewWorker(asStore(store), WorkerOptions{Concurrency: 2, Logger: quiet()})
		w.Handle("work", func(context.Context, *Job) error { t.Error("it ran"); return nil })
		store.add("default", job("work"), "a")
		body := store.part(protocol.Partition{Queue: "default"}).jobs["a"]
		body[0]++
		stop := startWorker(t, w)
		pass(10 * time.Minute)
		if got := store.kinds(); got[protocol.SettlePark] < 1 || got[protocol.SettlePark] > 11 || len(got) != 1 {
			t.Errorf("in ten minutes settled %v, want it parked, and taken again at most once a minute", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAJobThatNobodyCanReadIsDeadWithTheReason(t *testing.T) {
	for _, body := range [][]byte{nil, {}, {1}, {1, 0xdd, 0xff, 0xff, 0xff, 0xff}, []byte("nonsense")} {
		synctest.Test(t, func(t *testing.T) {
			store := newFakeJobStore(t)
			w := NewWorker(asStore(store), WorkerOptions{Concurrency: 2, Logger: quiet()})
			w.Handle("work", func(context.Context, *Job) error { t.Error("it ran"); return nil })
			store.add("default", job("work"), "a")
			store.part(protocol.Partition{Queue: "default"}).jobs["a"] = body
			stop := startWorker(t, w)
			pass(time.Second)
			kinds := store.kinds()
			if len(body) > 0 && body[0] > 1 {
				if kinds[protocol.SettlePark] != 1 {
					t.Errorf("body %q settled %v, want it parked", body, kinds)
				}
			} else if dead, err := wire.DecodeEnvelope(store.part(protocol.Partition{Queue: "default"}).dead["a"]); kinds[protocol.SettleDead] != 1 || err != nil || dead.LastError == "" {
				t.Errorf("body %q settled %v with %+v, %v; want it dead with the reason", body, kinds, dead, err)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAJobWhoseWorkersVanishedThreeTimesIsDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeJobStore(t)
		w := NewWorker(asStore(store), WorkerOptions{Concurrency: 2, Logger: quiet()})
		w.Handle("work", func(context.Context, *Job) error { t.Error("it ran"); return nil })
		store.add("default", job("work"), "a")
		store.part(protocol.Partition{Queue: "default"}).crashes["a"] = 3
		stop := startWorker(t, w)
		if got := store.kinds(); got[protocol.SettleDead] != 1 {
			pass(time.Second)
			if got := store.kinds(); got[protocol.SettleDead] != 1 {
				t.Errorf("settled %v, want it dead", got)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
