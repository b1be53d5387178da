package main

import (
	"context"
	"errors"

	"github.com/chimejobs/chime"
)

// limitedConcurrency is how many jobs run at once, and notReached a limit that they do not reach.
const (
	limitedConcurrency = 100
	notReached         = 1000
)

// limitMeasure works off a queue without a limit, and then one with a limit that is not reached.
var limitMeasure = measure{
	name: "limit not reached", group: "queues", slow: true,
	about: "a backlog of jobs worked off by one process with empty handlers, 100 at once, of a queue that may run 1,000 jobs at once; and as many of one " +
		"without a limit",
	run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
		if p.library != chimePeer.library {
			return nil, errors.ErrUnsupported // what is compared is a queue without a limit
		}
		var rates []float64
		for _, limit := range []chime.Limit{{Running: notReached}, {}} {
			lib, err := p.open(ctx, r)
			if err != nil {
				return nil, err
			}
			var e resources
			if err = fillBulk(ctx, lib, r.sizes.backlog); err == nil {
				err = lib.(*chimeLibrary).Limit(ctx, limit)
			}
			if err == nil {
				e, err = workOff(ctx, r, p, lib, limitedConcurrency, doNothing)
			}
			if err = errors.Join(err, lib.Close()); err != nil {
				return nil, err
			}
			rates = append(rates, e.rate().value)
		}
		return []figure{
			{name: "jobs/s", unit: "1/s", value: rates[0]},
			{name: "jobs/s without a limit", unit: "1/s", value: rates[1]},
			{name: "of one without a limit", unit: "%", value: 100 * rates[0] / rates[1]},
		}, nil
	},
}
