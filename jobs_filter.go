package chime

import (
	"errors"
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

// A JobFilter says which jobs are meant. All that is set must hold. Queue is always needed, and State or IDs: a filter that somebody
// forgot to fill in means no job.
type JobFilter struct {
	Queue string   // the queue they are on
	State JobState // the state they are in; empty: any, of those with one of IDs
	IDs   []string // they have one of these IDs, at most 500; one that is in it twice counts once

	Name  string // they have this job name
	Error string // their LastError contains this text

	// Before leaves out what comes at this instant or after it: a delayed or retrying job by its Due, a parked one by when it was
	// parked, a dead one by its Ended. Zero: all. In no other state jobs are in the order of an instant.
	Before time.Time

	// Since leaves out what comes before this instant, as Before what comes after. A page begins there, and looks at nothing before it.
	Since time.Time

	After string // JobPage.Next of the page before, for the same queue, state and IDs; empty: from the beginning
	Limit int    // jobs of a page, at most 500. Zero means 100
}

var jobStates = []JobState{JobWaiting, JobDelayed, JobRetrying, JobRunning, JobTaken, JobParked, JobDead, JobDone}

// validate returns what is wrong with the filter: *InvalidErrors, joined.
func (f *JobFilter) validate() error {
	var errs []error
	if err := protocol.CheckName("queue", f.Queue); err != nil {
		errs = append(errs, err)
	}
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

// means reports whether the filter means a job of its queue; at is the instant that orders the job's state.
func (f *JobFilter) means(job *JobInfo, at time.Time) bool {
	return (f.State == "" || f.State == job.State) && (f.Name == "" || f.Name == job.Name) &&
		(f.Error == "" || strings.Contains(job.LastError, f.Error)) && (f.Before.IsZero() || at.Before(f.Before)) && !at.Before(f.Since)
}

// distinctIDs returns the IDs in their order, each once.
func (f *JobFilter) distinctIDs() []string {
	ids, seen := make([]string, 0, len(f.IDs)), make(map[string]bool, len(f.IDs))
	for _, id := range f.IDs {
		if !seen[id] {
			ids, seen[id] = append(ids, id), true
		}
	}
	return ids
}

// timed reports whether the jobs of the state are in the order of an instant.
func (s JobState) timed() bool {
	return s == JobDelayed || s == JobRetrying || s == JobParked || s == JobDead
}

// checkJobID refuses what is no job's ID: an ID of the caller's, an occurrence's, or one of these with an ending.
func checkJobID(field, id string) error {
	if id == "" || len(id) > protocol.MaxStoredID || strings.ContainsFunc(id, func(r rune) bool { return r < ' ' }) {
		return protocol.Invalid(field, id, "1 to "+strconv.Itoa(protocol.MaxStoredID)+" bytes without control characters")
	}
	return nil
}
