package overview

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/chimejobs/chime"
)

const (
	maxFailing    = 8   // queues whose failed jobs are read, those that failed most
	deadPage      = 100 // the last page is read again when something has changed
	deadPages     = 5   // that a poll reads of a queue
	retryingPage  = 100
	maxKept       = 500         // dead jobs of a queue that are remembered
	failuresAgain = time.Minute // after which what has not changed by its counters is read again
	lookBack      = time.Hour
	maxGroupJobs  = 500 // that one action is about
)

// failures are the dead and retrying jobs of the last hour, the newest maxKept dead ones of each queue. A poll reads at most deadPages pages of the ones
// and one of the others a queue, and nothing of a queue on which nothing has failed since. The zero value knows none.
type failures struct {
	queues map[string]*failing
}

// failing are the failed jobs of a queue.
type failing struct {
	seen     [3]int64 // Failed, Died and Dead when they were read
	read     time.Time
	retrying []*chime.JobInfo
	before   []*chime.JobInfo // dead ones of the pages before the cursor
	page     []*chime.JobInfo // those of the last page
	cursor   string           // where the last page begins
	behind   bool             // there are further pages
}

// read reads what is new.
func (f *failures) read(ctx context.Context, store chime.Store, jobs *chime.Jobs, queues []*chime.QueueInfo, now time.Time) error {
	if f.queues == nil {
		f.queues = map[string]*failing{}
	}
	some := slices.DeleteFunc(slices.Clone(queues), func(q *chime.QueueInfo) bool { return q.Dead == 0 && q.Retried == 0 })
	slices.SortStableFunc(some, func(a, b *chime.QueueInfo) int { return cmp.Compare(b.Failed, a.Failed) })
	some = some[:min(len(some), maxFailing)]
	known := make(map[string]*failing, len(some))
	for _, q := range some {
		known[q.Name] = f.queues[q.Name]
		if known[q.Name] == nil {
			known[q.Name] = &failing{}
		}
	}
	f.queues = known
	var group sync.WaitGroup
	failed := make([]error, len(some))
	for i, q := range some {
		group.Go(func() { failed[i] = known[q.Name].catchUp(ctx, store, jobs, q, now) })
	}
	group.Wait()
	return cmp.Or(failed...)
}

// catchUp reads what is new of a queue.
func (f *failing) catchUp(ctx context.Context, store chime.Store, jobs *chime.Jobs, q *chime.QueueInfo, now time.Time) error {
	stands := [3]int64{q.Failed, q.Died, q.Dead}
	if f.seen == stands && !f.behind && now.Sub(f.read) < failuresAgain {
		return nil
	}
	var retrying chime.JobPage
	if q.Retried > 0 { // or it would look for retries among all delayed jobs and occurrences
		var err error
		retrying, err = jobs.Page(ctx, chime.JobFilter{Queue: q.Name, State: chime.JobRetrying, Limit: retryingPage})
		if err != nil && !errors.Is(err, chime.ErrNotFound) {
			return err
		}
	}
	requeued := q.Dead < f.seen[2] || f.seen[1] > q.Died // or deleted, by whomever
	limit := deadPage
	if f.read.IsZero() || requeued || q.Died-f.seen[1] > maxKept {
		f.cursor, f.before = "", nil
		if q.Dead > maxKept {
			after, before, err := store.Protocol().Newest(ctx, q.Name, maxKept)
			if err != nil && !errors.Is(err, chime.ErrNotFound) {
				return err
			}
			if before.After(now.Add(-lookBack)) {
				f.cursor, limit = after, maxKept-deadPage
			}
		}
	}
	f.retrying, f.behind = light(retrying.Jobs), true
	for range deadPages {
		dead, err := f.deadPage(ctx, jobs, q, now.Add(-lookBack), limit)
		if err != nil {
			return err
		}
		f.page = light(dead.Jobs)
		if f.behind = dead.Next != ""; !f.behind {
			break
		}
		f.before = append(f.before, f.page...)
		f.before = f.before[max(0, len(f.before)-maxKept):]
		f.page, f.cursor, limit = nil, dead.Next, deadPage
	}
	f.seen, f.read = stands, now
	return nil
}

// deadPage reads the page of dead jobs at the cursor, the first one that has died since an instant if the cursor has become none.
func (f *failing) deadPage(ctx context.Context, jobs *chime.Jobs, q *chime.QueueInfo, since time.Time, limit int) (chime.JobPage, error) {
	filter := chime.JobFilter{Queue: q.Name, State: chime.JobDead, Since: since, After: f.cursor, Limit: limit}
	page, err := jobs.Page(ctx, filter)
	var invalid *chime.InvalidError
	if errors.As(err, &invalid) {
		f.cursor, f.before, filter.After = "", nil, ""
		page, err = jobs.Page(ctx, filter)
	}
	if errors.Is(err, chime.ErrNotFound) {
		err = nil
	}
	return page, err
}

// light drops what no frame shows.
func light(jobs []*chime.JobInfo) []*chime.JobInfo {
	for _, job := range jobs {
		job.Payload, job.Result = nil, nil
	}
	return jobs
}

// complete reports whether all dead jobs were looked at.
func (f *failures) complete() bool {
	for _, q := range f.queues {
		if q.behind {
			return false
		}
	}
	return true
}

// groups returns the failed attempts of the hour until now, those that look the same together, the most first. What samples say that
// failed besides is of jobs that are no longer kept as failed.
func (f *failures) groups(now time.Time, sampled map[string]map[string]int64) []Group {
	since := now.Add(-lookBack)
	type look struct{ queue, job, error string }
	found := map[look]*Group{}
	counts := map[string]map[string]int64{}
	for queue, q := range f.queues {
		counts[queue] = map[string]int64{}
		for _, job := range slices.Concat(q.before, q.page, q.retrying) {
			for _, failure := range attempts(job) {
				if failure.At.Before(since) {
					continue
				}
				key := look{queue, job.Name, Shape(failure.Error)}
				g := found[key]
				if g == nil {
					g = &Group{Queue: queue, Job: job.Name, Error: key.error, First: failure.At}
					found[key] = g
				}
				g.Count++
				counts[queue][job.Name]++
				if failure.At.Before(g.First) {
					g.First = failure.At
				}
				if failure.At.After(g.Last) {
					g.Last = failure.At
				}
			}
			if g := found[look{queue, job.Name, Shape(job.LastError)}]; g != nil {
				g.Jobs = append(g.Jobs, job)
			}
		}
	}
	groups := make([]Group, 0, len(found))
	for _, g := range found {
		slices.SortFunc(g.Jobs, func(a, b *chime.JobInfo) int {
			return cmp.Or(FailedAt(b).Compare(FailedAt(a)), cmp.Compare(a.ID, b.ID))
		})
		g.Jobs = slices.CompactFunc(g.Jobs, func(a, b *chime.JobInfo) bool { return a.ID == b.ID })
		g.Jobs = g.Jobs[:min(len(g.Jobs), maxGroupJobs)]
		groups = append(groups, *g)
	}
	for queue, names := range sampled {
		for name, failed := range names {
			if more := failed - counts[queue][name]; more > 0 {
				groups = append(groups, Group{Queue: queue, Job: name, Count: more})
			}
		}
	}
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Job, b.Job), cmp.Compare(a.Error, b.Error))
	})
	return groups
}

// attempts are the failures of a job that are known.
func attempts(job *chime.JobInfo) []chime.Failure {
	if len(job.Failures) > 0 || job.LastError == "" {
		return job.Failures
	}
	return []chime.Failure{{At: FailedAt(job), Error: job.LastError}}
}

// FailedAt is when a job failed last.
func FailedAt(job *chime.JobInfo) time.Time {
	if n := len(job.Failures); n > 0 {
		return job.Failures[n-1].At
	}
	if !job.Ended.IsZero() {
		return job.Ended
	}
	return job.Enqueued
}
