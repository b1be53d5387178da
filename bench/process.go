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
		run: func(ctx context.Context, r *rig, p peer) ([]figure, error) {
			lib, err := p.open(ctx, r)
			if err != nil {
				return nil, err
			}
			defer lib.Close()
			if err := fillBulk(ctx, lib, r.sizes.backlog); err != nil {
				return nil, err
			}
			before, err := r.redis.usage(ctx)
			if err != nil {
				return nil, err
			}
			jobs := int64(r.sizes.backlog)
			var ran atomic.Int64
			done := make(chan struct{})
			cpu, began := clientCPU(), time.Now()
			stop, err := lib.Work(concurrency, func([]byte) {
				if ran.Add(1) == jobs {
					close(done)
				}
			})
			if err != nil {
				return nil, err
			}
			select {
			case <-done:
			case <-ctx.Done():
				return nil, fmt.Errorf("%d of %d jobs ran: %w", ran.Load(), jobs, ctx.Err())
			}
			took := time.Since(began)
			if err := stop(); err != nil {
				return nil, err
			}
			cpu = clientCPU() - cpu
			after, err := r.redis.usage(ctx)
			if err != nil {
				return nil, err
			}
			used := after.since(before)
			n := float64(jobs)
			return []figure{
				{name: "jobs/s", unit: "1/s", value: n / took.Seconds()},
				{name: "client CPU a job", unit: "µs", value: float64(cpu.Microseconds()) / n, less: true},
				{name: "server CPU a job", unit: "µs", value: float64(used.cpu.Microseconds()) / n, less: true},
				{name: "commands a job", unit: "", value: float64(used.commands) / n, less: true},
				{name: "bytes sent and received a job", unit: "B", value: float64(used.in+used.out) / n, less: true},
			}, nil
		},
	}
}
