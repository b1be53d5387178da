package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime"
)

// optionRounds is how often plain jobs and those with options take turns, and kept how long what is remembered of them is.
const (
	optionRounds = 3
	kept         = time.Hour
)

// costlyOptions are the options of a job that cost the server something, each with what is compared with a plain job.
var costlyOptions = []struct {
	name    string
	options func(number int) []chime.EnqueueOption
}{
	{"ID and Once", func(number int) []chime.EnqueueOption {
		return []chime.EnqueueOption{chime.ID(fmt.Sprintf("order-%08d", number)), chime.Once(kept)}
	}},
	{"Keep", func(int) []chime.EnqueueOption { return []chime.EnqueueOption{chime.Keep(kept)} }},
	{"OnDeath", func(int) []chime.EnqueueOption {
		return []chime.EnqueueOption{chime.OnDeath(chime.Item{Name: "alert", Args: "a job has died"})}
	}},
}

// optionsMeasure takes plain jobs and jobs with options through their whole life, in turns.
var optionsMeasure = measure{
	name: "life with options", group: "life", only: []string{"chime"}, slow: true,
	about: fmt.Sprintf("what a job with an option costs the server from enqueue to end, compared with a plain one: enqueued in bulk, worked off by 100 "+
		"at once, %d times in turns; the median. No job dies, and each that is kept returns nothing", optionRounds),
	run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
		costs, ratios := make([][]float64, len(costlyOptions)), make([][]float64, len(costlyOptions))
		var plain []float64
		for range optionRounds {
			base, err := lifeOf(ctx, r, p, nil)
			if err != nil {
				return nil, err
			}
			plain = append(plain, base)
			for i, o := range costlyOptions {
				c, err := lifeOf(ctx, r, p, o.options)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", o.name, err)
				}
				costs[i], ratios[i] = append(costs[i], c), append(ratios[i], c/base)
			}
		}
		figures := []figure{{name: "server CPU a plain job", unit: "µs", value: middle(plain), less: true}}
		for i, o := range costlyOptions {
			figures = append(figures, figure{name: "server CPU with " + o.name, unit: "µs", value: middle(costs[i]), less: true},
				figure{name: "to a plain one, " + o.name, unit: "×", value: middle(ratios[i]), less: true})
		}
		return figures, nil
	},
}

// lifeOf is the server CPU of a job with options from enqueue to end, in microseconds.
func lifeOf(ctx context.Context, r *testbed, p peer, options func(number int) []chime.EnqueueOption) (float64, error) {
	if err := r.redis.empty(ctx); err != nil {
		return 0, err
	}
	opened, err := p.open(ctx, r)
	if err != nil {
		return 0, err
	}
	lib := opened.(*chimeLibrary)
	lib.options = options
	in, err := watch(ctx, r.redis, func() (int64, time.Duration, error) {
		began := time.Now()
		err := fillBulk(ctx, lib, r.sizes.backlog)
		return int64(r.sizes.backlog), time.Since(began), err
	})
	var out resources
	if err == nil {
		out, err = workOff(ctx, r, p, lib, 100, doNothing)
	}
	if err = errors.Join(err, lib.Close()); err != nil {
		return 0, err
	}
	return in.each().server + out.each().server, nil
}
