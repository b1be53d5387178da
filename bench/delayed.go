package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"
)

const (
	delayedPace = 100             // delayed jobs a second
	delayedFrom = 2 * time.Second // from the first enqueue to the first due job
)

// delayedMeasure has how far from its instant a job starts, after it or before. The worker is up before the jobs are
// enqueued. A job's instant is that of the call plus the delay handed over, both by this process's clock; started before it is
// early, also where the library rounds.
var delayedMeasure = measure{
	name:  "delayed",
	group: "delayed",
	slow:  true,
	about: fmt.Sprintf("jobs due evenly, %d a second, enqueued beforehand; one worker of 100 at once; how far from its "+
		"instant each starts, how many before it, and how late a mere timer of the same process is meanwhile", delayedPace),
	run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
		lib, err := p.open(ctx, r)
		if err != nil {
			return nil, err
		}
		defer lib.Close()
		d := newDelayed(int(r.sizes.delayed.Seconds() * delayedPace))
		stop, err := lib.Work(100, d.handle)
		if err != nil {
			return nil, err
		}
		err = d.run(ctx, lib)
		if failed := stop(); err == nil {
			err = failed
		}
		if err != nil {
			return nil, err
		}
		return d.figures(), nil
	},
}

// A delayed notes when each job was due and when it started, on the monotonic clock.
type delayed struct {
	began        time.Time
	due, started []atomic.Int64 // ns since began; 0: not yet
	ran          atomic.Int64
	done         chan struct{}
	bare         []float64 // lateness in ms of a timer of this process for the same instants: the machine's part
}

func newDelayed(n int) *delayed {
	return &delayed{began: time.Now(), due: make([]atomic.Int64, n), started: make([]atomic.Int64, n), done: make(chan struct{})}
}

// handle counts each job once.
func (d *delayed) handle(payload []byte) {
	now := time.Since(d.began).Nanoseconds()
	n, err := numberIn(payload)
	if err != nil || n < 0 || n >= int64(len(d.started)) {
		return
	}
	if d.started[n].CompareAndSwap(0, now) && d.ran.Add(1) == int64(len(d.started)) {
		close(d.done)
	}
}

// run enqueues all jobs, one after the other so that none waits to be sent, and waits until they have run.
func (d *delayed) run(ctx context.Context, lib library) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("jobs are missing after two minutes"))
	defer cancel()
	first := time.Since(d.began) + delayedFrom
	for i := range d.due {
		due := first + time.Duration(i)*time.Second/delayedPace
		d.due[i].Store(due.Nanoseconds())
		left := due - time.Since(d.began)
		if left <= 0 {
			return fmt.Errorf("job %d was due before it was enqueued", i)
		}
		if err := lib.EnqueueIn(ctx, payloadOf(int64(i)), left); err != nil {
			return err
		}
	}
	timers := make(chan struct{})
	go func() {
		d.watchTimers()
		close(timers)
	}()
	defer func() { <-timers }()
	select {
	case <-d.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%d of %d jobs ran: %w", d.ran.Load(), len(d.due), context.Cause(ctx))
	}
}

// watchTimers waits for the instants themselves.
func (d *delayed) watchTimers() {
	for i := range d.due {
		due := time.Duration(d.due[i].Load())
		time.Sleep(due - time.Since(d.began))
		d.bare = append(d.bare, float64((time.Since(d.began)-due).Nanoseconds())/1e6)
	}
	slices.Sort(d.bare)
}

func (d *delayed) figures() []figure {
	off := make([]float64, len(d.due))
	early := 0
	for i := range off {
		late := float64(d.started[i].Load()-d.due[i].Load()) / 1e6
		if late < 0 {
			early++
		}
		off[i] = math.Abs(late)
	}
	slices.Sort(off)
	return []figure{
		{name: "p50", unit: "ms", value: percentile(off, 50), less: true},
		{name: "p99", unit: "ms", value: percentile(off, 99), less: true},
		{name: "max", unit: "ms", value: percentile(off, 100), less: true},
		{name: "early", value: float64(early), less: true},
		{name: "p99 of a bare timer", unit: "ms", value: percentile(d.bare, 99), less: true},
	}
}
