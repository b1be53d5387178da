package jobs_test

import (
	"time"

	"github.com/chimejobs/chime"
)

// A plainJob is a job as docs/jobs.md describes it.
type plainJob struct {
	version   int           // of its arguments
	keep      time.Duration // 0: nothing is kept
	due       time.Time
	delayed   bool      // it had to wait for its time: it may count as delayed even if its time has come
	expires   time.Time // zero: never, or it has begun
	failures  int
	running   bool
	held      bool // its handler does not return before it is asked to
	cancelled bool
	dead      bool
	follow    *plainJob // that replaces it when it ends
}

// state returns what Jobs.Get shows.
func (j *plainJob) state() chime.JobState {
	switch {
	case j.running:
		return chime.JobRunning
	case j.dead:
		return chime.JobDead
	case !j.delayed:
		return chime.JobWaiting
	case j.failures > 0:
		return chime.JobRetrying
	}
	return chime.JobDelayed
}

// A plainResult is a kept outcome.
type plainResult struct {
	outcome chime.RunOutcome
	until   time.Time
}

// A plainQueue is a model of one queue, its jobs and its limit. It follows the documents only: it knows no key and no script.
type plainQueue struct {
	jobs      map[string]*plainJob
	barred    map[string]time.Time // until when Once bars an ID
	kept      map[string]plainResult
	cancelled map[string]bool // IDs of jobs that were cancelled before they began: until one of that ID begins, another cancellation may have the same answer
	paused    bool
	limit     chime.Limit
	starts    []time.Time
}

func newPlainQueue() *plainQueue {
	return &plainQueue{jobs: map[string]*plainJob{}, barred: map[string]time.Time{}, kept: map[string]plainResult{}, cancelled: map[string]bool{}}
}

// free removes what bars an ID and what is kept of its earlier jobs.
func (q *plainQueue) free(id string) {
	delete(q.barred, id)
	delete(q.kept, id)
}

func (q *plainQueue) bars(id string, now time.Time) bool { return q.barred[id].After(now) }

// result returns what is kept of the last job with an ID.
func (q *plainQueue) result(id string, now time.Time) (plainResult, bool) {
	kept := q.kept[id]
	return kept, kept.until.After(now)
}

// A plainCall is a call of Enqueue.
type plainCall struct {
	id      string
	version int
	once    time.Duration
	keep    time.Duration
	in      time.Duration
	expire  time.Duration
	replace bool
}

// enqueue returns the receipt of a call.
func (q *plainQueue) enqueue(c plainCall, now time.Time) (existing, replaced bool, state chime.JobState) {
	job := q.jobs[c.id]
	fresh := &plainJob{version: c.version, keep: c.keep, due: now.Add(c.in), delayed: c.in > 0}
	if c.expire > 0 {
		fresh.expires = fresh.due.Add(c.expire)
	}
	bars := c.once > 0 && q.bars(c.id, now)
	if bars && q.barred[c.id].After(now.Add(c.once)) {
		q.barred[c.id] = now.Add(c.once) // a shorter time shortens it
	}
	waits := job != nil && !job.running && !job.dead
	switch {
	case job == nil && bars:
		if _, kept := q.result(c.id, now); kept {
			state = chime.JobDone
		}
		return true, false, state
	case job != nil && (!c.replace || bars && !waits || job.cancelled):
		return true, false, job.state()
	case job != nil && job.running:
		job.follow = fresh
	case job != nil && job.state() == chime.JobWaiting:
		fresh.due, fresh.delayed = now, false
		if c.expire > 0 {
			fresh.expires = now.Add(c.expire)
		}
		q.jobs[c.id] = fresh
	default:
		q.jobs[c.id] = fresh
	}
	if c.once > 0 {
		q.barred[c.id] = now.Add(c.once)
	}
	return false, job != nil, ""
}

// cancel returns the result of Jobs.Cancel; "" for ErrNotFound.
func (q *plainQueue) cancel(id string, now time.Time) chime.CancelResult {
	job := q.jobs[id]
	switch {
	case job == nil:
		if _, kept := q.result(id, now); kept {
			return chime.CancelTooLate
		}
		return ""
	case job.dead:
		return chime.CancelTooLate
	case job.running:
		job.cancelled, job.follow = true, nil
		delete(q.barred, id)
		return chime.CancelAsked
	}
	q.end(id, chime.RunCancelled, now)
	delete(q.barred, id)
	q.cancelled[id] = true
	return chime.CancelDone
}

// remove returns how many jobs Jobs.Delete of an ID changes.
func (q *plainQueue) remove(id string, now time.Time) int {
	job := q.jobs[id]
	switch {
	case job == nil && !q.bars(id, now):
		return 0
	case job == nil: // what is kept of it remains
		delete(q.barred, id)
		return 1
	case job != nil && job.running:
		return 0
	}
	delete(q.jobs, id)
	q.free(id)
	return 1
}

// requeue returns how many jobs Jobs.Requeue of an ID changes.
func (q *plainQueue) requeue(id string, now time.Time) int {
	job := q.jobs[id]
	if job == nil || job.running {
		return 0
	}
	if job.state() == chime.JobWaiting {
		return 0
	}
	job.expires = time.Time{}
	if job.dead {
		job.failures = 0
	}
	job.dead, job.due, job.delayed = false, now, false
	return 1
}

// purge returns how many jobs Queues.Purge deletes.
func (q *plainQueue) purge() (n int) {
	for id, job := range q.jobs {
		if !job.running {
			delete(q.jobs, id)
			q.free(id)
			n++
		}
	}
	return n
}

// end removes a job, or lets the one follow that replaces it.
func (q *plainQueue) end(id string, outcome chime.RunOutcome, now time.Time) {
	job := q.jobs[id]
	delete(q.jobs, id)
	if job.keep > 0 {
		q.kept[id] = plainResult{outcome, now.Add(job.keep)}
	}
	if follow := job.follow; follow != nil {
		if follow.due.Before(now) {
			follow.due, follow.delayed = now, false
		}
		q.jobs[id] = follow
	}
}
