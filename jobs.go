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

// Jobs shows the jobs of a store, and cancels, requeues and deletes them. Create one with NewJobs; the zero value has no store. Showing jobs
// changes nothing.
type Jobs struct {
	store protocol.Store
}

// NewJobs returns the jobs of a store. It does no I/O.
func NewJobs(store Store) *Jobs { return &Jobs{store: protocolOf(store)} }

// A JobPage is a part of a list of jobs.
type JobPage struct {
	Jobs      []*JobInfo `json:"jobs"`                // the jobs in order; may be empty although Next is set
	Next      string     `json:"next,omitempty"`      // JobFilter.After of the next page; empty: this is the last one
	Looked    int        `json:"looked"`              // how many jobs were read to find these: at most 500
	Previous  string     `json:"previous,omitempty"`  // with an Order: JobFilter.After of a page in the other order, which has the jobs before this page
	Restarted bool       `json:"restarted,omitempty"` // waiting jobs: the job after which it was to continue is gone, so it started again at the front
}

// Get returns a job in any state. It returns ErrNotFound if the queue has no job with that ID, if the job is done and its result is not
// kept, or if there is no such queue.
//
// A job may be unreadable for this program, because a newer version wrote it or because the store has lost a part of it. Such a job is returned
// with its ID and state and with an error, which is also its Err.
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
		return nil, notFound(&found[0])
	}
	info := newJobInfo(queue, &found[0])
	return info, info.Err
}

// List iterates over the jobs that match the filter, page by page, in the order that [Jobs.Page] describes. A job that does not change its place
// meanwhile is listed once. A job that does may be listed twice or not at all.
//
// After an error of the store or of the filter, which comes with a nil job, the list ends. A job that this program cannot read is listed with
// its ID and state and an error of its own; then the list continues.
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

// Page returns some of the jobs that match the filter. It is one call, which takes the store at most a few milliseconds for any number of
// jobs. For the next page set the filter's After to page.Next, which is empty at the end. ErrNotFound means that there is no such queue.
//
// Delayed, retrying, parked and dead jobs are ordered by their instants, then by their IDs. Parked jobs have a list for each job name, one
// after the other. Waiting jobs come in the order in which they are taken, at most 300,000 of a partition; then those of
// groups, group by group; then occurrences that wait for an earlier one to end. Running jobs and those taken ahead are grouped by session of a worker, in the order in which they were taken. With IDs,
// the order is that of the IDs. The partitions of a queue come one after the other. With an Order, the jobs of all partitions and of all the
// filter's Queues come in one order, at the cost of a command for each partition and some more for those that have jobs on the page.
//
// With the states retrying and delayed, or with Name, Error, Group, Batch or Header, the jobs must be read to find those that match: at most 500 in a call. So
// a page may have few jobs, or none, and still have a Next. Waiting jobs of one group are read alone. A page of long jobs, more than 4 MiB together, is also shorter.
func (j *Jobs) Page(ctx context.Context, filter JobFilter) (JobPage, error) {
	err := j.ready(ctx)
	if err == nil {
		err = filter.validate()
	}
	var found protocol.JobPage
	if err == nil {
		found, err = j.read(ctx, &filter)
	}
	if err != nil && len(filter.Queues) > 0 {
		return JobPage{}, fmt.Errorf("chime: list jobs of %d queues: %w", len(filter.Queues), err)
	}
	if err != nil {
		return JobPage{}, fmt.Errorf("chime: list jobs of queue %.40q: %w", filter.Queue, err)
	}
	page := JobPage{Jobs: []*JobInfo{}, Restarted: found.Restarted}
	limit := cmp.Or(filter.Limit, defaultPage)
	if filter.Order != "" && filter.After != "" && len(found.Jobs) > 0 {
		page.Previous = found.Jobs[0].Next
	}
	for i := range found.Jobs {
		if len(page.Jobs) == limit {
			return page, nil
		}
		page.Looked++
		page.Next = found.Jobs[i].Next
		if found.Jobs[i].ID == "" || found.Jobs[i].Passed {
			continue
		}
		if info := newJobInfo(cmp.Or(found.Jobs[i].Queue, filter.Queue), &found.Jobs[i]); filter.means(info, found.Jobs[i].At) {
			page.Jobs = append(page.Jobs, info)
		}
	}
	page.Next = found.Next
	return page, nil
}

// read reads the candidates for a page.
func (j *Jobs) read(ctx context.Context, filter *JobFilter) (protocol.JobPage, error) {
	if len(filter.IDs) > 0 {
		return j.readIDs(ctx, filter)
	}
	call := protocol.JobPageCall{
		Queue: filter.Queue, State: string(filter.State), Name: filter.Name, Error: filter.Error, Group: filter.Group, Batch: filter.Batch, Tried: filter.State == JobRetrying,
		Order: string(filter.Order), Queues: filter.Queues, Before: filter.Before, Since: filter.Since, After: filter.After, Limit: cmp.Or(filter.Limit, defaultPage),
	}
	if filter.State == JobRetrying {
		call.State = protocol.JobDelayed
	}
	switch {
	case filter.selects():
		call.Limit = maxPage
	case call.State == protocol.JobDelayed: // the jobs of the other state among them are left out
		call.Limit = min(lookPerJob*call.Limit, maxPage)
	}
	return j.store.PageJobs(ctx, call)
}

// lookPerJob is how many delayed and retrying jobs are read for each job that a page may have.
const lookPerJob = 4

// idsCursor begins the Next of a page of a filter with IDs; the number of those that were read follows.
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
	if filter.State == "" && !filter.selects() {
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

// waitPoll is how often Wait reads the job although no message has come: a job without Keep sends none.
const waitPoll = 10 * time.Second

// waitRetry is how long after an error of the store Wait reads the job again.
const waitRetry = time.Second

// Wait waits until a job has ended, and decodes its result into v: a pointer, or nil if you do not need the result. A job without a result
// leaves v unchanged. The job needs the option [Keep]: if a job is gone without a result, the error is ErrNotFound, not success.
//
// If the job ended in another way than done, the error is a *[JobError]: the job is dead, was cancelled or superseded, or has expired. If several
// jobs had the ID one after the other, Wait waits for the one that exists now. The kept result of an earlier one is deleted when the job is
// cancelled, deleted or purged. But if the newest job with the ID has no Keep and is done, or is dead and no longer kept, Wait returns the result
// of an earlier one until that result expires. When ctx ends, Wait returns the error of ctx, together with the store's last error if the store was
// failing. While it waits, it costs the store a subscription (many share one connection) and a read every 10 s. The reads are needed because a
// message may be lost, and because a job without Keep sends none.
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
	info, err := j.get(ctx, queue, id) // most often it still runs, or has ended: then no subscription is needed
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

// ended reports whether waiting for a job is over, and with which error. info and err are the results of Get.
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
	case err != nil: // it is done, and its result cannot be read
		return true, err
	case v == nil:
		return true, nil
	}
	if err := decodeOpened(info.Sealed, info.Result, v); err != nil {
		return true, fmt.Errorf("chime: result of job %q of queue %q: %w", info.ID, info.Queue, err)
	}
	return true, nil
}

// A JobError means that a job has ended, but is not done. errors.Is finds ErrCancelled and ErrReplaced in it; see Outcome for the other ends.
type JobError struct {
	Queue   string     `json:"queue"`             // the queue of the job
	ID      string     `json:"id"`                // the ID of the job
	Outcome RunOutcome `json:"outcome"`           // dead, cancelled, superseded or expired
	Message string     `json:"message,omitempty"` // the error of its last attempt; empty: it did not fail
}

// Error contains the job, how it ended, and the error of its last attempt.
func (e *JobError) Error() string {
	text := fmt.Sprintf("chime: job %q of queue %q is %s", e.ID, e.Queue, e.Outcome)
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Is reports whether target is ErrCancelled and the job was cancelled, or ErrReplaced and it was superseded.
func (e *JobError) Is(target error) bool {
	return target == ErrCancelled && e.Outcome == RunCancelled || target == ErrReplaced && e.Outcome == RunSuperseded
}
