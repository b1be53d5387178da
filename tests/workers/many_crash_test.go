package workers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A worker that vanishes while jobs gather has not begun them, and the store knows that. They run again, each alone.
func TestACrashWhileGatheringCountsNothing(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		store.QueuesAreNodes()
		ids := fixture.Names("j", 6)
		f.Enqueue("default", job("work"), ids...)
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 10, SessionTTL: time.Second, Logger: fixture.Quiet()})
		w.HandleMany("work", chime.Many{Size: 10, Wait: 10 * time.Second}, func(_ context.Context, jobs []*chime.Job) error {
			t.Errorf("the worker that vanishes handles %s", idsOf(jobs))
			return nil
		})
		stop := fixture.Start(w)
		fixture.Pass(100 * time.Millisecond)
		store.FailNode("default", 0)
		var log manyLog
		other := f.Worker(chime.WorkerOptions{Concurrency: 10, SessionTTL: time.Second})
		other.HandleMany("work", chime.Many{Size: 10, Wait: time.Second}, log.handler(0, nil))
		stopOther := fixture.Start(other)
		fixture.Pass(time.Minute)
		if err := stopOther(); err != nil {
			t.Error(err)
		}
		got := log.ids()
		slices.Sort(got)
		if !slices.Equal(got, ids) {
			t.Errorf("calls %q, want each job once and alone", got)
		}
		for _, jobs := range log.calls {
			if jobs[0].Crashes != 0 || jobs[0].Attempt != 1 {
				t.Errorf("%s has %d crashes and attempt %d, want 0 and 1", jobs[0].ID, jobs[0].Crashes, jobs[0].Attempt)
			}
		}
		store.RepairNodes()
		_ = stop() // its session is lost
	})
}

// Once a call runs, a crash counts for each of its jobs: the call may be the cause. Then none of them is handled together with others.
func TestWhatHasCrashedIsHandledAlone(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		store.QueuesAreNodes()
		ids := fixture.Names("j", 4)
		f.Enqueue("default", job("work"), ids...)
		gone := make(chan bool)
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 10, SessionTTL: time.Second, Logger: fixture.Quiet(), DrainTimeout: time.Second})
		w.HandleMany("work", chime.Many{Size: 4, Wait: time.Second}, func(context.Context, []*chime.Job) error { <-gone; return nil })
		stop := fixture.Start(w)
		fixture.Pass(time.Second)
		store.FailNode("default", 0)
		var log manyLog
		other := f.Worker(chime.WorkerOptions{Concurrency: 10, SessionTTL: time.Second})
		other.HandleMany("work", chime.Many{Size: 10, Wait: time.Second}, log.handler(0, nil))
		stopOther := fixture.Start(other)
		fixture.Pass(time.Second)
		f.Enqueue("default", job("work"), "new1", "new2")
		fixture.Pass(2 * time.Minute)
		if err := stopOther(); err != nil {
			t.Error(err)
		}
		got := log.ids()
		slices.Sort(got)
		if want := append(ids, "new1 new2"); !slices.Equal(got, want) {
			t.Errorf("calls %q, want %q", got, want)
		}
		for _, jobs := range log.calls {
			if want := strings.Count(jobs[0].ID, "j-"); jobs[0].Crashes != want {
				t.Errorf("%s has %d crashes, want %d", jobs[0].ID, jobs[0].Crashes, want)
			}
		}
		close(gone)
		store.RepairNodes()
		_ = stop() // its session is lost
	})
}

func TestWhatGathersGoesBackInADrain(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		f.Enqueue("default", job("work"), fixture.Names("j", 5)...)
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 10, Logger: fixture.Quiet()})
		w.HandleMany("work", chime.Many{Size: 10, Wait: 10 * time.Second}, func(_ context.Context, jobs []*chime.Job) error {
			t.Errorf("a call of %s begins in the drain", idsOf(jobs))
			return nil
		})
		stop := fixture.Start(w)
		fixture.Pass(time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if got, want := store.Kinds(), (map[protocol.SettleKind]int{protocol.SettleBack: 5}); !maps.Equal(got, want) {
			t.Errorf("settled %v, want %v", got, want)
		}
		f.CheckEmpty()
	})
}

// A call whose ctx was ended by the shutdown may not have come to all jobs.
func TestACallThatWasCutOffCountsWhatEachNames(t *testing.T) {
	bad := errors.New("bad")
	for _, test := range []struct {
		name string
		err  error
		want map[string]protocol.SettleKind
	}{
		{"done", nil, map[string]protocol.SettleKind{"a": protocol.SettleDone, "b": protocol.SettleDone, "c": protocol.SettleDone}},
		{"an error", bad, map[string]protocol.SettleKind{"a": protocol.SettleBack, "b": protocol.SettleBack, "c": protocol.SettleBack}},
		{"each", chime.Each{"a": nil, "b": bad}, map[string]protocol.SettleKind{"a": protocol.SettleDone, "b": protocol.SettleLater, "c": protocol.SettleBack}},
		{"never", errors.New("never"), map[string]protocol.SettleKind{"a": protocol.SettleBack, "b": protocol.SettleBack, "c": protocol.SettleBack}},
	} {
		t.Run(test.name, func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				store := f.Hooked()
				f.Enqueue("default", job("work"), "a", "b", "c")
				w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 10, Logger: fixture.Quiet(), DrainTimeout: time.Second})
				w.HandleMany("work", chime.Many{Size: 3, Wait: time.Second}, func(ctx context.Context, _ []*chime.Job) error {
					<-ctx.Done()
					if !errors.Is(context.Cause(ctx), chime.ErrShutdown) {
						t.Errorf("the ctx ended with %v, want ErrShutdown", context.Cause(ctx))
					}
					if test.name == "never" {
						time.Sleep(time.Hour) // fake time
					}
					return test.err
				})
				stop := fixture.Start(w)
				fixture.Pass(time.Second)
				err := stop()
				var cut []string
				for id, kind := range test.want {
					if kind == protocol.SettleBack {
						cut = append(cut, id)
					}
				}
				slices.Sort(cut)
				var timeout *chime.DrainTimeoutError
				if errors.As(err, &timeout) {
					slices.Sort(timeout.IDs)
					if !slices.Equal(timeout.IDs, cut) {
						t.Errorf("cut off %q, want %q", timeout.IDs, cut)
					}
				} else if len(cut) > 0 {
					t.Errorf("Run returned %v, want a DrainTimeoutError of %q", err, cut)
				}
				for _, settled := range store.Settled() {
					if settled.Kind != test.want[settled.ID] {
						t.Errorf("%s is settled as %c, want %c", settled.ID, settled.Kind, test.want[settled.ID])
					}
				}
				if n := len(store.Settled()); n != 3 {
					t.Errorf("%d jobs are settled, want 3", n)
				}
				f.CheckEmpty()
				fixture.Pass(2 * time.Hour)
			})
		})
	}
}

// The jobs of a lost session belong to another worker: those that gather are dropped, and the ctx of a running call ends. Other calls continue.
func TestALostSessionDropsItsCalls(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 10, SessionTTL: 3 * time.Second, Logger: fixture.Quiet(), Queues: map[string]int{"default": 1, "other": 1}})
		var mu sync.Mutex
		var ended []string
		handler := func(ctx context.Context, jobs []*chime.Job) error {
			select {
			case <-ctx.Done():
			case <-time.After(15 * time.Second):
			}
			mu.Lock()
			defer mu.Unlock()
			ended = append(ended, fmt.Sprint(idsOf(jobs), ": ", context.Cause(ctx)))
			return nil
		}
		w.HandleMany("work", chime.Many{Size: 2, Wait: 10 * time.Second}, handler)
		w.HandleMany("slow", chime.Many{Size: 2, Wait: 10 * time.Second}, handler)
		stop := fixture.Start(w)
		f.Enqueue("default", job("work"), "a", "b")
		f.Enqueue("default", job("slow"), "gathers")
		f.Enqueue("other", job("work"), "c", "d")
		fixture.Pass(100 * time.Millisecond)
		for _, session := range f.Sessions(defaultPartition) {
			lapse := time.Now().Add(-time.Minute)
			f.Lapse(defaultPartition, session, lapse)
			f.Reap(defaultPartition, session, lapse)
		}
		fixture.Pass(2 * time.Minute)
		slices.Sort(ended)
		want := []string{"a b: " + chime.ErrSessionLost.Error(), "a: <nil>", "b: <nil>", "c d: <nil>", "gathers: <nil>"}
		if !slices.Equal(ended, want) {
			t.Errorf("calls ended as %q, want %q", ended, want)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if done := store.Kinds()[protocol.SettleDone]; done != 5 {
			t.Errorf("%d jobs are done, want 5", done)
		}
		f.CheckEmpty()
	})
}

// While the store cannot be reached, another worker may get what gathers here.
func TestASilentSessionBeginsNoCall(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		store.QueuesAreNodes()
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 10, SessionTTL: time.Second, Logger: fixture.Quiet()})
		var log manyLog
		w.HandleMany("work", chime.Many{Size: 10, Wait: 3 * time.Second}, log.handler(0, nil))
		stop := fixture.Start(w)
		f.Enqueue("default", job("work"), "a", "b")
		fixture.Pass(100 * time.Millisecond)
		store.FailNode("default", 0)
		fixture.Pass(20 * time.Second)
		if got := log.ids(); len(got) > 0 {
			t.Errorf("calls %q begin while the store does not answer, want none", got)
		}
		store.RepairNodes()
		fixture.Pass(20 * time.Second)
		if got := log.ids(); !slices.Equal(got, []string{"a b"}) {
			t.Errorf("after the outage: calls %q, want one", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}

// A worker has a suspect alone. What gathers is older than the suspect, so it begins before the suspect is requested: else the store would not see that
// it ran beside.
func TestASuspectRunsBesideNoCall(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		client := f.Server.Client()
		store := f.Hooked()
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 5, Logger: fixture.Quiet()})
		var log manyLog
		suspects := 0
		w.HandleMany("work", chime.Many{Size: 100, Wait: 2 * time.Second}, log.handler(0, func(_ context.Context, jobs []*chime.Job) error {
			if jobs[0].Crashes < 2 {
				return nil
			}
			suspects++
			if len(jobs) > 1 {
				t.Errorf("a suspect is handled together with others: %s", idsOf(jobs))
			}
			time.Sleep(time.Nanosecond) // fake time: the calls that began before the suspect was requested have logged it by then, on two processors too
			log.mu.Lock()
			before := len(log.calls)
			log.mu.Unlock()
			time.Sleep(3 * time.Second) // fake time
			log.mu.Lock()
			defer log.mu.Unlock()
			for _, later := range log.calls[before:] {
				if later[0].Fence < jobs[0].Fence {
					t.Errorf("a call of %s, taken before the suspect %s, begins beside it", idsOf(later), jobs[0].ID)
				}
			}
			return nil
		}))
		stop := fixture.Start(w)
		for i := range 10 {
			f.Enqueue("default", job("work"), fixture.Names(fmt.Sprint("o", i), 3)...)
			fixture.Pass(10 * time.Millisecond)
			id := fmt.Sprint("s", i)
			client.HSet(t.Context(), "chime:{default}:crashes", id, "2")
			client.HSet(t.Context(), "chime:{default}:state", "crashed", "1")
			f.Enqueue("default", job("work"), id)
			fixture.Pass(10 * time.Second)
		}
		if suspects != 10 {
			t.Errorf("%d suspects ran, want 10", suspects)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}

// Weights and a strict order hold whatever gathers.
func TestAStrictOrderHoldsWithManyHandlers(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var log manyLog
		f.Enqueue("high", job("work"), fixture.Names("high", 100)...)
		f.Enqueue("low", job("work"), fixture.Names("low", 100)...)
		w := f.Worker(chime.WorkerOptions{Concurrency: 2, Strict: true, Queues: map[string]int{"high": 2, "low": 1}})
		w.HandleMany("work", chime.Many{Size: 10, Wait: time.Second}, log.handler(time.Minute, nil))
		stop := fixture.Start(w)
		fixture.Pass(time.Hour)
		low := 0
		for i, jobs := range log.calls {
			if jobs[0].Queue == "low" {
				low++
			} else if low > 0 {
				t.Errorf("call %d is of the queue high, after one of the queue low", i)
			}
		}
		if len(log.calls) != 20 {
			t.Errorf("%d calls, want 20", len(log.calls))
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}

func TestObserversReceiveEachJobOfACall(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		together := map[string]int{}
		count := func(of string) func([]chime.JobEvent) {
			return func(events []chime.JobEvent) {
				for _, e := range events {
					together[fmt.Sprint(of, " ", e.Together)]++
				}
			}
		}
		busy, most := 0, 0
		w := f.Worker(chime.WorkerOptions{Concurrency: 10, Observers: []*chime.Observer{{
			Taken: count("taken"), Begun: count("begun"), Ended: count("ended"),
			Slots: func(_, change, _ int) { busy += change; most = max(most, busy) },
		}}})
		w.HandleMany("work", chime.Many{Size: 5, Wait: time.Second}, func(context.Context, []*chime.Job) error {
			time.Sleep(time.Second) // fake time
			return nil
		})
		w.Handle("plain", func(context.Context, *chime.Job) error { return nil })
		f.Enqueue("default", job("work"), fixture.Names("j", 5)...)
		stop := fixture.Start(w)
		fixture.Pass(5 * time.Second)
		f.Enqueue("default", job("plain"), "p")
		fixture.Pass(time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		want := map[string]int{"taken 0": 6, "begun 5": 5, "ended 5": 5, "begun 0": 1, "ended 0": 1}
		if !maps.Equal(together, want) || most != 1 {
			t.Errorf("got %v, and at most %d busy slots; want %v and 1", together, most, want)
		}
	})
}
