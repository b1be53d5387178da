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

// A BulkResult counts how far a change of many jobs has come.
type BulkResult struct {
	Changed int `json:"changed"` // jobs that were changed
	Gone    int `json:"gone"`    // matching jobs that were gone, or had changed in the meantime, when their turn came: nothing was done to them
	Looked  int `json:"looked"`  // jobs that were read, matching or not
}

func (r BulkResult) plus(other BulkResult) BulkResult {
	return BulkResult{Changed: r.Changed + other.Changed, Gone: r.Gone + other.Gone, Looked: r.Looked + other.Looked}
}

// Requeue puts the matching jobs to the front of their queue. Delayed and retrying jobs run now instead of later. Parked jobs are tried again.
// Dead jobs start again with their first attempt. A job keeps the errors of its last attempts. An occurrence that nobody has taken yet
// remains where it is, and a dead member of a batch that was cancelled remains dead.
//
// The filter needs a queue, and the state delayed, retrying, parked or dead, or IDs; jobs in other states are not changed. After and Limit are
// refused: Requeue works to the end, in steps of at most 500 jobs. After each step it calls progress, unless that is nil, with the sum of all
// steps. Jobs that get a matching state only after Requeue began are not changed, including requeued jobs that have failed again. Of delayed jobs
// it reads only as many as there were when it began.
//
// If ctx ends, or the store fails, Requeue stops and returns what was done, with the error. Then you can call Requeue again.
func (j *Jobs) Requeue(ctx context.Context, filter JobFilter, progress func(BulkResult)) (BulkResult, error) {
	b := bulk{jobs: j, filter: filter, progress: progress, states: []JobState{JobDelayed, JobRetrying, JobParked, JobDead}, change: j.requeue, seen: map[string]bool{}}
	result, err := b.run(ctx)
	if err != nil {
		err = fmt.Errorf("chime: requeue jobs of queue %.40q: %w", filter.Queue, err)
	}
	return result, err
}

// Delete removes the matching jobs and keeps nothing of them: waiting, delayed, retrying, parked and dead ones. It does not change jobs
// that a worker holds, nor an occurrence that nobody has taken yet: use [Jobs.Cancel] for these. In all else it works like Requeue.
// No counter contains deleted jobs. If the filter has only IDs, Delete also frees those that [Once] bars: a job that has ended counts as changed
// if its ID can be enqueued with Once again. Enqueuers with the same [Store] forget an unknown outcome of a deleted job, see [ID]. Delete reaches the first 300,000 waiting jobs of each partition.
func (j *Jobs) Delete(ctx context.Context, filter JobFilter, progress func(BulkResult)) (BulkResult, error) {
	b := bulk{jobs: j, filter: filter, progress: progress, states: []JobState{JobWaiting, JobDelayed, JobRetrying, JobParked, JobDead}, change: j.delete}
	b.lifts = len(filter.IDs) > 0 && filter.State == "" && !filter.selects() && filter.Before.IsZero() && filter.Since.IsZero()
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
		stored := *f
		stored.Opened = nil                               // what is sealed remains sealed, so this program need not have the key
		message, err := messageOf(&stored, name, planned) // an occurrence that died parked may have no body: it gets one
		if err != nil || len(f.Body) == 0 && (message.Sealed != nil || f.Refused != nil) {
			continue // then it remains dead: an unreadable job cannot start again
		}
		message.Failures, message.Expires = 0, time.Time{}
		if message.Details != nil && message.Details.Alone { // its next attempts may share a call again
			details := *message.Details
			details.Alone = false
			message.Details = &details
		}
		if name == "" {
			jobs[i].Schedule, jobs[i].Name, jobs[i].Planned = message.Schedule, message.Name, message.Planned
			jobs[i].Follows = message.Follows()
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
	before   BulkResult // the sum of earlier changes, for progress
	change   func(ctx context.Context, queue string, found []*protocol.FoundJob) ([]protocol.Changed, error)
	seen     map[string]bool // IDs that were changed and may return; nil: they cannot

	lifts bool // IDs that Once bars are changed too

	bounded bool // no instant shows which jobs came after the start: only as many are read as there were then
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

// validate refuses a filter that a bulk change does not support.
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
		errs = append(errs, protocol.Invalid("JobFilter.After", b.filter.After, "nothing: a change works to the end"))
	}
	if b.filter.Order != "" || len(b.filter.Queues) > 0 {
		errs = append(errs, protocol.Invalid("JobFilter.Order", string(b.filter.Order), "no Order and no Queues: a change is of one queue"))
	}
	if b.filter.Limit != 0 {
		errs = append(errs, protocol.Invalid("JobFilter.Limit", fmt.Sprint(b.filter.Limit), "nothing: a change works to the end"))
	}
	return errors.Join(errs...)
}

// begin records what exists, so that later jobs are not changed.
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
		if b.filter.Group != "" {
			b.present, err = b.waiting(ctx)
		}
	}
	return err
}

// waiting returns how many jobs of the filter's group wait.
func (b *bulk) waiting(ctx context.Context) (int, error) {
	group, err := b.jobs.group(ctx, b.filter.Queue, b.filter.Group)
	if err != nil || group == nil {
		return 0, err
	}
	return int(group.Waiting), nil
}

// step changes the jobs of one page, and returns where the next one begins; empty after the last one.
func (b *bulk) step(ctx context.Context) (next string, err error) {
	ids := b.filter.idsAfter()
	page, err := b.jobs.read(ctx, &b.filter)
	if err != nil {
		return "", err
	}
	var meant []*protocol.FoundJob
	late := false // there are jobs that came after the start
	for i := range page.Jobs {
		f := &page.Jobs[i]
		b.result.Looked++
		if b.lifts && !f.BarredUntil.IsZero() {
			meant = append(meant, &protocol.FoundJob{ID: ids[i]})
			continue
		}
		if f.ID == "" {
			b.result.Gone++
			continue
		}
		// Occurrences that wait for others come after all other waiting jobs, and are not counted with them.
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

// A CancelResult is the result of [Jobs.Cancel].
type CancelResult string

const (
	CancelDone    CancelResult = "cancelled" // the job will not start; if it waited for a retry, it will not start again
	CancelAsked   CancelResult = "asked"     // a worker holds it and was asked to end it: its handler's ctx ends, and then the job
	CancelTooLate CancelResult = "ended"     // it was dead before, or is done and its result is kept
)

// Cancel ends a job in any state. It returns ErrNotFound if the queue has no job with that ID, if the job has ended and is not kept, or if
// there is no such queue.
//
// A job that waits will not start, whether it waits for a worker, for its time, for a retry, for a worker that can run it, or for another
// occurrence. For a job that a worker holds, the worker ends the handler's ctx with ErrCancelled: usually immediately, and at the latest with
// its next heartbeat (4 s). The job is not tried again, even if the handler returns an error. A held job that has not begun does not begin. A handler
// that ignores its ctx runs to its end; so the result is CancelAsked, not CancelDone.
//
// Enqueuers with the same [Store] forget an unknown outcome of a cancelled job: after CancelDone its ID can be enqueued again, see [ID].
//
// A job that was enqueued with [Replace] to follow a held job is cancelled with it: enqueue it again once the held job has ended.
//
// The next occurrence of a schedule can be cancelled too. It uses up one run of the rule's Count, and the occurrence after it comes as if the
// cancelled one had run. Cancelling twice changes nothing. Programs of an earlier version stop taking jobs from a queue on which something was
// cancelled, and log that.
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

// cancel reads the job first: only its body contains whether its result is to be kept.
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
	if errors.Is(err, ErrNotFound) {
		err = notFound(job)
	}
	return result, err
}

// cancelledResult is the result that is kept of a cancelled job; nil: nothing is kept.
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
		r.Attempt++ // the attempt that it ends
	}
	return &protocol.Result{Keep: message.Details.Keep, Body: r.Encode()}
}
