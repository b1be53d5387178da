package main

import (
	"context"
	"fmt"
	"time"

	"github.com/chimejobs/chime"
)

const (
	manyAtOnce  = 10  // the concurrency
	manySize    = 100 // jobs of a call
	manyHandler = time.Millisecond
)

// manyMeasure works off a backlog with handlers that wait, once with a job for each handler and once with a hundred jobs for each.
var manyMeasure = measure{
	name: fmt.Sprintf("many %v", manyHandler), group: "handlers", only: []string{"chime"}, slow: true, long: true,
	about: fmt.Sprintf("a backlog of jobs worked off by one process with handlers that wait %v, %d at once: HandleMany with up to %d jobs a call, and one job "+
		"a handler beside it", manyHandler, manyAtOnce, manySize),
	run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
		own := *r
		own.sizes = r.sizes.forHandlers(manyHandler, manyAtOnce)
		alone := openObserved(r, nil)
		defer alone.Close()
		if err := fillBulk(ctx, alone, own.sizes.backlog); err != nil {
			return nil, err
		}
		var handler waiting
		one, err := workOff(ctx, &own, p, alone, manyAtOnce, func() { handler.wait(manyHandler) })
		if err != nil {
			return nil, err
		}
		if err := r.redis.empty(ctx); err != nil {
			return nil, err
		}
		together := *r
		together.sizes.backlog *= 4
		many := &manyLibrary{chimeLibrary: openObserved(r, nil)}
		defer many.Close()
		if err := fillBulk(ctx, many, together.sizes.backlog); err != nil {
			return nil, err
		}
		all, err := workOff(ctx, &together, p, many, manyAtOnce, func() {})
		if err != nil {
			return nil, err
		}
		size := 0.0
		if calls := many.calls.ended.Load(); calls > 0 {
			size = float64(all.jobs) / float64(calls)
		}
		return append([]figure{
			all.rate(),
			{name: "jobs/s, one by one", unit: "1/s", value: one.rate().value},
			{name: "to one by one", unit: "×", value: all.rate().value / one.rate().value},
			{name: "jobs a call", unit: "jobs", value: size},
		}, all.each().cpu()...), nil
	},
}

// A manyLibrary is chime whose worker handles many jobs together.
type manyLibrary struct {
	*chimeLibrary
	calls waiting
}

func (l *manyLibrary) Work(concurrency int, handle func(payload []byte)) (func() error, error) {
	worker := chime.NewWorker(l.store, chime.WorkerOptions{Concurrency: concurrency, Logger: quiet})
	worker.HandleMany(jobName, chime.Many{Size: manySize, Wait: 20 * time.Millisecond}, func(_ context.Context, jobs []*chime.Job) error {
		l.calls.wait(manyHandler)
		for _, job := range jobs {
			handle(job.Payload)
		}
		return nil
	})
	return runChime(worker), nil
}
