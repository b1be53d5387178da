package chime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// Jobs shows the jobs of a store, and cancels, requeues and deletes them. NewJobs makes one; the zero value has no store. Showing jobs
// changes nothing.
type Jobs struct {
	store protocol.Store
}

// NewJobs returns the jobs of a store. It does no I/O.
func NewJobs(store Store) *Jobs { return &Jobs{store: protocolOf(store)} }

// A JobPage is some jobs of a list.
type JobPage struct {
	Jobs      []*JobInfo `json:"jobs"`                // in order; there may be none although Next is set
	Next      string     `json:"next,omitempty"`      // JobFilter.After of the next page; empty: this is the last one
	Looked    int        `json:"looked"`              // how many jobs were looked at to find these: at most 500
	Restarted bool       `json:"restarted,omitempty"` // waiting jobs: the one that it was to go on after has gone, so it has begun again at the front
}

// Get returns a job wherever it is; ErrNotFound if there is none of that ID on the queue, or no such queue. What a job has left when
// it ended well is not found either.
//
// A job that this program cannot read, because a newer version wrote it or because the store has lost a part of it, comes with its ID
// and state and with an error, which is its Err.
func (j *Jobs) Get(ctx context.Context, queue, id string) (*JobInfo, error) {
	info, err := j.get(ctx, queue, id)
	if info == nil {
		return nil, fmt.Errorf("chime: get job %.40q of queue %.40q: %w", id, queue, err)
	}
	return info, err
}

func (j *Jobs) get(ctx context.Context, queue, id string) (*JobInfo, error) {
	err := j.ready(ctx)
	if err == nil {
		err = errors.Join(protocol.CheckName("queue", queue), checkJobID("ID", id))
	}
	if err != nil {
		return nil, err
	}
	found, err := j.store.FindJobs(ctx, queue, []string{id})
	if err != nil {
		return nil, err
	}
	if found[0].ID == "" {
		return nil, ErrNotFound
	}
	info := newJobInfo(queue, &found[0])
	return info, info.Err
}

// List goes through the jobs that the filter means, a page at a time, in the order that [Jobs.Page] describes. A job that does not
// move meanwhile is in the list once; one that moves may be in it once more, or not at all.
//
// The list ends after an error of the store or of the filter, which comes with a nil job. A job that this program cannot read comes with
// its ID and state and an error of its own, and the list goes on.
func (j *Jobs) List(ctx context.Context, filter JobFilter) iter.Seq2[*JobInfo, error] {
	return func(yield func(*JobInfo, error) bool) {
		for {
			page, err := j.Page(ctx, filter)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, job := range page.Jobs {
				if !yield(job, job.Err) {
					return
				}
			}
			if filter.After = page.Next; page.Next == "" {
				return
			}
		}
	}
}

// Page returns some of the jobs that the filter means, by one call that costs the store a few milliseconds at most, however many jobs
// there are. After: page.Next in the filter goes on; it is empty at the end. ErrNotFound means that there is no such queue.
//
// Delayed, retrying, parked and dead jobs come in the order of their instants, those of one instant in the order of their IDs, parked
// ones of one list after the other: each job name has a list. Waiting jobs come in the order in which they are taken, at most 300,000
// of a partition, then occurrences that wait for an earlier one to end. Running jobs and those taken ahead come one session of a worker after the other, in
// the order in which they were taken; with IDs, in the order of the IDs. If a queue has several partitions they come one after the other.
//
// State retrying or delayed, Name and Error are found by reading jobs, at most 500 a call, so a page may have few jobs, or none, and
// still have a Next. A page of long jobs, more than 4 MiB together, is shorter too.
func (j *Jobs) Page(ctx context.Context, filter JobFilter) (JobPage, error) {
	err := j.ready(ctx)
	if err == nil {
		err = filter.validate()
	}
	var found protocol.JobPage
	if err == nil {
		found, err = j.read(ctx, &filter)
	}
	if err != nil {
		return JobPage{}, fmt.Errorf("chime: list jobs of queue %.40q: %w", filter.Queue, err)
	}
	page := JobPage{Jobs: []*JobInfo{}, Restarted: found.Restarted}
	limit := cmp.Or(filter.Limit, defaultPage)
	for i := range found.Jobs {
		if len(page.Jobs) == limit {
			return page, nil
		}
		page.Looked++
		page.Next = found.Jobs[i].Next
		if found.Jobs[i].ID == "" || found.Jobs[i].Passed {
			continue
		}
		if info := newJobInfo(filter.Queue, &found.Jobs[i]); filter.means(info, found.Jobs[i].At) {
			page.Jobs = append(page.Jobs, info)
		}
	}
	page.Next = found.Next
	return page, nil
}

// read reads the jobs that are looked at for a page.
func (j *Jobs) read(ctx context.Context, filter *JobFilter) (protocol.JobPage, error) {
	if len(filter.IDs) > 0 {
		return j.readIDs(ctx, filter)
	}
	call := protocol.JobPageCall{
		Queue: filter.Queue, State: string(filter.State), Name: filter.Name, Error: filter.Error, Tried: filter.State == JobRetrying,
		Before: filter.Before, Since: filter.Since, After: filter.After, Limit: cmp.Or(filter.Limit, defaultPage),
	}
	if filter.State == JobRetrying {
		call.State = protocol.JobDelayed
	}
	switch {
	case filter.Name != "" || filter.Error != "":
		call.Limit = maxPage
	case call.State == protocol.JobDelayed: // the other ones among them are left out
		call.Limit = min(lookPerJob*call.Limit, maxPage)
	}
	return j.store.PageJobs(ctx, call)
}

// lookPerJob is how many delayed jobs and retries are looked at for each that a page may have.
const lookPerJob = 4

// idsCursor begins the Next of a page of a filter with IDs; the number of those that were looked at follows.
const idsCursor = "ids."

func (j *Jobs) readIDs(ctx context.Context, filter *JobFilter) (protocol.JobPage, error) {
	from, ids := 0, filter.distinctIDs()
	if filter.After != "" {
		n, err := strconv.Atoi(strings.TrimPrefix(filter.After, idsCursor))
		if err != nil || n < 1 || n >= len(ids) || filter.After != idsCursor+strconv.Itoa(n) {
			return protocol.JobPage{}, protocol.InvalidCursor(filter.After)
		}
		from = n
	}
	to := len(ids)
	if filter.State == "" && filter.Name == "" && filter.Error == "" {
		to = min(to, from+cmp.Or(filter.Limit, defaultPage))
	}
	found, err := j.store.FindJobs(ctx, filter.Queue, ids[from:to])
	if err != nil {
		return protocol.JobPage{}, err
	}
	page := protocol.JobPage{Jobs: found}
	for i := range found {
		page.Next = ""
		if n := from + i + 1; n < len(ids) {
			page.Next = idsCursor + strconv.Itoa(n)
		}
		found[i].Next = page.Next
	}
	return page, nil
}

func (j *Jobs) ready(ctx context.Context) error {
	switch {
	case j.store == nil:
		return errNilStore
	case ctx == nil:
		return errNilContext
	}
	return nil
}

// waitPoll is how often a job that somebody waits for is looked for although no message has come: one without Keep sends none.
const waitPoll = 10 * time.Second

// waitRetry is how long after an error of the store a job is looked for again.
const waitRetry = time.Second

// Wait waits until a job has ended, and decodes what it returned into v, a pointer, or nil if that is not wanted. A job that returned
// nothing leaves v as it is. The job has to have the option [Keep]: of one that is gone without a result the error is ErrNotFound, not
// success.
//
// If the job ended otherwise than done the error is a *[JobError]: it was given up, or cancelled, or superseded. If several jobs had the ID
// one after the other, the one that exists now is waited for. What was kept of an earlier one goes when the job is cancelled, deleted or
// purged; but if a job without Keep is done, or dead and no longer kept, the earlier one's result is the answer until its time is over.
// When ctx ends Wait returns its error, with the error of the store if that has been failing. While it waits it costs the store a
// subscription, of which many share one connection, and a look every 10 s: a message may be lost, and without Keep there is none.
func (j *Jobs) Wait(ctx context.Context, queue, id string, v any) error {
	fail := func(err error) error {
		return fmt.Errorf("chime: wait for job %.40q of queue %.40q: %w", id, queue, err)
	}
	over := func(info *JobInfo, err error) (bool, error) {
		over, err := ended(info, err, v)
		if over && info == nil {
			err = fail(err)
		}
		return over, err
	}
	if target := reflect.ValueOf(v); v != nil && (target.Kind() != reflect.Pointer || target.IsNil()) {
		return fail(protocol.Invalid("v", fmt.Sprintf("%T", v), "a pointer that is not nil, or nil"))
	}
	info, err := j.get(ctx, queue, id) // most often it runs still, or has ended: that costs no subscription
	if over, err := over(info, err); over {
		return err
	}
	changed, stop := j.store.Await(ctx, queue, id)
	defer stop()
	timer := time.NewTimer(waitPoll)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			if err != nil {
				return fail(fmt.Errorf("%w; the store's last error: %w", ctx.Err(), err))
			}
			return fail(ctx.Err())
		case <-changed:
		case <-timer.C:
		}
		if info, err = j.get(ctx, queue, id); ctx.Err() != nil {
			continue
		}
		if over, err := over(info, err); over {
			return err
		}
		timer.Reset(waitPoll)
		if err != nil {
			timer.Reset(waitRetry)
		}
	}
}

// ended reports whether waiting for a job is over, and with which error. What Get returned for it is info and err.
func ended(info *JobInfo, err error, v any) (over bool, _ error) {
	switch {
	case info == nil:
		invalid := (*InvalidError)(nil)
		return errors.Is(err, ErrNotFound) || errors.Is(err, ErrUnfit) || errors.As(err, &invalid), err
	case info.State == JobDead:
		return true, &JobError{Queue: info.Queue, ID: info.ID, Outcome: RunDead, Message: info.LastError}
	case info.State != JobDone:
		return false, nil
	case info.Outcome != RunDone:
		return true, &JobError{Queue: info.Queue, ID: info.ID, Outcome: info.Outcome, Message: info.LastError}
	case err != nil: // it is done, and what it returned cannot be read
		return true, err
	case v == nil:
		return true, nil
	}
	if err := Decode(info.Result, v); err != nil {
		return true, fmt.Errorf("chime: result of job %q of queue %q: %w", info.ID, info.Queue, err)
	}
	return true, nil
}

// A JobError says that a job has ended, and not well. errors.Is finds ErrCancelled and ErrReplaced in it.
type JobError struct {
	Queue   string     `json:"queue"`             // of the job
	ID      string     `json:"id"`                // of the job
	Outcome RunOutcome `json:"outcome"`           // dead, cancelled or superseded
	Message string     `json:"message,omitempty"` // how its last attempt failed; empty: it did not
}

// Error names the job, how it ended, and how its last attempt failed.
func (e *JobError) Error() string {
	text := fmt.Sprintf("chime: job %q of queue %q is %s", e.ID, e.Queue, e.Outcome)
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Is reports whether target is ErrCancelled, of a job that was cancelled, or ErrReplaced, of one that was superseded.
func (e *JobError) Is(target error) bool {
	return target == ErrCancelled && e.Outcome == RunCancelled || target == ErrReplaced && e.Outcome == RunSuperseded
}
