package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
)

const (
	weightedGroups = 10 // with the weights 1, 2, 3 and so on
	groupSlots     = weightedGroups * (weightedGroups + 1) / 2
	slotSamples    = 10 * time.Millisecond // between two
)

// groupsShares runs groups of different weights, and compares their slots and their starts with their weights.
var groupsShares = measure{
	name: "groups by weight", group: "groups", only: []string{"chime"}, slow: true,
	about: fmt.Sprintf("%d groups with weights 1 to %[1]d and jobs that take 1 ms to 1 s, at random by group, %d at once: by how many slots the jobs of a group that "+
		"a worker holds, on average, differ from its share, of the group where they differ most; then jobs of %v in all groups: by how many percent the starts of "+
		"a group differ from its share", weightedGroups, groupSlots, shortFormHandler),
	run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
		var unlike, alike []time.Duration
		for i := range weightedGroups {
			unlike = append(unlike, time.Duration(float64(time.Millisecond)*math.Pow(1000, float64(i)/(weightedGroups-1))))
			alike = append(alike, shortFormHandler)
		}
		rand.New(rand.NewPCG(1, 0)).Shuffle(len(unlike), func(i, k int) { unlike[i], unlike[k] = unlike[k], unlike[i] })
		held, _, err := runWeighted(ctx, r, unlike)
		if err != nil {
			return nil, err
		}
		_, starts, err := runWeighted(ctx, r, alike)
		if err != nil {
			return nil, err
		}
		furthest, all := 0.0, 0.0
		for _, n := range held {
			all += n
		}
		for i, n := range held {
			furthest = max(furthest, math.Abs(n-all*float64(i+1)/groupSlots))
		}
		return []figure{
			{name: "from their slots", unit: "slots", value: furthest, less: true},
			{name: "from their starts", unit: "%", value: deviation(starts), less: true},
		}, nil
	},
}

// runWeighted runs jobs of groups by weight; durations: how long a job of each group takes. Returns the mean number of jobs that the worker held of each
// group, and how many have started.
func runWeighted(ctx context.Context, r *testbed, durations []time.Duration) (held []float64, starts []int64, err error) {
	lib, err := openTenants(ctx, r, 0, protocol.GroupRule{})
	if err != nil {
		return nil, nil, err
	}
	defer lib.Close()
	limit := 2 * r.sizes.steady
	for i, each := range durations {
		group := strconv.Itoa(i)
		lib.options = func(int) []chime.EnqueueOption { return []chime.EnqueueOption{chime.Group(group)} }
		if err := fillBulk(ctx, lib, 100+int(2*float64(i+1)*limit.Seconds()/each.Seconds())); err != nil { // none runs out of jobs
			return nil, nil, err
		}
		if err := lib.store.Protocol().SetGroup(ctx, "default", group, protocol.GroupRule{Weight: i + 1}); err != nil {
			return nil, nil, err
		}
	}
	counts := make([]atomic.Int64, len(durations))
	worker := chime.NewWorker(lib.store, chime.WorkerOptions{Concurrency: groupSlots, Logger: quiet})
	worker.Handle(jobName, func(ctx context.Context, job *chime.Job) error {
		i, err := strconv.Atoi(job.Group)
		if err != nil {
			return err
		}
		counts[i].Add(1)
		return pause(ctx, durations[i])
	})
	stop := runChime(worker)
	held, starts = make([]float64, len(durations)), make([]int64, len(durations))
	samples := 0
	for began := time.Now(); err == nil && time.Since(began) < limit; samples++ {
		if err = pause(ctx, slotSamples); err == nil {
			err = addHeld(ctx, r, held)
		}
	}
	for i := range counts {
		held[i] /= float64(samples)
		starts[i] = counts[i].Load()
	}
	return held, starts, errors.Join(err, stop())
}

// addHeld adds how many jobs of each group the worker holds.
func addHeld(ctx context.Context, r *testbed, held []float64) error {
	entries, err := r.redis.client.HMGet(ctx, "chime:{default}:groups", strings.Split("0123456789", "")...).Result()
	if err != nil {
		return err
	}
	for i, entry := range entries {
		if text, ok := entry.(string); ok && text != "" { // where it waits, one letter; its flights; a blank
			flights, _, _ := strings.Cut(text[1:], " ")
			held[i] += float64(number(flights))
		}
	}
	return nil
}
