package chime

import (
	"encoding/json"
	"fmt"
	"time"
)

// A RunOutcome is how an attempt of a job ended, in one word.
type RunOutcome string

// How an attempt ended.
const (
	RunDone       RunOutcome = "done"       // the handler returned nil
	RunFailed     RunOutcome = "failed"     // the handler failed, and another attempt follows
	RunSnoozed    RunOutcome = "snoozed"    // the handler asked to run later
	RunDead       RunOutcome = "dead"       // the job was given up
	RunCrashed    RunOutcome = "crashed"    // its worker vanished, and another attempt follows
	RunCancelled  RunOutcome = "cancelled"  // somebody cancelled the job
	RunSuperseded RunOutcome = "superseded" // the next occurrence came, under OverlapCancel
	RunMissed     RunOutcome = "missed"     // the occurrence was passed over by the misfire policy
	RunSkipped    RunOutcome = "skipped"    // the occurrence was dropped, because another one was running
)

// LastRun says how a schedule's runs went lately, manual runs among them. What [OnDeath] added for its jobs counts as unfinished, and else says
// nothing here. The zero value: nothing is known of any.
type LastRun struct {
	Outcome    RunOutcome `json:"outcome,omitempty"`    // of the attempt that ended last
	Planned    time.Time  `json:"planned,omitzero"`     // its occurrence; of a manual run the second in which it was accepted
	Ended      time.Time  `json:"ended,omitzero"`       // when it ended, by the store's clock
	Failures   int        `json:"failures,omitempty"`   // attempts that failed in a row until then, while PauseAfter counts occurrences; 0: it did not fail
	Unfinished int        `json:"unfinished,omitempty"` // jobs of the schedule that were accepted and have not ended
}

// failing reports whether the last attempt failed or was the job's last.
func (r LastRun) failing() bool { return r.Outcome == RunFailed || r.Outcome == RunDead }

// A RunInfo is an attempt of a job that has ended, or an occurrence that ended without one.
type RunInfo struct {
	ID       string     `json:"id"`                 // of the job; an occurrence's is "<schedule>@<planned instant>"
	Name     string     `json:"name"`               // the job name
	Queue    string     `json:"queue"`              // the queue of its schedule: before a move it was on another one
	Schedule string     `json:"schedule,omitempty"` // the schedule that made the job; empty: it was enqueued
	Planned  time.Time  `json:"planned,omitzero"`   // when the job was to run first; see [Job]
	Started  time.Time  `json:"started,omitzero"`   // when the attempt began, by the store's clock
	Ended    time.Time  `json:"ended,omitzero"`     // when it ended, by the store's clock
	Outcome  RunOutcome `json:"outcome"`            // how it ended
	Attempt  int        `json:"attempt,omitempty"`  // 1, 2, …: failures of the job until then plus one
	Fence    int64      `json:"fence,omitempty"`    // under which it ran; see [Job]
	Error    string     `json:"error,omitempty"`    // how it failed; empty: it did not
	Note     string     `json:"note,omitempty"`     // what its handler remarked
	Worker   string     `json:"worker,omitempty"`   // that ran it, a [WorkerInfo]'s name
	Manual   bool       `json:"manual,omitempty"`   // somebody triggered the schedule; it is no occurrence

	// Backfilled: its occurrence was placed by Schedules.Backfill.
	Backfilled bool `json:"backfilled,omitempty"`
}

// String says which attempt of which job it was, and how it ended.
func (r RunInfo) String() string {
	text := fmt.Sprintf("job %q (ID %q, queue %s, attempt %d) %s at %s", r.Name, r.ID, r.Queue, r.Attempt, r.Outcome, r.Ended.UTC().Format(time.RFC3339Nano))
	if r.Error != "" {
		text += ": " + r.Error
	}
	return text
}

// MarshalJSON encodes the attempt with its instants in UTC.
func (r RunInfo) MarshalJSON() ([]byte, error) {
	type fields RunInfo // without methods
	r.Planned, r.Started, r.Ended = r.Planned.UTC(), r.Started.UTC(), r.Ended.UTC()
	return json.Marshal(fields(r))
}
