package main

import (
	"context"
	"fmt"
	"time"

	"github.com/chimejobs/chime"
)

const (
	batchRounds  = 3 // how often a batch and as many plain jobs take turns
	batchMembers = 100_000
)

// batchMeasure creates a batch, and enqueues as many jobs of no batch.
var batchMeasure = measure{
	name: "enqueue batch", group: "enqueue", only: []string{"chime"}, slow: true,
	about: fmt.Sprintf("one EnqueueBatch of %d jobs, a tenth in the short form, by one goroutine, and as many jobs by EnqueueMany, %d handed over a call, %d times in turns; the median",
		batchMembers, fillBatch, batchRounds),
	run: func(ctx context.Context, r *testbed, _ peer) ([]figure, error) {
		n := batchMembers
		if r.sizes.short {
			n /= 10
		}
		var rates, ratios, costs []float64
		for round := range batchRounds {
			plain, err := timedFill(ctx, r, func(lib *chimeLibrary) (int, error) { return n, fillBulk(ctx, lib, n) })
			if err != nil {
				return nil, err
			}
			batch, err := timedFill(ctx, r, func(lib *chimeLibrary) (int, error) {
				receipt, err := lib.enqueuer.EnqueueBatch(ctx, chime.Batch{ID: fmt.Sprint("batch-", round), Items: func(yield func(chime.Item, error) bool) {
					for i := range n {
						if !yield(chime.Item{Name: jobName, Args: payloadOf(int64(i))}, nil) {
							return
						}
					}
				}})
				return int(receipt.Items), err
			})
			if err != nil {
				return nil, err
			}
			rates = append(rates, batch.rate().value)
			ratios = append(ratios, batch.rate().value/plain.rate().value)
			costs = append(costs, batch.each().server/plain.each().server)
		}
		return []figure{
			{name: "jobs/s", unit: "1/s", value: middle(rates)},
			{name: "to EnqueueMany", unit: "×", value: middle(ratios)},
			{name: "server CPU to EnqueueMany", unit: "×", value: middle(costs), less: true},
		}, nil
	},
}

// timedFill measures a call that enqueues jobs into an empty store.
func timedFill(ctx context.Context, r *testbed, fill func(*chimeLibrary) (int, error)) (resources, error) {
	if err := r.redis.empty(ctx); err != nil {
		return resources{}, err
	}
	lib := openObserved(r, nil)
	defer lib.Close()
	return watch(ctx, r.redis, func() (int64, time.Duration, error) {
		began := time.Now()
		n, err := fill(lib)
		return int64(n), time.Since(began), err
	})
}
