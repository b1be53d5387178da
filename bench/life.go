package main

import (
	"context"
	"fmt"
	"time"
)

// lifeBulk takes jobs through their whole life as fast as it goes: in by the library's bulk call, out at concurrency 100.
var lifeBulk = measure{
	name:  "life bulk",
	group: "life",
	about: "what a job costs from enqueue to end: enqueued in bulk (from 50 goroutines where there is no bulk call), worked off by 100 at once",
	run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
		lib, err := p.open(ctx, r)
		if err != nil {
			return nil, err
		}
		defer lib.Close()
		in, err := watch(ctx, r.server(p), func() (int64, time.Duration, error) {
			began := time.Now()
			err := fillBulk(ctx, lib, r.sizes.backlog)
			return int64(r.sizes.backlog), time.Since(began), err
		})
		if err != nil {
			return nil, fmt.Errorf("enqueue: %w", err)
		}
		out, err := workOff(ctx, r, p, lib, 100, doNothing)
		if err != nil {
			return nil, err
		}
		return append(in.each().plus(out.each()).figures(),
			figure{name: "server CPU a job, in", unit: "µs", value: in.each().server, less: true},
			figure{name: "server CPU a job, out", unit: "µs", value: out.each().server, less: true},
		), nil
	},
}
