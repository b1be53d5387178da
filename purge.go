package chime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// Purge deletes the jobs of a queue, and keeps nothing of them: waiting, delayed, retrying, parked and dead ones, also those of schedules. What
// stays: jobs that workers hold; the next occurrence of each schedule, which nobody has taken yet; results that are kept; the schedules
// themselves and the queue. again is the queue's name once more, so that nobody purges a queue by a slip.
//
// It goes in steps of at most 500 jobs, and after each progress, unless it is nil, hears of all that was done so far. What comes after
// Purge began stays: all that is enqueued to run now; what is parked or given up since. Of delayed and retrying jobs it looks at as many as there are when their
// turn comes, which is last, those first that are due first. Until its turn comes, a job that is to be purged counts as existing for who enqueues another one with its ID.
//
// If ctx ends, or the store fails, it stops and returns what it has done, with the error. The jobs that waited go nevertheless, within minutes, if a
// worker or a scheduler runs: only the others need another call. ErrNotFound: no job, schedule or worker has ever named the queue.
func (q *Queues) Purge(ctx context.Context, queue, again string, progress func(BulkResult)) (BulkResult, error) {
	p := purge{queues: q, queue: queue, progress: progress}
	err := q.check(ctx, queue)
	if again != queue {
		err = errors.Join(err, protocol.Invalid("again", again, "the queue's name once more"))
	}
	if err == nil {
		err = p.run(ctx)
	}
	if err != nil {
		err = fmt.Errorf("chime: purge queue %.40q: %w", queue, err)
	}
	return p.result, err
}

// A purge deletes the jobs of a queue.
type purge struct {
	queues   *Queues
	queue    string
	progress func(BulkResult)
	result   BulkResult
	told     BulkResult // what progress has heard last
}

func (p *purge) run(ctx context.Context) error {
	stats, err := p.queues.store.QueueStats(ctx, []string{p.queue})
	switch {
	case err != nil:
		return err
	case stats[0].Partitions == 0:
		return ErrNotFound
	}
	began := stats[0].Now.Add(time.Millisecond)
	for index := range stats[0].Partitions { // in all of them, so that what comes from now on stays
		done, err := p.queues.store.BeginPurge(ctx, protocol.Partition{Queue: p.queue, Index: index})
		if p.add(done); err != nil {
			return err
		}
	}
	for index := range stats[0].Partitions {
		if err := p.waiting(ctx, protocol.Partition{Queue: p.queue, Index: index}); err != nil {
			return err
		}
	}
	for _, state := range []JobState{JobParked, JobDead, JobDelayed, JobRetrying} {
		if err := p.others(ctx, state, began); err != nil {
			return err
		}
	}
	return nil
}

// waiting deletes the jobs of a partition that waited when the purge began.
func (p *purge) waiting(ctx context.Context, partition protocol.Partition) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		done, err := p.queues.store.PurgeStep(ctx, partition)
		if p.add(done); err != nil || !done.More {
			return err
		}
	}
}

// others deletes the jobs of another state.
func (p *purge) others(ctx context.Context, state JobState, began time.Time) error {
	jobs := &Jobs{store: p.queues.store}
	b := bulk{
		jobs: jobs, filter: JobFilter{Queue: p.queue, State: state}, states: []JobState{state}, change: jobs.delete,
		progress: p.tell, before: p.result,
	}
	if state == JobParked || state == JobDead {
		b.filter.Before = began
	}
	done, err := b.run(ctx)
	p.result = p.result.plus(done)
	return err
}

// add notes what a step has done.
func (p *purge) add(done protocol.PurgeAnswer) {
	p.result = p.result.plus(BulkResult{Changed: done.Changed, Gone: done.Looked - done.Changed, Looked: done.Looked})
	p.tell(p.result)
}

// tell tells progress how far the purge is, if anything was done since.
func (p *purge) tell(so BulkResult) {
	if p.progress != nil && so != p.told {
		p.told = so
		p.progress(so)
	}
}
