package main

import (
	"context"
	"errors"
	"sync"
)

const fillBatch = 1000

// fillBulk enqueues n jobs in batches or, where the library knows none, from 50 goroutines.
func fillBulk(ctx context.Context, lib library, n int) error {
	payload := make([]byte, payloadBytes)
	batch := make([][]byte, fillBatch)
	for i := range batch {
		batch[i] = payload
	}
	for n > 0 {
		err := lib.EnqueueMany(ctx, batch[:min(n, fillBatch)])
		if errors.Is(err, errors.ErrUnsupported) {
			break
		}
		if err != nil {
			return err
		}
		n -= min(n, fillBatch)
	}
	return fromMany(ctx, 50, n, func(ctx context.Context) error { return lib.Enqueue(ctx, payload) })
}

// fromMany calls do n times from so many goroutines and returns the first error.
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
