package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// processMeasure works off a backlog with handlers that do nothing.
func processMeasure(concurrency int) measure {
	return measure{
		name:  fmt.Sprintf("process %d", concurrency),
		group: "process",
		about: fmt.Sprintf("a backlog of jobs worked off by one process with empty handlers, %d at once", concurrency),
		run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
			lib, err := p.open(ctx, r)
			if err != nil {
				return nil, err
			}
			defer lib.Close()
			if err := fillBulk(ctx, lib, r.sizes.backlog); err != nil {
				return nil, err
			}
			e, err := workOff(ctx, r, p, lib, concurrency, doNothing)
			if err != nil {
				return nil, err
			}
			return append([]figure{e.rate()}, e.each().figures()...), nil
		},
	}
}

// doNothing is the handler of the measures of what a library itself costs.
func doNothing() {}

// workOff lets a worker run the jobs that fillBulk left, each counted once when its handler has ended, until all have run or the time is
// over. The time is that from the worker's start to the last job; what the worker costs counts until it has drained, because some
// libraries settle jobs in the background. Afterwards the store must hold no job, or as many as have not run.
func workOff(ctx context.Context, r *testbed, p peer, lib library, concurrency int, handler func()) (resources, error) {
	var (
		ran   atomic.Int64
		total = int64(r.sizes.backlog)
		seen  = make([]atomic.Bool, total)
		done  = make(chan struct{})
		wrong = make(chan error, 1)
	)
	handle := func(payload []byte) {
		n, err := numberIn(payload)
		if err == nil && (n < 0 || n >= total) {
			err = fmt.Errorf("job %d of %d arrived", n, total)
		}
		if err != nil {
			select {
			case wrong <- err:
			default:
			}
			return
		}
		handler()
		if !seen[n].Swap(true) && ran.Add(1) == total {
			close(done)
		}
	}
	e, err := watch(ctx, r.server(p), func() (int64, time.Duration, error) {
		began := time.Now()
		limit := time.NewTimer(r.sizes.workOff)
		defer limit.Stop()
		stop, err := lib.Work(concurrency, handle)
		if err != nil {
			return 0, 0, err
		}
		var jobs int64
		select {
		case <-done:
			jobs = total
		case <-limit.C:
			jobs = ran.Load()
		case err = <-wrong:
		case <-ctx.Done():
			err = fmt.Errorf("%d of %d jobs ran: %w", ran.Load(), total, context.Cause(ctx))
		}
		took := time.Since(began)
		if failed := stop(); err == nil {
			err = failed
		}
		if err == nil && jobs == 0 {
			err = fmt.Errorf("no job ran in %v", took.Round(time.Millisecond))
		}
		return jobs, took, err
	})
	if err != nil {
		return resources{}, err
	}
	held, err := lib.Held(ctx)
	if err != nil {
		return resources{}, err
	}
	if want := total - ran.Load(); held != want {
		return resources{}, fmt.Errorf("the store holds %d jobs after %d of %d ran", held, ran.Load(), total)
	}
	return e, nil
}
