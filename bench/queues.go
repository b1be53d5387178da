package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
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
		took, shares, err := w.run(ctx, by)
		if err != nil {
			return nil, err
		}
		rate := float64(sum(shares)) / took.Seconds()
		return []figure{
			{name: "jobs/s", unit: "1/s", value: rate},
			busyShare(rate, weightedHandler, handlersAtOnce),
			w.handler.share(rate, handlersAtOnce),
			{name: "largest deviation from a weight", unit: "%", value: deviation(shares), less: true},
		}, nil
	},
}

const (
	manyQueues       = 300
	manyQueuesRounds = 3
	manyQueuesLimit  = 20 * time.Second
)

// manyQueuesMeasure works off many queues with one job each, and then one queue with as many jobs.
var manyQueuesMeasure = measure{
	name: fmt.Sprint(manyQueues, " queues"), group: "queues", slow: true,
	about: fmt.Sprintf("%d queues of the same weight, with one job each, worked off by one process with handlers that wait %v, one at a time and 10 at "+
		"once, from the worker's start to the last job; and as many jobs of one queue; %d times in turns, the median", manyQueues, weightedHandler, manyQueuesRounds),
	run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
		if p.library != chimePeer.library {
			return nil, errors.ErrUnsupported // what is compared is one queue
		}
		var figures []figure
		for _, atOnce := range []int{1, 10} {
			var many, ratios []float64
			for range manyQueuesRounds {
				rate, err := alikeRate(ctx, r, p, manyQueues, atOnce)
				if err != nil {
					return nil, err
				}
				one, err := alikeRate(ctx, r, p, 1, atOnce)
				if err != nil {
					return nil, err
				}
				many, ratios = append(many, rate), append(ratios, 100*rate/one)
			}
			figures = append(figures, figure{name: "jobs/s, at once: " + strconv.Itoa(atOnce), unit: "1/s", value: middle(many)},
				figure{name: "of one queue's, at once: " + strconv.Itoa(atOnce), unit: "%", value: middle(ratios)})
		}
		return figures, nil
	},
}

// alikeRate returns how many of manyQueues jobs run a second, in a number of queues.
func alikeRate(ctx context.Context, r *testbed, p peer, queues, atOnce int) (rate float64, err error) {
	if err := r.redis.empty(ctx); err != nil {
		return 0, err
	}
	lib, err := p.open(ctx, r)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, lib.Close()) }()
	by := lib.(queuesLibrary)
	w := newAlike(queues, manyQueues, atOnce)
	if err := w.fill(ctx, by); err != nil {
		return 0, err
	}
	took, shares, err := w.run(ctx, by)
	if err == nil && sum(shares) < manyQueues {
		err = fmt.Errorf("%d of %d jobs ran in %v", sum(shares), manyQueues, took)
	}
	return float64(sum(shares)) / took.Seconds(), err
}

// A weighted notes how many jobs of each queue have run.
type weighted struct {
	names   []string
	weights map[string]int
	backlog []int // of each queue
	first   []int // the number of each queue's first job
	total   int
	limit   time.Duration
	each    time.Duration // of a handler
	handler waiting
	atOnce  int

	place map[string]int // of a queue in names
	ran   []atomic.Int64
	seen  []atomic.Bool
	low   chan struct{} // closed when a queue has less than a tenth of its backlog left; all: when none has any
	all   bool
	left  atomic.Int64
	once  sync.Once
	wrong atomic.Pointer[error]
}

// newWeighted gives queues the weights 1, 2, 3 and so on, and each a backlog by its weight: half as much again as the slots can run in the
// time.
func newWeighted(queues int, s sizes) *weighted {
	w := newQueues(queues, s.workOff, weightedHandler, handlersAtOnce)
	all := 1.5 * handlersAtOnce * s.workOff.Seconds() / weightedHandler.Seconds()
	weights := queues * (queues + 1) / 2
	for i := range queues {
		w.add(i+1, int(math.Ceil(all*float64(i+1)/float64(weights))))
	}
	w.seen = make([]atomic.Bool, w.total)
	return w
}

// newAlike gives all queues the same weight and the same backlog, which is worked off completely.
func newAlike(queues, jobs, atOnce int) *weighted {
	w := newQueues(queues, manyQueuesLimit, weightedHandler, atOnce)
	w.all = true
	for range queues {
		w.add(1, jobs/queues)
	}
	w.seen = make([]atomic.Bool, w.total)
	return w
}

func newQueues(queues int, limit, each time.Duration, atOnce int) *weighted {
	return &weighted{weights: map[string]int{}, place: map[string]int{}, limit: limit, each: each, atOnce: atOnce,
		ran: make([]atomic.Int64, queues), low: make(chan struct{})}
}

// add adds a queue with a backlog.
func (w *weighted) add(weight, backlog int) {
	name := fmt.Sprintf("queue%02d", len(w.names)+1)
	w.weights[name], w.place[name] = weight, len(w.names)
	w.names, w.first, w.backlog = append(w.names, name), append(w.first, w.total), append(w.backlog, backlog)
	w.total += backlog
	w.left.Add(int64(backlog))
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
	w.handler.wait(w.each)
	if w.seen[n].Swap(true) {
		return
	}
	ran, left := w.ran[i].Add(1), w.left.Add(-1)
	if !w.all && ran > int64(w.backlog[i])*9/10 || left == 0 {
		w.once.Do(func() { close(w.low) })
	}
}

// run works while all queues have a backlog, and no longer than the limit. It returns how long that was and how many jobs of each queue ran.
func (w *weighted) run(ctx context.Context, by queuesLibrary) (took time.Duration, shares []int64, err error) {
	began := time.Now()
	stop, err := by.WorkQueues(w.weights, w.atOnce, w.handle)
	if err != nil {
		return 0, nil, err
	}
	select {
	case <-w.low:
	case <-time.After(w.limit):
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	took, shares = time.Since(began), w.counts()
	if failed := stop(); err == nil {
		err = failed
	}
	if wrong := w.wrong.Load(); err == nil && wrong != nil {
		err = *wrong
	}
	if err != nil {
		return 0, nil, err
	}
	held, err := by.HeldIn(ctx, w.names)
	if err != nil {
		return 0, nil, err
	}
	if ran := sum(w.counts()); held != int64(w.total)-ran {
		return 0, nil, fmt.Errorf("the store holds %d jobs after %d of %d ran", held, ran, w.total)
	}
	if sum(shares) == 0 {
		return 0, nil, fmt.Errorf("no job ran in %v", took.Round(time.Millisecond))
	}
	return took, shares, nil
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
