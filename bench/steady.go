package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	steadyPace   = 2000 // jobs a second
	steadyAtOnce = 100
	steadyBehind = 2 * time.Second // a library that is further behind at the end cannot keep up; one that polls once a second can
)

// lifeSteady enqueues jobs at an even pace while a worker waits for them.
var lifeSteady = measure{
	name: "life steady", group: "latency", about: aboutSteady, run: runSteady,
}

var aboutSteady = fmt.Sprintf("%d jobs/s at an even pace, each enqueued by a call of its own, with a worker of %d at once waiting, of %d "+
	"with River; left at the end is what had not started when the last was sent: more than %v of jobs cannot keep up, and "+
	"what it waits is what it waited until then", steadyPace, steadyAtOnce, riverSteady, steadyBehind)

// busySteady is lifeSteady on a machine with other load.
var busySteady = measure{
	name: "life steady busy", group: "latency", slow: true,
	about: "the same beside other processes, one a core, that compute all the time",
	run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
		others, err := startChildren(ctx, role{Kind: spinRole}, runtime.NumCPU())
		if err != nil {
			return nil, err
		}
		defer others.kill()
		return runSteady(ctx, r, p)
	},
}

func runSteady(ctx context.Context, r *testbed, p peer) ([]figure, error) {
	lib, err := p.open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer lib.Close()
	s := newSteady(r.sizes.steady, steadyPace)
	stop, err := lib.Work(cmp.Or(p.steadyAtOnce, steadyAtOnce), s.handle)
	if err != nil {
		return nil, err
	}
	e, err := s.run(ctx, r.server(p), lib)
	if failed := stop(); err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	return append(e.each().figures(), s.figures()...), nil
}

// A steady notes when each job was sent and when it started, on the monotonic clock.
type steady struct {
	pace          int // jobs a second
	began         time.Time
	sent, started []atomic.Int64 // ns since began; 0: not yet
	warmed, ran   atomic.Int64
	left          int64 // jobs that had not started when the last one was sent
	warm, done    chan struct{}
}

// warmJobs are sent before those that count: they make connections, load scripts and start background work.
const warmJobs = 200

func newSteady(long time.Duration, pace int) *steady {
	n := int(long.Seconds() * float64(pace))
	return &steady{
		pace: pace, began: time.Now(), sent: make([]atomic.Int64, n), started: make([]atomic.Int64, n),
		warm: make(chan struct{}), done: make(chan struct{}),
	}
}

func (s *steady) now() int64 { return max(1, time.Since(s.began).Nanoseconds()) }

// handle counts each job once. Those of the warm-up carry the number -1.
func (s *steady) handle(payload []byte) {
	now := s.now()
	n, err := numberIn(payload)
	switch {
	case err != nil || n >= int64(len(s.started)):
	case n < 0:
		if s.warmed.Add(1) == warmJobs {
			close(s.warm)
		}
	case s.started[n].CompareAndSwap(0, now):
		if s.ran.Add(1) == int64(len(s.started)) {
			close(s.done)
		}
	}
}

func (s *steady) run(ctx context.Context, server server, lib library) (resources, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("jobs are missing after a minute"))
	defer cancel()
	if err := fromMany(ctx, 20, warmJobs, func(ctx context.Context) error { return lib.Enqueue(ctx, payloadOf(-1)) }); err != nil {
		return resources{}, err
	}
	if err := s.await(ctx, s.warm); err != nil {
		return resources{}, err
	}
	return watch(ctx, server, func() (int64, time.Duration, error) {
		began := time.Now()
		err := s.send(ctx, lib)
		if err == nil {
			err = s.await(ctx, s.done)
		}
		return int64(len(s.sent)), time.Since(began), err
	})
}

func (s *steady) await(ctx context.Context, event <-chan struct{}) error {
	select {
	case <-event:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%d of %d jobs ran: %w", s.ran.Load(), len(s.sent), context.Cause(ctx))
	}
}

// send enqueues every job at its instant, from a goroutine of its own so that a slow answer delays no other.
func (s *steady) send(ctx context.Context, lib library) error {
	var (
		wait   sync.WaitGroup
		failed = make(chan error, 1)
		began  = time.Now()
	)
	for i := range s.sent {
		time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(s.pace))))
		wait.Go(func() {
			s.sent[i].Store(s.now())
			if err := lib.Enqueue(ctx, payloadOf(int64(i))); err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
	s.left = int64(len(s.sent)) - s.ran.Load()
	wait.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// leftAtTheEnd is the figure of a backlog; over: the library cannot keep up.
const leftAtTheEnd = "left at the end"

// figures returns how long the jobs waited. If a library cannot keep up they are lower bounds: a longer measure would give more.
func (s *steady) figures() []figure {
	waits, over := s.waits(), !s.keptUp()
	return []figure{
		{name: "p50", unit: "ms", value: percentile(waits, 50), less: true, over: over},
		{name: "p99", unit: "ms", value: percentile(waits, 99), less: true, over: over},
		{name: "max", unit: "ms", value: percentile(waits, 100), less: true, over: over},
		{name: leftAtTheEnd, value: float64(s.left), less: true, over: over},
	}
}

func (s *steady) keptUp() bool { return s.left <= int64(steadyBehind.Seconds()*float64(s.pace)) }

// waits are the times from sending a job to its start, ascending, in ms.
func (s *steady) waits() []float64 {
	waits := make([]float64, len(s.sent))
	for i := range waits {
		waits[i] = float64(s.started[i].Load()-s.sent[i].Load()) / 1e6
	}
	slices.Sort(waits)
	return waits
}

// percentile returns the smallest of the ascending values that a percentage of them does not exceed.
func percentile(ascending []float64, percent int) float64 {
	if len(ascending) == 0 {
		return 0
	}
	rank := (len(ascending)*percent + 99) / 100
	return ascending[max(rank, 1)-1]
}
