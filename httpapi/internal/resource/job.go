// Package resource is the JSON of collections and jobs: it reads bodies of clients, forgiving in form and strict in content, and writes the
// answers.
package resource

import (
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/recurrence"
)

// A Job is what a client can write of a job.
type Job struct {
	// Rule is when it runs, with its StartTime. Without a recurrence it is recurrence.Once of the startTime; without that too it is the zero value,
	// and whoever stores the job puts now in its place.
	Rule           recurrence.Recurrence
	Now            bool                // neither startTime nor recurrence was given
	State          State               // as the client wants it, or as he repeats what was shown; empty: not said
	Action         *action.Action      // Excerpt is chime.history.body
	Overlap        chime.OverlapPolicy // empty: not said; allow, for job actions skip
	Misfire        chime.MisfirePolicy // empty: not said; run_once
	Grace          time.Duration       // of run_once; 1 min
	NoImmediateRun bool                // immediateRun is false
	DisableAfter   int                 // 0: never
	KeepRuns       int                 // history.keep, 0 to 1000; 100
}

// A State is a job's state as it is shown.
type State string

// The states.
const (
	Enabled   State = "enabled"
	Disabled  State = "disabled"
	Completed State = "completed"
	Faulted   State = "faulted"
)

// Limits bound what a body may have. Zero fields have their defaults.
type Limits = action.Limits

// A JobName is where a job is.
type JobName struct{ Collection, Job string }

// Schedule is the name of its schedule.
func (n JobName) Schedule() string { return n.Collection + ":" + n.Job }

// ReadJob reads the body of a PUT, or of a POST, then n.Job is empty. The action is as the client sent it: it was not prepared.
func ReadJob(text []byte, n JobName) (*Job, []problem.Mistake) { panic("not made yet") }

// Patch returns the job with a merge patch (RFC 7396) put on its writable form, checked whole. Secrets that the patch does not name stay sealed as
// they are; those that it sets to null are removed.
func (j *Job) Patch(text []byte, n JobName) (*Job, []problem.Mistake) { panic("not made yet") }

// A JobView is a job as it is shown.
type JobView struct {
	ID    string // the path below the mount point, with the ARM prefix of the request if it had one
	Name  JobName
	State State
	Held  string // why it is disabled: client, collection, failures, operator; empty: it is not
	Job   *Job   // with its secrets sealed or left out; they are not shown

	Executions, Failures, Faults int64
	Last, Next                   time.Time // zero: none
}

// Append appends the answer's JSON, without a newline.
func (v *JobView) Append(to []byte) []byte { panic("not made yet") }
