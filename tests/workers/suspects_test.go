package workers_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// After a storm of kills many innocent jobs are suspects. Each worker runs at least twenty of them a second, each alone, and ordinary jobs between
// them.
func TestSuspectsWithShortHandlersAreClearedFast(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		const workers, suspects = 3, 240
		var mu sync.Mutex
		running := make(map[int]map[string]*chime.Job) // worker -> jobs that run
		var cleared, others int
		var last time.Time
		client := f.Server.Client()
		for _, id := range fixture.Names("s", suspects) {
			f.Enqueue("default", job("work"), id)
			client.HSet(t.Context(), "chime:{default}:crashes", id, "2")
		}
		client.HSet(t.Context(), "chime:{default}:state", "crashed", "1")
		var stops []func() error
		began := time.Now()
		for worker := range workers {
			running[worker] = map[string]*chime.Job{}
			w := f.Worker(chime.WorkerOptions{Concurrency: 5})
			w.Handle("work", func(_ context.Context, job *chime.Job) error {
				mu.Lock()
				for id, beside := range running[worker] {
					if strings.HasPrefix(id, "s") && job.Fence > beside.Fence { // else it was taken before the suspect, and its handler is called later
						t.Errorf("%s, taken after the suspect %s, begins beside it", job.ID, id)
					}
				}
				running[worker][job.ID] = job
				mu.Unlock()
				time.Sleep(5 * time.Millisecond) // fake time
				mu.Lock()
				defer mu.Unlock()
				delete(running[worker], job.ID)
				if strings.HasPrefix(job.ID, "s") {
					cleared++
					last = time.Now()
				} else {
					others++
				}
				return nil
			})
			stops = append(stops, fixture.Start(w))
		}
		for i := range 400 {
			f.Enqueue("default", job("work"), fmt.Sprint("o", i))
			fixture.Pass(10 * time.Millisecond)
		}
		mu.Lock()
		if took, most := last.Sub(began), suspects*time.Second/(20*workers); cleared != suspects || took > most {
			t.Errorf("%d of %d suspects are cleared within %v, want all within %v", cleared, suspects, took, most)
		}
		if others < 390 {
			t.Errorf("%d of 400 ordinary jobs have ended meanwhile", others)
		}
		mu.Unlock()
		for _, stop := range stops {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
		f.CheckEmpty()
	})
}

// A suspect whose handler runs for long is not the only one that can make its worker vanish: a job of another queue begins beside it, also of another
// node. The store knows that before this job begins.
func TestAJobOfAnotherQueueCountsBesideASuspect(t *testing.T) {
	for _, before := range []bool{false, true} { // the other job began before the suspect
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			store := nodes(f)
			store.Latency = time.Millisecond
			client := f.Server.Client()
			suspect := func() {
				f.Enqueue("long", job("work"), "suspect")
				client.HSet(t.Context(), "chime:{long}:crashes", "suspect", "2")
				client.HSet(t.Context(), "chime:{long}:state", "crashed", "1")
			}
			gone := make(chan bool)
			known := ""
			w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 5, SessionTTL: 3 * time.Second, Queues: map[string]int{"long": 1, "other": 1},
				Logger: fixture.Quiet(), DrainTimeout: time.Second})
			w.Handle("work", func(_ context.Context, job *chime.Job) error {
				if job.ID == "poison" && !before {
					for _, key := range client.Keys(t.Context(), "chime:{long}:inflight:*").Val() {
						known += client.HGet(t.Context(), key, "\x01").Val()
					}
				}
				<-gone
				return nil
			})
			stop := fixture.Start(w)
			if before {
				f.Enqueue("other", job("work"), "poison")
				fixture.Pass(time.Second)
				suspect()
				fixture.Pass(900 * time.Millisecond)
			} else {
				suspect()
				fixture.Pass(20 * time.Second)
				f.Enqueue("other", job("work"), "poison")
			}
			fixture.Pass(200 * time.Millisecond)
			if !before && !strings.Contains(known, " +.") {
				t.Errorf("when the other job begins, the session of the suspect has %q: it must contain a note of it", known)
			}
			store.FailNode("long", 0) // the worker vanishes
			reaper := f.Worker(chime.WorkerOptions{Concurrency: 1, Queues: map[string]int{"long": 1}})
			reaper.Handle("work", func(context.Context, *chime.Job) error { return nil })
			var entry string
			stopReaper := fixture.Start(reaper)
			for range 100 {
				if entry = client.HGet(t.Context(), "chime:{long}:crashes", "suspect").Val(); entry != "2" {
					break
				}
				fixture.Pass(100 * time.Millisecond)
			}
			if entry != "2.1" {
				t.Errorf("the entry of the suspect is %q, want 2.1: the other job may be the cause", entry)
			}
			close(gone)
			store.RepairNodes()
			if err := stopReaper(); err != nil {
				t.Error(err)
			}
			_ = stop() // its session is lost
		})
	}
}

// While a suspect runs and its node does not answer, jobs of other nodes wait for the node for a second at most. Then the worker waits for events as
// usual: a loop that turns without end would stop the fake time, and this test would never end.
func TestANodeOfASuspectThatDoesNotAnswerDelaysOthersByASecond(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := nodes(f)
		f.Enqueue("long", job("work"), "suspect")
		client := f.Server.Client()
		client.HSet(t.Context(), "chime:{long}:crashes", "suspect", "2")
		client.HSet(t.Context(), "chime:{long}:state", "crashed", "1")
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 5, Queues: map[string]int{"long": 1, "other": 1}, Logger: fixture.Quiet()})
		var began time.Time
		w.Handle("work", func(ctx context.Context, job *chime.Job) error {
			if job.ID == "other" {
				began = time.Now()
				return nil
			}
			time.Sleep(12 * time.Second) // fake time
			return nil
		})
		stop := fixture.Start(w)
		fixture.Pass(5 * time.Second)
		store.FailNode("long", 0)
		f.Enqueue("other", job("work"), "other")
		since := time.Now()
		fixture.Pass(4 * time.Second)
		if began.IsZero() || began.Sub(since) > 1100*time.Millisecond {
			t.Errorf("the other job began %v after it was enqueued, want about a second at most", began.Sub(since))
		}
		store.RepairNodes()
		fixture.Pass(20 * time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}

// While some other node always has a call under way, a suspect begins within a bounded time, and alone.
func TestASuspectBeginsWhileOtherNodesAreBusy(t *testing.T) {
	for _, latency := range []time.Duration{time.Millisecond, 60 * time.Millisecond} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			store := nodes(f)
			slow := map[string]time.Duration{"suspects": latency, "a": 30 * time.Millisecond, "b": 47 * time.Millisecond, "c": 71 * time.Millisecond}
			store.VisitWork = func(c *protocol.WorkCall) { time.Sleep(slow[c.Partition.Queue]) } // fake time
			client := f.Server.Client()
			var mu sync.Mutex
			var began time.Time
			var alone bool
			handled := 0
			queues := map[string]int{}
			for queue := range slow {
				queues[queue] = 1
			}
			w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 40, Queues: queues, Logger: fixture.Quiet()})
			w.Handle("work", func(_ context.Context, job *chime.Job) error {
				mu.Lock()
				defer mu.Unlock()
				if handled++; alone {
					t.Errorf("%s begins beside the suspect", job.ID)
				}
				if job.ID == "suspect" {
					began, alone = time.Now(), true
					mu.Unlock()
					time.Sleep(20 * time.Millisecond) // fake time
					mu.Lock()
					alone = false
				}
				return nil
			})
			for queue := range queues {
				f.Enqueue(queue, job("work"), fixture.Names(queue, 800)...)
			}
			f.Enqueue("suspects", job("work"), "suspect")
			client.LRem(t.Context(), "chime:{suspects}:ready", 0, "suspect")
			client.ZAdd(t.Context(), "chime:{suspects}:due", redis.Z{Score: 1, Member: "suspect"})
			client.HSet(t.Context(), "chime:{suspects}:crashes", "suspect", "2")
			client.HSet(t.Context(), "chime:{suspects}:state", "crashed", "1")
			stop := fixture.Start(w)
			since := time.Now()
			fixture.Pass(700 * time.Millisecond)
			fewCalls := 3*slow["c"] + 6*latency // it is taken when no call takes jobs, and its first request may come too late for that
			mu.Lock()
			if began.IsZero() || began.Sub(since) > fewCalls {
				t.Errorf("the suspect began after %v (%d jobs have begun); want it within %v", began.Sub(since), handled, fewCalls)
			}
			mu.Unlock()
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}
