package overview

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/shape"
)

const (
	maxFailing    = 8   // number of queues whose failed jobs a poll reads: those that were read longest ago
	maxQueues     = 40  // number of queues whose failed jobs are kept: those with the most failures
	deadPage      = 100 // the last page is read again when something has changed
	deadPages     = 5   // number of pages that a poll reads of a queue
	retryingPage  = 100
	maxKept       = 500         // number of dead jobs of a queue that are kept in memory
	failuresAgain = time.Minute // after this time a queue is read again even if its counters have not changed
	lookBack      = time.Hour
	maxGroupJobs  = 500 // maximum number of jobs of one action
)

// failures has the dead and retrying jobs of the last hour, at most the newest maxKept dead ones of each queue. A poll reads some of the queues in which
// something has failed since they were read, in turn: of each at most deadPages pages of dead jobs and one page of retrying jobs. The zero value is empty.
type failures struct {
	queues map[string]*failing
}

// failing are the failed jobs of a queue.
type failing struct {
	seen     [3]int64 // the counters Failed, Died and Dead at the last reading
	read     time.Time
	retrying []failedJob
	before   []failedJob // dead jobs of the pages before the cursor
	page     []failedJob // dead jobs of the last page
	cursor   string      // cursor of the last page
	behind   bool        // there are pages that were not read
}

// A failedJob is a job with the shapes of its errors: computing one takes longer than everything else that a poll does with a job.
type failedJob struct {
	*chime.JobInfo
	at     []time.Time // of its failed attempts
	shapes []string    // of their errors
	last   string      // the shape of its last error
	lastAt time.Time
}

// shaped returns jobs with the shapes of their errors, without the data that no frame shows. Equal errors of a page share the memory of their shape.
func shaped(jobs []*chime.JobInfo) []failedJob {
	known := map[string]string{}
	of := func(err string) string {
		text, ok := known[err]
		if !ok {
			text = shape.Of(err)
			if shared, ok := known[text]; ok {
				text = shared
			}
			known[err], known[text] = text, text
		}
		return text
	}
	all := make([]failedJob, len(jobs))
	for i, job := range light(jobs) {
		all[i] = failedJob{JobInfo: job, last: of(job.LastError), lastAt: FailedAt(job)}
		for _, failure := range attempts(job) {
			all[i].at, all[i].shapes = append(all[i].at, failure.At), append(all[i].shapes, of(failure.Error))
		}
	}
	return all
}

// read reads new failures.
func (f *failures) read(ctx context.Context, store chime.Store, jobs *chime.Jobs, queues []*chime.QueueInfo, now time.Time) error {
	if f.queues == nil {
		f.queues = map[string]*failing{}
	}
	some := slices.DeleteFunc(slices.Clone(queues), func(q *chime.QueueInfo) bool { return q.Dead == 0 && q.Retried == 0 })
	slices.SortStableFunc(some, func(a, b *chime.QueueInfo) int { return cmp.Compare(b.Failed, a.Failed) })
	some = some[:min(len(some), maxQueues)]
	known := make(map[string]*failing, len(some))
	for _, q := range some {
		known[q.Name] = f.queues[q.Name]
		if known[q.Name] == nil {
			known[q.Name] = &failing{}
		}
	}
	f.queues = known
	some = slices.DeleteFunc(some, func(q *chime.QueueInfo) bool { return !known[q.Name].due(q, now) })
	slices.SortStableFunc(some, func(a, b *chime.QueueInfo) int { return known[a.Name].read.Compare(known[b.Name].read) })
	some = some[:min(len(some), maxFailing)]
	var group sync.WaitGroup
	failed := make([]error, len(some))
	for i, q := range some {
		group.Go(func() { failed[i] = known[q.Name].catchUp(ctx, store, jobs, q, now) })
	}
	group.Wait()
	return cmp.Or(failed...)
}

// countersOf returns the counters of a queue that change when something fails, dies, or is requeued or deleted.
func countersOf(q *chime.QueueInfo) [3]int64 { return [3]int64{q.Failed, q.Died, q.Dead} }

// due reports whether a queue has to be read again.
func (f *failing) due(q *chime.QueueInfo, now time.Time) bool {
	return f.seen != countersOf(q) || f.behind || now.Sub(f.read) >= failuresAgain
}

// catchUp reads the new failures of a queue.
func (f *failing) catchUp(ctx context.Context, store chime.Store, jobs *chime.Jobs, q *chime.QueueInfo, now time.Time) error {
	var retrying chime.JobPage
	if q.Retried > 0 { // otherwise it would search all delayed jobs and occurrences for retries
		var err error
		retrying, err = jobs.Page(ctx, chime.JobFilter{Queue: q.Name, State: chime.JobRetrying, Limit: retryingPage})
		if err != nil && !errors.Is(err, chime.ErrNotFound) {
			return err
		}
	}
	requeued := q.Dead < f.seen[2] || f.seen[1] > q.Died // or deleted
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
	f.retrying, f.behind = shaped(retrying.Jobs), true
	for range deadPages {
		dead, err := f.deadPage(ctx, jobs, q, now.Add(-lookBack), limit)
		if err != nil {
			return err
		}
		f.page = shaped(dead.Jobs)
		if f.behind = dead.Next != ""; !f.behind {
			break
		}
		f.before = append(f.before, f.page...)
		f.before = f.before[max(0, len(f.before)-maxKept):]
		f.page, f.cursor, limit = nil, dead.Next, deadPage
	}
	f.seen, f.read = countersOf(q), now
	return nil
}

// deadPage reads the page of dead jobs at the cursor. If the cursor is no longer valid, it reads the first page of jobs that died since an instant.
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

// light drops the data that no frame shows.
func light(jobs []*chime.JobInfo) []*chime.JobInfo {
	for _, job := range jobs {
		job.Payload, job.Result, job.Stack = nil, nil, ""
	}
	return jobs
}

// complete reports whether all dead jobs were read.
func (f *failures) complete() bool {
	for _, q := range f.queues {
		if q.behind || q.read.IsZero() {
			return false
		}
	}
	return true
}

// A look identifies a group.
type look struct{ job, error string }

// groups returns the failed attempts of the last hour in groups of similar ones, largest first. Further failures in the samples belong to jobs that are
// no longer dead or retrying.
func (f *failures) groups(now time.Time, sampled map[string]map[string]int64) []Group {
	since := now.Add(-lookBack)
	found := map[look]*Group{}
	jobs := map[*Group][]*failedJob{}
	counts := map[string]map[string]int64{}
	for queue, q := range f.queues {
		counts[queue] = map[string]int64{}
		for _, some := range [][]failedJob{q.before, q.page, q.retrying} {
			for i := range some {
				job := &some[i]
				for k, at := range job.at {
					if at.Before(since) {
						continue
					}
					key := look{job.Name, job.shapes[k]}
					if found[key] == nil {
						found[key] = &Group{Job: job.Name, Error: key.error, First: at}
					}
					found[key].add(queue, at)
					counts[queue][job.Name]++
				}
				if g := found[look{job.Name, job.last}]; g != nil {
					jobs[g] = append(jobs[g], job)
				}
			}
		}
	}
	for queue, names := range sampled {
		for name, failed := range names {
			if more := failed - counts[queue][name]; more > 0 {
				key := look{job: name}
				if found[key] == nil {
					found[key] = &Group{Job: name}
				}
				found[key].Count += more
				found[key].Queues = append(found[key].Queues, queue)
			}
		}
	}
	groups := make([]Group, 0, len(found))
	for _, g := range found {
		slices.Sort(g.Queues)
		g.Queues = slices.Compact(g.Queues)
		g.Jobs = newestOf(jobs[g])
		groups = append(groups, *g)
	}
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Job, b.Job), cmp.Compare(a.Error, b.Error))
	})
	return groups
}

// newestOf returns the newest jobs, each once.
func newestOf(jobs []*failedJob) (newest []*chime.JobInfo) {
	slices.SortFunc(jobs, func(a, b *failedJob) int {
		if c := b.lastAt.Compare(a.lastAt); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.ID, b.ID))
	})
	for i, job := range jobs {
		if len(newest) == maxGroupJobs {
			break
		}
		if i == 0 || job.Queue != jobs[i-1].Queue || job.ID != jobs[i-1].ID {
			newest = append(newest, job.JobInfo)
		}
	}
	return newest
}

// add adds a failed attempt on a queue.
func (g *Group) add(queue string, at time.Time) {
	g.Count++
	if !slices.Contains(g.Queues, queue) {
		g.Queues = append(g.Queues, queue)
	}
	if at.Before(g.First) {
		g.First = at
	}
	if at.After(g.Last) {
		g.Last = at
	}
}

// attempts returns the known failures of a job.
func attempts(job *chime.JobInfo) []chime.Failure {
	if len(job.Failures) > 0 || job.LastError == "" {
		return job.Failures
	}
	return []chime.Failure{{At: FailedAt(job), Error: job.LastError}}
}

// FailedAt returns the time of a job's last failure.
func FailedAt(job *chime.JobInfo) time.Time {
	if n := len(job.Failures); n > 0 {
		return job.Failures[n-1].At
	}
	if !job.Ended.IsZero() {
		return job.Ended
	}
	return job.Enqueued
}
