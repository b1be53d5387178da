package chime

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	defaultPage = 100 // jobs
	maxPage     = protocol.MaxItems
)

// A JobFilter selects jobs: a job must match every field that is set. Queue is always required, and State or IDs: a filter that somebody
// forgot to fill in matches no job.
type JobFilter struct {
	Queue string   // the queue they are on
	State JobState // the state they are in; it may be empty, for any state, only if IDs is set
	IDs   []string // they have one of these IDs, at most 500; a repeated ID counts once

	Name  string // they have this job name
	Error string // their LastError contains this text
	Group string // they belong to this group, see [Group]. A done job has none: its result is kept without its group
	Batch string // they are members of this batch, see [Batch]. A done job is a member of none: its result is kept without its batch

	// Header: they have these keys with exactly these values, see [Header]. A done job has none: its result is kept without its header.
	Header map[string]string

	// Before leaves out jobs at this instant or after it: for a delayed or retrying job that is its Due, for a parked one when it was
	// parked, for a dead one its Ended. Zero: all. Jobs in other states are not ordered by an instant.
	Before time.Time

	// Since leaves out jobs before this instant, by the same instants as Before. A page begins there and reads nothing before it.
	Since time.Time

	// Order is OldestFirst or NewestFirst: the jobs of all partitions in the order of one instant. That is the Due of delayed and retrying jobs, the
	// Ended of dead ones, and KeptUntil of done ones; other states have no such order. Empty: the order that [Jobs.Page] describes.
	Order JobOrder

	// Queues are at most 1,000 queues, in place of Queue. They need an Order: a page has the jobs of all of them, in one order. Queues that do not
	// exist have no jobs.
	Queues []string

	After string // JobPage.Next of the page before, for the same queue, state and IDs; empty: from the beginning
	Limit int    // jobs of a page, at most 500. Zero means 100
}

// A JobOrder is an order of jobs by an instant, see [JobFilter].
type JobOrder string

const (
	OldestFirst JobOrder = protocol.OrderOldest // from the first instant to the last
	NewestFirst JobOrder = protocol.OrderNewest // from the last instant to the first
)

// maxQueuesOfPage is how many queues a page with an order may have.
const maxQueuesOfPage = 1000

var jobStates = []JobState{JobWaiting, JobDelayed, JobRetrying, JobRunning, JobTaken, JobParked, JobDead, JobDone}

// validate returns the filter's problems: *InvalidErrors, joined.
func (f *JobFilter) validate() error {
	var errs []error
	errs = append(errs, f.validateOrder()...)
	switch {
	case f.State == "":
		if len(f.IDs) == 0 {
			errs = append(errs, protocol.Invalid("JobFilter.State", "", "a state, or IDs"))
		}
	case !slices.Contains(jobStates, f.State):
		errs = append(errs, protocol.Invalid("JobFilter.State", string(f.State), "waiting, delayed, retrying, running, taken, parked, dead or done"))
	}
	if len(f.IDs) > protocol.MaxItems {
		errs = append(errs, protocol.Invalid("JobFilter.IDs", strconv.Itoa(len(f.IDs)), strconv.Itoa(protocol.MaxItems)+" at most"))
	}
	for _, id := range f.IDs {
		if err := checkJobID("JobFilter.IDs", id); err != nil {
			errs = append(errs, err)
			break
		}
	}
	if f.Name != "" {
		if err := protocol.CheckName("JobFilter.Name", f.Name); err != nil {
			errs = append(errs, err)
		}
	}
	if f.Group != "" {
		if err := protocol.CheckID("JobFilter.Group", f.Group); err != nil {
			errs = append(errs, err)
		}
	}
	if f.Batch != "" {
		if err := protocol.CheckID("JobFilter.Batch", f.Batch); err != nil {
			errs = append(errs, err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(f.Header)) {
		if checkHeader(key, f.Header[key]) != nil {
			errs = append(errs, protocol.Invalid("JobFilter.Header", key+"="+f.Header[key], "a key of 1 to 100 bytes without control characters, and a value, both UTF-8"))
			break
		}
	}
	if !f.Before.IsZero() && !f.State.timed() {
		errs = append(errs, protocol.Because(protocol.Invalid("JobFilter.Before", f.Before.UTC().Format(time.RFC3339), "the state delayed, retrying, parked or dead"),
			"is given with state "+strconv.Quote(string(f.State))))
	}
	switch since := f.Since.UTC().Format(time.RFC3339); {
	case f.Since.IsZero():
	case !f.State.timed():
		errs = append(errs, protocol.Because(protocol.Invalid("JobFilter.Since", since, "the state delayed, retrying, parked or dead"),
			"is given with state "+strconv.Quote(string(f.State))))
	case !f.Before.IsZero() && !f.Since.Before(f.Before):
		errs = append(errs, protocol.Because(protocol.Invalid("JobFilter.Since", since, "an instant before JobFilter.Before"), "is not before it"))
	}
	if f.Limit < 0 || f.Limit > maxPage {
		errs = append(errs, protocol.Invalid("JobFilter.Limit", strconv.Itoa(f.Limit), "1 to "+strconv.Itoa(maxPage)+", or 0 for "+strconv.Itoa(defaultPage)))
	}
	return errors.Join(errs...)
}

// validateOrder returns the problems of the filter's queues and its order.
func (f *JobFilter) validateOrder() (errs []error) {
	if len(f.Queues) == 0 || f.Queue != "" {
		if err := protocol.CheckName("queue", f.Queue); err != nil {
			errs = append(errs, err)
		}
	}
	switch n := len(f.Queues); {
	case n == 0:
	case f.Queue != "" || f.Order == "":
		errs = append(errs, protocol.Invalid("JobFilter.Queues", strconv.Itoa(n)+" queues", "no Queue, and an Order"))
	case n > maxQueuesOfPage:
		errs = append(errs, protocol.Invalid("JobFilter.Queues", strconv.Itoa(n)+" queues", strconv.Itoa(maxQueuesOfPage)+" at most"))
	}
	for _, queue := range f.Queues {
		if err := protocol.CheckName("queue", queue); err != nil {
			errs = append(errs, err)
			break
		}
	}
	switch {
	case f.Order == "":
	case f.Order != OldestFirst && f.Order != NewestFirst:
		errs = append(errs, protocol.Invalid("JobFilter.Order", string(f.Order), "oldest or newest"))
	case !f.State.ordered() || len(f.IDs) > 0:
		errs = append(errs, protocol.Because(protocol.Invalid("JobFilter.Order", string(f.Order), "the state delayed, retrying, dead or done, and no IDs"),
			"is given with state "+strconv.Quote(string(f.State))))
	}
	return errs
}

// ordered reports whether the jobs of the state have an order over all partitions.
func (s JobState) ordered() bool {
	return s == JobDelayed || s == JobRetrying || s == JobDead || s == JobDone
}

// means reports whether a job of the queue matches the filter; at is the instant by which the job's state is ordered.
func (f *JobFilter) means(job *JobInfo, at time.Time) bool {
	return (f.State == "" || f.State == job.State) && (f.Name == "" || f.Name == job.Name) && (f.Group == "" || f.Group == job.Group) && (f.Batch == "" || f.Batch == job.Batch) &&
		(f.Error == "" || strings.Contains(job.LastError, f.Error)) && f.hasHeader(job) && (f.Before.IsZero() || at.Before(f.Before)) && !at.Before(f.Since)
}

// hasHeader reports whether a job has the filter's header.
func (f *JobFilter) hasHeader(job *JobInfo) bool {
	for key, want := range f.Header {
		if value, ok := job.Header[key]; !ok || value != want {
			return false
		}
	}
	return true
}

// selects reports whether jobs must be read to find those that match, apart from their states and instants.
func (f *JobFilter) selects() bool {
	return f.Name != "" || f.Error != "" || f.Group != "" || f.Batch != "" || len(f.Header) > 0
}

// distinctIDs returns the IDs in order, without repetitions.
func (f *JobFilter) distinctIDs() []string {
	ids, seen := make([]string, 0, len(f.IDs)), make(map[string]bool, len(f.IDs))
	for _, id := range f.IDs {
		if !seen[id] {
			ids, seen[id] = append(ids, id), true
		}
	}
	return ids
}

// idsAfter returns the distinct IDs that come after the cursor.
func (f *JobFilter) idsAfter() []string {
	ids := f.distinctIDs()
	n, _ := strconv.Atoi(strings.TrimPrefix(f.After, idsCursor)) // the read refuses other cursors
	return ids[max(0, min(n, len(ids))):]
}

// timed reports whether the jobs of the state are ordered by an instant.
func (s JobState) timed() bool {
	return s == JobDelayed || s == JobRetrying || s == JobParked || s == JobDead
}

// checkJobID refuses a text that cannot be a job's ID: an ID of the caller's, an occurrence's, or one of these with an ending.
func checkJobID(field, id string) error {
	if id == "" || len(id) > protocol.MaxStoredID || strings.ContainsFunc(id, func(r rune) bool { return r < ' ' }) {
		return protocol.Invalid(field, id, "1 to "+strconv.Itoa(protocol.MaxStoredID)+" bytes without control characters")
	}
	return nil
}
