//go:build unix

package chaos

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// A Job is the history of an enqueued job or of an occurrence.
type Job struct {
	Key     string // the argument of an enqueued job, or the ID of an occurrence
	Batch   *Batch // with which it was enqueued; nil: an occurrence
	Runs    []Run
	Planned time.Time // of an occurrence
}

// A Batch is a group of jobs that were enqueued together.
type Batch struct {
	Key      string
	Jobs     int
	Queue    string
	Group    string // empty: its jobs belong to no group
	Offered  time.Time
	Accepted time.Time // zero: unknown
	Repeats  int       // the number of repeated calls after an unknown outcome
}

// A Run is one run of a job's handler.
type Run struct {
	Process *Process
	Fence   int64
	Queue   string // that of the job
	Begun   time.Time
	Ended   time.Time // zero: unknown
	Outcome Outcome
}

// Schedule returns the schedule of an occurrence, or an empty text for an enqueued job.
func (j *Job) Schedule() string {
	if j.Batch != nil {
		return ""
	}
	name, _, _ := strings.Cut(j.Key, "@")
	return name
}

// done reports whether a run with this fence or a higher one finished.
func (j *Job) done(since int64) bool {
	return slices.ContainsFunc(j.Runs, func(r Run) bool { return r.Outcome == Done && r.Fence >= since })
}

// finished returns the number of runs with this fence or a higher one that finished.
func (j *Job) finished(since int64) (n int) {
	for _, r := range j.Runs {
		if r.Outcome == Done && r.Fence >= since {
			n++
		}
	}
	return n
}

// byFence returns the runs in the order in which they were taken.
func (j *Job) byFence() []Run {
	runs := slices.Clone(j.Runs)
	slices.SortStableFunc(runs, func(a, b Run) int { return cmp.Compare(a.Fence, b.Fence) })
	return runs
}
