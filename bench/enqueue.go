package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// enqueueMeasure enqueues jobs one a call from a number of goroutines, factor times as many jobs as one goroutine does.
func enqueueMeasure(goroutines, factor int) measure {
	return measure{
		name:  fmt.Sprintf("enqueue %d", goroutines),
		group: "enqueue",
		about: fmt.Sprintf("jobs enqueued one a call, %d goroutines at once, with a ctx that may end", goroutines),
		run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
			return enqueueFrom(ctx, r, p, goroutines, r.sizes.enqueue*factor, 1, func(ctx context.Context, lib library, first int64) error {
				return lib.Enqueue(ctx, payloadOf(first))
			})
		},
	}
}

// enqueueAlone enqueues from one goroutine with a ctx that never ends, as a program does that passes context.Background.
var enqueueAlone = measure{
	name:  "enqueue alone",
	group: "enqueue",
	about: "jobs enqueued one a call by one goroutine, with a ctx that never ends",
	run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
		return enqueueFrom(ctx, r, p, 1, r.sizes.enqueue, 1, func(ctx context.Context, lib library, first int64) error {
			return lib.Enqueue(context.WithoutCancel(ctx), payloadOf(first))
		})
	},
}

// enqueueBulk enqueues a thousand jobs a call.
var enqueueBulk = measure{
	name:  "enqueue bulk",
	group: "enqueue",
	about: fmt.Sprintf("jobs enqueued by one goroutine, %d handed over a call", fillBatch),
	run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
		batch := make([][]byte, fillBatch)
		return enqueueFrom(ctx, r, p, 1, r.sizes.enqueue*10, fillBatch, func(ctx context.Context, lib library, first int64) error {
			for i := range batch {
				batch[i] = payloadOf(first + int64(i))
			}
			return lib.EnqueueMany(ctx, batch)
		})
	},
}

// enqueueFrom calls do, which enqueues batch jobs from the number first on, until n jobs are enqueued or the
// time for that is over. The calls before the clock starts make the connections and load the scripts.
func enqueueFrom(ctx context.Context, r *testbed, p peer, goroutines, n, batch int,
	do func(ctx context.Context, lib library, first int64) error,
) ([]figure, error) {
	lib, err := p.open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer lib.Close()
	var next, sent atomic.Int64
	one := func(ctx context.Context) error {
		if err := do(ctx, lib, next.Add(int64(batch))-int64(batch)); err != nil {
			return err
		}
		sent.Add(int64(batch))
		return nil
	}
	if err := fromMany(ctx, goroutines, 2*goroutines, one); err != nil {
		return nil, err
	}
	warm := sent.Load()
	e, err := watch(ctx, r.server(p), func() (int64, time.Duration, error) {
		began := time.Now()
		end := began.Add(r.sizes.enqueueFor)
		err := fromMany(ctx, goroutines, n/batch, func(ctx context.Context) error {
			if time.Now().After(end) {
				return nil
			}
			return one(ctx)
		})
		return sent.Load() - warm, time.Since(began), err
	})
	if err != nil {
		return nil, err
	}
	held, err := lib.Held(ctx)
	if err != nil {
		return nil, err
	}
	if held != sent.Load() {
		return nil, fmt.Errorf("the store holds %d of %d jobs enqueued", held, sent.Load())
	}
	return append([]figure{e.rate()}, e.each().figures()...), nil
}
