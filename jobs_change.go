package chime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/wire"
)

// A BulkResult says how far a change of many jobs has come.
type BulkResult struct {
	Changed int `json:"changed"` // jobs that were changed
	Gone    int `json:"gone"`    // jobs that were meant, and were gone or had changed when their turn came: they are left alone
	Looked  int `json:"looked"`  // jobs that were looked at, whether the filter means them or not
}

func (r BulkResult) plus(other BulkResult) BulkResult {
	return BulkResult{Changed: r.Changed + other.Changed, Gone: r.Gone + other.Gone, Looked: r.Looked + other.Looked}
}

// Requeue puts the jobs that the filter means to the front of their queue: delayed and retrying ones now instead of later, parked ones, and
// dead ones, whose attempts begin anew. What its last attempts failed with stays with a job. An occurrence that nobody has taken yet stays
// where it is.
//
// The filter needs a queue, and the state delayed, retrying, parked or dead, or IDs; of what has another state nothing is changed. After and
// Limit are refused: Requeue goes on to the end, in steps of at most 500 jobs. After each step progress, unless it is nil, hears
// of all that was done so far. Jobs that come into the state after Requeue began, among them those that it requeued and that failed
// again, are left alone; of delayed ones it looks at as many as there were when it began.
//
// If ctx ends, or the store fails, it stops and returns what it has done, with the error. Then it may be called again.
func (j *Jobs) Requeue(ctx context.Context, filter JobFilter, progress func(BulkResult)) (BulkResult, error) {
	b := bulk{jobs: j, filter: filter, progress: progress, states: []JobState{JobDelayed, JobRetrying, JobParked, JobDead}, change: j.requeue, seen: map[string]bool{}}
	result, err := b.run(ctx)
	if err != nil {
		err = fmt.Errorf("chime: requeue jobs of queue %.40q: %w", filter.Queue, err)
	}
	return result, err
}

// Delete removes the jobs that the filter means, and keeps nothing of them: waiting, delayed, retrying, parked and dead ones. What a worker
// holds is left alone, and so is an occurrence that nobody has taken yet: [Jobs.Cancel] is for these. In all else it is as Requeue is.
// Deleted jobs are in no counter. Of waiting ones it reaches the first 300,000 of each partition.
func (j *Jobs) Delete(ctx context.Context, filter JobFilter, progress func(BulkResult)) (BulkResult, error) {
	b := bulk{jobs: j, filter: filter, progress: progress, states: []JobState{JobWaiting, JobDelayed, JobRetrying, JobParked, JobDead}, change: j.delete}
	result, err := b.run(ctx)
	if err != nil {
		err = fmt.Errorf("chime: delete jobs of queue %.40q: %w", filter.Queue, err)
	}
	return result, err
}

// requeue and delete change jobs in one step.
func (j *Jobs) requeue(ctx context.Context, queue string, found []*protocol.FoundJob) ([]protocol.Changed, error) {
	jobs := make([]protocol.RequeuedJob, len(found))
	for i, f := range found {
		jobs[i].ID = f.ID
		if JobState(f.State) != JobDead {
			continue
		}
		name, planned, _ := schedule.SplitOccurrence(f.ID)
		message, err := messageOf(f, name, planned) // an occurrence that died parked may have no body: it gets one
		if err != nil {
			continue // then it stays dead: who cannot read it cannot begin its attempts anew
		}
		message.Failures = 0
		if name == "" {
			jobs[i].Schedule, jobs[i].Name, jobs[i].Planned = message.Schedule, message.Name, message.Planned
			jobs[i].Death = message.Details != nil && message.Details.Death != nil
		}
		jobs[i].Read, jobs[i].Body = f.Body, message.Encode()
	}
	return j.store.RequeueJobs(ctx, queue, jobs)
}

func (j *Jobs) delete(ctx context.Context, queue string, found []*protocol.FoundJob) ([]protocol.Changed, error) {
	ids := make([]string, len(found))
	for i, f := range found {
		ids[i] = f.ID
	}
	return j.store.DeleteJobs(ctx, queue, ids)
}

// A bulk is a change of many jobs, step by step.
type bulk struct {
	jobs     *Jobs
	filter   JobFilter
	progress func(BulkResult)
	states   []JobState // in which jobs may be changed
	before   BulkResult // what was done before, for progress
	change   func(ctx context.Context, queue string, found []*protocol.FoundJob) ([]protocol.Changed, error)
	seen     map[string]bool // IDs that were changed and may come back; nil: they do not

	bounded bool // no instant tells which jobs have come since the start: so many are looked at as there were then
	present int  // how many there were
	result  BulkResult
}

func (b *bulk) run(ctx context.Context) (BulkResult, error) {
	if err := errors.Join(b.jobs.ready(ctx), b.validate()); err != nil {
		return b.result, err
	}
	if err := b.begin(ctx); err != nil {
		return b.result, err
	}
	for {
		if ctx.Err() != nil {
			return b.result, context.Cause(ctx)
		}
		next, err := b.step(ctx)
		if b.progress != nil {
			b.progress(b.before.plus(b.result))
		}
		if err != nil || next == "" {
			return b.result, err
		}
		b.filter.After = next
	}
}

// validate refuses a filter that a bulk change does not know.
func (b *bulk) validate() error {
	common := b.filter // what is refused below is not refused here too
	common.Limit = 0
	if b.filter.State != "" && !slices.Contains(jobStates, b.filter.State) {
		common.State, common.Before, common.Since = b.states[0], time.Time{}, time.Time{}
	}
	errs := []error{common.validate()}
	may := b.filter.State == ""
	words := ""
	for i, state := range b.states {
		may = may || state == b.filter.State
		words += [...]string{", ", " or "}[min(1, max(0, i-len(b.states)+2))] + string(state)
	}
	if !may {
		errs = append(errs, protocol.Invalid("JobFilter.State", string(b.filter.State), words[2:]+", or IDs"))
	}
	if b.filter.After != "" {
		errs = append(errs, protocol.Invalid("JobFilter.After", b.filter.After, "none: a change goes on to the end"))
	}
	if b.filter.Limit != 0 {
		errs = append(errs, protocol.Invalid("JobFilter.Limit", fmt.Sprint(b.filter.Limit), "none: a change goes on to the end"))
	}
	return errors.Join(errs...)
}

// begin notes what there is, so that what comes later is left alone.
func (b *bulk) begin(ctx context.Context) error {
	b.filter.Limit = maxPage
	stats, err := b.jobs.store.QueueStats(ctx, []string{b.filter.Queue})
	if err != nil {
		return err
	}
	if stats[0].Partitions == 0 {
		return ErrNotFound
	}
	if len(b.filter.IDs) > 0 {
		return nil
	}
	switch b.filter.State {
	case JobDead, JobParked:
		if b.filter.Before.IsZero() || stats[0].Now.Before(b.filter.Before) {
			b.filter.Before = stats[0].Now.Add(time.Millisecond)
		}
	case JobDelayed, JobRetrying:
		b.bounded, b.present = true, int(stats[0].Delayed)
	case JobWaiting:
		b.bounded, b.present = true, int(stats[0].Waiting)
	}
	return nil
}

// step changes the jobs of one page, and returns where the next one begins; empty: this was the last one.
func (b *bulk) step(ctx context.Context) (next string, err error) {
	page, err := b.jobs.read(ctx, &b.filter)
	if err != nil {
		return "", err
	}
	var meant []*protocol.FoundJob
	late := false // there are jobs that have come since the start
	for i := range page.Jobs {
		f := &page.Jobs[i]
		b.result.Looked++
		if f.ID == "" {
			b.result.Gone++
			continue
		}
		// Occurrences behind others come after all other waiting jobs, and are not counted with them.
		if _, _, occurrence := protocol.CutOccurrence(f.ID); b.bounded && b.result.Looked > b.present && !occurrence {
			late = true
			continue
		}
		if f.Passed {
			continue
		}
		if info := newJobInfo(b.filter.Queue, f); b.filter.means(info, f.At) && b.may(info.State) && !b.seen[f.ID] {
			meant = append(meant, f)
		}
	}
	if len(meant) > 0 {
		became, err := b.change(ctx, b.filter.Queue, meant)
		for i, how := range became {
			switch how {
			case protocol.ChangeDone:
				b.result.Changed++
			case protocol.ChangeGone:
				b.result.Gone++
			}
			if b.seen != nil {
				b.seen[meant[i].ID] = true
			}
		}
		if err != nil {
			return "", err
		}
	}
	if late {
		return "", nil
	}
	return page.Next, nil
}

// may reports whether a job in this state may be changed.
func (b *bulk) may(state JobState) bool {
	for _, s := range b.states {
		if s == state {
			return true
		}
	}
	return false
}

// A CancelResult says what [Jobs.Cancel] has done.
type CancelResult string

const (
	CancelDone    CancelResult = "cancelled" // the job never starts, or, if it waited for a retry, never again
	CancelAsked   CancelResult = "asked"     // a worker holds it and was told: its handler's ctx ends, and then the job
	CancelTooLate CancelResult = "ended"     // it was given up before, or is done and its result is kept
)

// Cancel ends a job wherever it is. ErrNotFound: there is no job of that ID on the queue, or no such queue; what has ended and is not kept
// is not found either.
//
// One that waits never starts: it waits for a worker, for its time, for a retry, for a worker that can run it, or behind another occurrence.
// One that a worker holds is told to end: its handler's ctx ends with ErrCancelled, at once as a rule and with the worker's next heartbeat
// (4 s) at the latest, and whatever the handler returns, the job is not tried again. If it has not begun it does not begin. A handler that
// does not look at its ctx runs to its end; so the result is CancelAsked, not CancelDone.
//
// What was to follow a held job, enqueued with [Replace], goes with it: enqueue it again once the job has ended.
//
// The next occurrence of a schedule may be cancelled too: the one after it comes as if this one had run, and it counts as one of the
// rule's Count. Cancelling twice changes nothing. Programs of a version before this one stop taking from a queue once something has
// been cancelled there, and say so.
func (j *Jobs) Cancel(ctx context.Context, queue, id string) (CancelResult, error) {
	err := j.ready(ctx)
	if err == nil {
		err = errors.Join(protocol.CheckName("queue", queue), checkJobID("ID", id))
	}
	var result protocol.CancelResult
	if err == nil {
		result, err = j.cancel(ctx, queue, id)
	}
	if err != nil {
		return "", fmt.Errorf("chime: cancel job %.40q of queue %.40q: %w", id, queue, err)
	}
	switch result {
	case protocol.CancelAsked:
		return CancelAsked, nil
	case protocol.CancelTooLate:
		return CancelTooLate, nil
	}
	return CancelDone, nil
}

// cancel reads the job first: whether its result is to be kept only its body says.
func (j *Jobs) cancel(ctx context.Context, queue, id string) (protocol.CancelResult, error) {
	found, err := j.store.FindJobs(ctx, queue, []string{id})
	if err != nil {
		return 0, err
	}
	job := &found[0]
	result, err := j.store.CancelJob(ctx, queue, id, cancelledResult(job))
	if errors.Is(err, ErrNotFound) && job.State == protocol.JobDone {
		return protocol.CancelTooLate, nil
	}
	return result, err
}

// cancelledResult is what is kept of a job that is cancelled; nil: nothing.
func cancelledResult(job *protocol.FoundJob) *protocol.Result {
	if job.State == protocol.JobDone || job.ID == "" {
		return nil
	}
	name, planned, _ := schedule.SplitOccurrence(job.ID)
	message, err := messageOf(job, name, planned)
	if err != nil || message.Details == nil || message.Details.Keep == 0 {
		return nil
	}
	r := wire.Result{
		Name: message.Name, Schedule: cmp.Or(name, message.Schedule), Planned: message.Planned, Keep: message.Details.Keep,
		Attempt: message.Failures, Error: message.LastError,
	}
	if job.State == protocol.JobRunning {
		r.Attempt++ // the one that it ends
	}
	return &protocol.Result{Keep: message.Details.Keep, Body: r.Encode()}
}
