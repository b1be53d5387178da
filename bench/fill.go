package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

const (
	fillBatch      = 1000
	fillGoroutines = 50 // if a library has no bulk call
)

// fillBulk enqueues n jobs, numbered from 0, in batches or, if the library has no bulk call, from 50 goroutines.
func fillBulk(ctx context.Context, lib library, n int) error {
	return fillBatches(ctx, lib, n, fillBatch)
}

// fillBatches is fillBulk with size jobs in a batch.
func fillBatches(ctx context.Context, lib library, n, size int) error {
	batch := make([][]byte, 0, size)
	for first := 0; first < n; first += size {
		batch = batch[:0]
		for i := first; i < min(first+size, n); i++ {
			batch = append(batch, payloadOf(int64(i)))
		}
		err := lib.EnqueueMany(ctx, batch)
		if errors.Is(err, errors.ErrUnsupported) && first == 0 {
			return fillEach(ctx, lib, fillGoroutines, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fillEach enqueues n jobs, numbered from 0, one by one from a number of goroutines.
func fillEach(ctx context.Context, lib library, goroutines, n int) error {
	var next atomic.Int64
	return fromMany(ctx, goroutines, n, func(ctx context.Context) error {
		return lib.Enqueue(ctx, payloadOf(next.Add(1)-1))
	})
}

// eachOf calls send for every payload, from 50 goroutines.
func eachOf(ctx context.Context, payloads [][]byte, send func(context.Context, []byte) error) error {
	var next atomic.Int64
	return fromMany(ctx, fillGoroutines, len(payloads), func(ctx context.Context) error {
		return send(ctx, payloads[next.Add(1)-1])
	})
}

// fromMany calls do n times from a number of goroutines and returns the first error.
func fromMany(ctx context.Context, goroutines, n int, do func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wait sync.WaitGroup
	for i := range goroutines {
		wait.Go(func() {
			for range n/goroutines + min(1, max(0, n%goroutines-i)) {
				if ctx.Err() != nil {
					return
				}
				if err := do(ctx); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}
