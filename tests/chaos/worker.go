//go:build unix

package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/chimejobs/chime"
)

// runWorker handles jobs and occurrences on all queues.
func runWorker(ctx context.Context, p *program) error {
	worker := chime.NewWorker(p.store, chime.WorkerOptions{
		Queues: queueWeights, Concurrency: 20, SessionTTL: sessionTTL, DrainTimeout: 5 * time.Second, MaxCrashes: maxCrashes, Logger: p.log,
	})
	backoff := chime.Backoff(func(int) time.Duration { return 200 * time.Millisecond })
	worker.Handle(occurrenceName, func(ctx context.Context, job *chime.Job) error { return p.handle(ctx, job, job.ID) }, backoff)
	worker.Handle(jobName, func(ctx context.Context, job *chime.Job) error {
		var key string
		if err := job.Decode(&key); err != nil {
			return err
		}
		return p.handle(ctx, job, key)
	}, backoff)
	worker.Handle(followerName, func(ctx context.Context, job *chime.Job) error {
		var root string
		if err := job.Decode(&root); err != nil {
			return err
		}
		return p.handle(ctx, job, followerKey(root, job.ID))
	}, backoff)
	if err := chime.Run(ctx, worker); err != nil || ctx.Err() != nil {
		return err
	}
	return errEarly
}

// handle runs one job as behave decides. The lines about its begin and its end have left the process before the next step.
func (p *program) handle(ctx context.Context, job *chime.Job, key string) (err error) {
	p.send(Begun, key, job.Fence, fmt.Sprint(job.Attempt, " ", job.Crashes, " ", job.Queue))
	b := behave(p.Seed, key, job.Fence)
	if b.work > 0 {
		timer := time.NewTimer(b.work)
		defer timer.Stop()
		ended := ctx.Done()
		if b.deaf {
			ended = nil
		}
		select {
		case <-timer.C:
		case <-ended:
			p.send(Ended, key, job.Fence, string(CutOff))
			return context.Cause(ctx)
		}
	}
	p.send(Ended, key, job.Fence, string(b.outcome))
	return b.err()
}
