package workers_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A wakeWalk runs a few workers with few slots on a few queues, and finds jobs that wait although a worker could run them. Such a job waits for the
// safety poll, which means that a wake-up was lost.
type wakeWalk struct {
	*fixture.Fixture
	random *rand.Rand
	queues *chime.Queues
	made   int
	paused map[string]bool
	limits map[string]chime.Limit

	mu      sync.Mutex
	workers []*walkWorker
	running map[string]int         // queue → jobs that run
	ended   map[string]int         // queue → jobs that have run
	starts  map[string][]time.Time // queue → when its jobs have started
}

type walkWorker struct {
	queues  []string
	slots   int
	running int
	begun   int // jobs so far
}

// A missed job waits in a queue although a worker has a free slot and has begun no other job since.
//
// The store counts a job as running from its take until its settlement, but the walk sees only its handler, which begins later and ends earlier. So under
// a limit a job may seem to be startable at two instants although other jobs have run between them. Therefore a job of a queue with a limit is missed
// only if no other job of the queue has begun or ended since: changes counts both.
type missed struct {
	queue, id              string
	worker, begun, changes int
}

// TestNoStartableJobWaitsForASafetyPoll lets random jobs, delayed jobs, pauses and limits meet workers with slow and fast connections. After each
// step nothing happens for a moment: then no queue has a job that may start while a worker that serves the queue has a free slot.
func TestNoStartableJobWaitsForASafetyPoll(t *testing.T) {
	for _, seed := range long.Draw(6, 100) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				w := &wakeWalk{
					Fixture: f, random: rand.New(rand.NewPCG(seed, 29)), queues: chime.NewQueues(f.Server.Store()), paused: map[string]bool{},
					limits: map[string]chime.Limit{}, running: map[string]int{}, ended: map[string]int{}, starts: map[string][]time.Time{},
				}
				w.run(t)
			})
		})
	}
}

var walkQueues = []string{"a", "b", "c"}

func (w *wakeWalk) run(t *testing.T) {
	for _, queue := range walkQueues {
		w.Partition(queue, 1)
	}
	var stops []func() error
	for range 3 + w.random.IntN(3) {
		stops = append(stops, w.start())
	}
	fixture.Pass(500 * time.Millisecond)
	for step := range 80 {
		for range 1 + w.random.IntN(4) {
			w.act(t)
			if w.random.IntN(3) == 0 {
				fixture.Pass(time.Duration(w.random.IntN(100)) * time.Millisecond)
			}
		}
		fixture.Pass(time.Duration(w.random.IntN(100)) * time.Millisecond)
		before := w.startable(t)
		fixture.Pass(700 * time.Millisecond)
		for _, m := range w.startable(t) {
			if slices.Contains(before, m) {
				t.Errorf("step %d: %s waits in queue %s although worker %d has a free slot", step, m.id, m.queue, m.worker)
				w.end(stops)
				return
			}
		}
		if w.random.IntN(3) > 0 { // until most handlers have returned
			fixture.Pass(time.Duration(w.random.IntN(6)) * time.Second)
		}
	}
	w.end(stops)
}

// end stops the workers.
func (w *wakeWalk) end(stops []func() error) {
	for _, stop := range stops {
		go stop()
	}
	fixture.Pass(time.Minute)
}

// start starts a worker that serves some queues with one or two slots.
func (w *wakeWalk) start() (stop func() error) {
	store := w.Hooked()
	store.Latency = time.Duration(w.random.IntN(40)) * time.Millisecond
	store.Lag = time.Duration(w.random.IntN(100)) * time.Millisecond
	me := &walkWorker{slots: 1 + w.random.IntN(5)/4}
	served := map[string]int{}
	for _, queue := range walkQueues {
		if len(served) == 0 || w.random.IntN(5) > 0 {
			served[queue] = 1 + w.random.IntN(3)
			me.queues = append(me.queues, queue)
		}
	}
	w.workers = append(w.workers, me)
	chance := rand.New(rand.NewPCG(w.random.Uint64(), 0)) // of the handlers, which run beside the walk
	worker := chime.NewWorker(store, chime.WorkerOptions{Queues: served, Concurrency: me.slots, Logger: fixture.Quiet()})
	worker.Handle("work", func(ctx context.Context, job *chime.Job) error {
		w.mu.Lock()
		me.running++
		me.begun++
		w.running[job.Queue]++
		w.starts[job.Queue] = append(w.starts[job.Queue], time.Now())
		d := []time.Duration{3 * time.Millisecond, 200 * time.Millisecond, 3 * time.Second, 5 * time.Second, 5 * time.Second}[chance.IntN(5)]
		fails := chance.IntN(10) == 0
		w.mu.Unlock()
		time.Sleep(d) // fake time
		w.mu.Lock()
		me.running--
		w.running[job.Queue]--
		w.ended[job.Queue]++
		w.mu.Unlock()
		if fails {
			return chime.RetryAfter(time.Second, fmt.Errorf("failed"))
		}
		return nil
	})
	return fixture.Start(worker)
}

// act changes something at random.
func (w *wakeWalk) act(t *testing.T) {
	w.mu.Lock()
	n, queue, other := w.random.IntN(20), walkQueues[w.random.IntN(3)], w.random.IntN(1000)
	w.mu.Unlock()
	var err error
	switch {
	case n < 11:
		w.made++
		w.Enqueue(queue, job("work"), fmt.Sprint("j", w.made))
	case n < 14:
		w.made++
		w.EnqueueAt(queue, time.Now().Add(time.Duration(other)*time.Millisecond), job("work"), fmt.Sprint("j", w.made))
	case n == 14:
		err = w.queues.Pause(t.Context(), queue)
		w.paused[queue] = true
	case n < 17:
		err = w.queues.Resume(t.Context(), queue)
		w.paused[queue] = false
	default:
		limit := []chime.Limit{{}, {Running: 1 + other%3}, {Starts: 1 + other%4, Per: time.Duration(100+other) * time.Millisecond}}[n-17]
		err = w.queues.Limit(t.Context(), queue, limit)
		w.limits[queue] = limit
	}
	if err != nil {
		t.Error(err)
	}
}

// startable returns the first job of each queue that waits although it may start, with each worker that serves the queue and has a free slot.
func (w *wakeWalk) startable(t *testing.T) (found []missed) {
	for _, queue := range walkQueues {
		tag := "chime:{" + queue + "}:"
		ids := w.Server.Client().LRange(t.Context(), tag+"ready", 0, 0).Val()
		due, _ := w.Server.Client().ZRangeWithScores(t.Context(), tag+"due", 0, 0).Result()
		if len(due) > 0 && int64(due[0].Score) <= time.Now().UnixMilli() {
			ids = append(ids, fmt.Sprint(due[0].Member))
		}
		w.mu.Lock()
		limit, now := w.limits[queue], time.Now()
		held := w.paused[queue] || limit.Running > 0 && w.running[queue] >= limit.Running
		if limit.Starts > 0 {
			recent := 0
			for _, at := range w.starts[queue] {
				if now.Sub(at) < limit.Per+300*time.Millisecond { // they begin a little after they are taken
					recent++
				}
			}
			held = held || recent >= limit.Starts
		}
		changes := 0
		if limit != (chime.Limit{}) {
			changes = len(w.starts[queue]) + w.ended[queue]
		}
		for i, o := range w.workers {
			if !held && len(ids) > 0 && o.running < o.slots && slices.Contains(o.queues, queue) {
				found = append(found, missed{queue, ids[0], i, o.begun, changes})
			}
		}
		w.mu.Unlock()
	}
	return found
}
