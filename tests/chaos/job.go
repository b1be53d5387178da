//go:build unix

package chaos

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// A Job is what the history knows of an enqueued job or of an occurrence.
type Job struct {
	Key     string // of an enqueued job what it carries as its argument, of an occurrence its ID
	Batch   *Batch // it was enqueued with; nil: an occurrence
	Runs    []Run
	Planned time.Time // of an occurrence
}

// A Batch is jobs that were enqueued together.
type Batch struct {
	Key      string
	Jobs     int
	Offered  time.Time
	Accepted time.Time // zero: it may have been enqueued or not
	Repeats  int       // how often it was enqueued again because the outcome was unknown
}

// A Run is one run of a job's handler.
type Run struct {
	Process *Process
	Fence   int64
	Begun   time.Time
	Ended   time.Time // zero: nobody knows
	Outcome Outcome
}

// Schedule returns the schedule of an occurrence; empty: an enqueued job.
func (j *Job) Schedule() string {
	if j.Batch != nil {
		return ""
	}
	name, _, _ := strings.Cut(j.Key, "@")
	return name
}

// done reports whether a run with a fence of at least that one came to its end.
func (j *Job) done(since int64) bool {
	return slices.ContainsFunc(j.Runs, func(r Run) bool { return r.Outcome == Done && r.Fence >= since })
}

// byFence returns the runs in the order in which they were taken.
func (j *Job) byFence() []Run {
	runs := slices.Clone(j.Runs)
	slices.SortStableFunc(runs, func(a, b Run) int { return cmp.Compare(a.Fence, b.Fence) })
	return runs
}
