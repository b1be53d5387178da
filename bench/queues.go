package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const (
	weightedQueues  = 20 // with the weights 1 to 20
	weightedHandler = 5 * time.Millisecond
)

// A queuesLibrary is a library whose worker shares its slots among queues by their weights.
type queuesLibrary interface {
	// EnqueueTo sends all payloads to a queue.
	EnqueueTo(ctx context.Context, queue string, payloads [][]byte) error
	// WorkQueues is Work on several queues: name -> weight.
	WorkQueues(weights map[string]int, concurrency int, handle func(queue string, payload []byte)) (stop func() error, err error)
	// HeldIn is Held of several queues.
	HeldIn(ctx context.Context, queues []string) (int64, error)
}

// weightedMeasure works off twenty queues at once.
var weightedMeasure = measure{
	name: "twenty queues", group: "queues", slow: true,
	about: fmt.Sprintf("%d queues with the weights 1 to %d worked off by one process with handlers that wait %v, %d at once, as long as all have a "+
		"backlog; the deviation is that of the queue whose share of the jobs is furthest from its weight, in percent of its weight; with gocraft, which "+
		"has one queue for each type of job, types with these priorities; River has no weights", weightedQueues, weightedQueues, weightedHandler, handlersAtOnce),
	run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
		lib, err := p.open(ctx, r)
		if err != nil {
			return nil, err
		}
		defer lib.Close()
		by, ok := lib.(queuesLibrary)
		if !ok {
			return nil, errors.ErrUnsupported
		}
		w := newWeighted(weightedQueues, r.sizes.forHandlers(weightedHandler, handlersAtOnce))
		if err := w.fill(ctx, by); err != nil {
			return nil, err
		}
		return w.run(ctx, by)
	},
}

// A weighted notes how many jobs of each queue have run.
type weighted struct {
	names   []string
	weights map[string]int
	backlog []int // of each queue
	first   []int // the number of each queue's first job
	total   int
	limit   time.Duration

	place map[string]int // of a queue in names
	ran   []atomic.Int64
	seen  []atomic.Bool
	low   chan struct{} // closed when a queue has less than a tenth of its backlog left
	once  sync.Once
	wrong atomic.Pointer[error]
}

// newWeighted gives each queue a backlog by its weight: half as much again as the slots can run in the time.
func newWeighted(queues int, s sizes) *weighted {
	w := &weighted{weights: map[string]int{}, place: map[string]int{}, limit: s.workOff, ran: make([]atomic.Int64, queues), low: make(chan struct{})}
	all := 1.5 * handlersAtOnce * s.workOff.Seconds() / weightedHandler.Seconds()
	weights := queues * (queues + 1) / 2
	for i := range queues {
		name := fmt.Sprintf("queue%02d", i+1)
		w.names, w.weights[name], w.place[name] = append(w.names, name), i+1, i
		n := int(math.Ceil(all * float64(i+1) / float64(weights)))
		w.first, w.backlog = append(w.first, w.total), append(w.backlog, n)
		w.total += n
	}
	w.seen = make([]atomic.Bool, w.total)
	return w
}

func (w *weighted) fill(ctx context.Context, by queuesLibrary) error {
	for i, name := range w.names {
		for begin := 0; begin < w.backlog[i]; begin += fillBatch {
			var batch [][]byte
			for n := begin; n < min(begin+fillBatch, w.backlog[i]); n++ {
				batch = append(batch, payloadOf(int64(w.first[i]+n)))
			}
			if err := by.EnqueueTo(ctx, name, batch); err != nil {
				return err
			}
		}
	}
	return nil
}

// handle counts each job once, when it has ended.
func (w *weighted) handle(queue string, payload []byte) {
	n, err := numberIn(payload)
	i, known := w.place[queue]
	if err == nil && (!known || n < int64(w.first[i]) || n >= int64(w.first[i]+w.backlog[i])) {
		err = fmt.Errorf("job %d arrived from queue %q", n, queue)
	}
	if err != nil {
		w.wrong.Store(&err)
		return
	}
	time.Sleep(weightedHandler)
	if w.seen[n].Swap(true) {
		return
	}
	if ran := w.ran[i].Add(1); ran > int64(w.backlog[i])*9/10 {
		w.once.Do(func() { close(w.low) })
	}
}

// run works while all queues have a backlog, and no longer than the limit.
func (w *weighted) run(ctx context.Context, by queuesLibrary) ([]figure, error) {
	began := time.Now()
	stop, err := by.WorkQueues(w.weights, handlersAtOnce, w.handle)
	if err != nil {
		return nil, err
	}
	select {
	case <-w.low:
	case <-time.After(w.limit):
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	took, shares := time.Since(began), w.counts()
	if failed := stop(); err == nil {
		err = failed
	}
	if wrong := w.wrong.Load(); err == nil && wrong != nil {
		err = *wrong
	}
	if err != nil {
		return nil, err
	}
	held, err := by.HeldIn(ctx, w.names)
	if err != nil {
		return nil, err
	}
	if ran := sum(w.counts()); held != int64(w.total)-ran {
		return nil, fmt.Errorf("the store holds %d jobs after %d of %d ran", held, ran, w.total)
	}
	if sum(shares) == 0 {
		return nil, fmt.Errorf("no job ran in %v", took.Round(time.Millisecond))
	}
	rate := float64(sum(shares)) / took.Seconds()
	return []figure{
		{name: "jobs/s", unit: "1/s", value: rate},
		busyShare(rate, weightedHandler, handlersAtOnce),
		{name: "largest deviation from a weight", unit: "%", value: deviation(shares), less: true},
	}, nil
}

func (w *weighted) counts() []int64 {
	counts := make([]int64, len(w.ran))
	for i := range w.ran {
		counts[i] = w.ran[i].Load()
	}
	return counts
}

// deviation is how far the share of a queue is from its weight, in percent of its weight, of the queue where it is furthest. The weights are
// 1, 2, 3 and so on.
func deviation(counts []int64) float64 {
	furthest, weights := 0.0, float64(len(counts)*(len(counts)+1)/2)
	for i, n := range counts {
		share, weight := float64(n)/float64(sum(counts)), float64(i+1)/weights
		furthest = max(furthest, 100*math.Abs(share/weight-1))
	}
	return furthest
}

func sum(numbers []int64) (all int64) {
	for _, n := range numbers {
		all += n
	}
	return all
}
