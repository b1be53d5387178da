package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// memoryMeasure has what a job takes in the server while it waits.
func memoryMeasure(name, about string, fill func(ctx context.Context, lib library, n int) error) measure {
	return measure{
		name: name, group: "memory", about: about, slow: true,
		run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
			if p.setting == "tuned" {
				return nil, errors.ErrUnsupported // no option here changes what is stored
			}
			each, err := memoryOf(ctx, r, p, fill)
			if err != nil {
				return nil, err
			}
			return []figure{{name: "memory a job", unit: "B", value: each, less: true}}, nil
		},
	}
}

// memoryOf returns the bytes that each of a backlog's jobs takes in the server.
func memoryOf(ctx context.Context, r *testbed, p peer, fill func(ctx context.Context, lib library, n int) error) (float64, error) {
	// A first job leaves behind what does not grow with the number of jobs: scripts, tables, prepared statements.
	if err := fillAndClose(ctx, r, p, 1, fill); err != nil {
		return 0, err
	}
	s := r.server(p)
	if err := s.empty(ctx); err != nil {
		return 0, err
	}
	before, err := s.usage(ctx)
	if err != nil {
		return 0, err
	}
	if err := fillAndClose(ctx, r, p, r.sizes.backlog, fill); err != nil {
		return 0, err
	}
	after, err := s.usage(ctx)
	if err != nil {
		return 0, err
	}
	return float64(after.memory-before.memory) / float64(r.sizes.backlog), nil
}

var (
	memoryWaiting = memoryMeasure("memory waiting", "bytes in the server for a job of 100 bytes that waits to run now", fillBulk)
	memoryDelayed = memoryMeasure("memory delayed", "bytes in the server for a job of 100 bytes that waits for its instant, an hour ahead",
		func(ctx context.Context, lib library, n int) error {
			var next atomic.Int64 // no two payloads are the same: an index might keep what repeats only once
			return fromMany(ctx, 50, n, func(ctx context.Context) error {
				return lib.EnqueueIn(ctx, payloadOf(next.Add(1)-1), time.Hour)
			})
		})
)

// fillAndClose fills the store, checks that it holds the jobs, and closes the connections, so that their buffers do not count.
func fillAndClose(ctx context.Context, r *testbed, p peer, n int, fill func(ctx context.Context, lib library, n int) error) error {
	lib, err := p.open(ctx, r)
	if err != nil {
		return err
	}
	err = fill(ctx, lib, n)
	if err == nil {
		var held int64
		if held, err = lib.Held(ctx); err == nil && held != int64(n) {
			err = fmt.Errorf("the store holds %d of %d jobs", held, n)
		}
	}
	if failed := lib.Close(); err == nil {
		err = failed
	}
	return err
}
