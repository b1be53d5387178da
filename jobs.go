package chime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

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
		err = filter.check()
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
