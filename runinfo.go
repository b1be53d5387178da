package chime

import "time"

// A RunOutcome is how an attempt of a job ended, in one word.
type RunOutcome string

// How an attempt ended.
const (
	RunDone       RunOutcome = "done"       // the handler returned nil
	RunFailed     RunOutcome = "failed"     // the handler failed, and another attempt follows
	RunSnoozed    RunOutcome = "snoozed"    // the handler asked to run later
	RunDead       RunOutcome = "dead"       // the job was given up
	RunCancelled  RunOutcome = "cancelled"  // somebody cancelled the job
	RunSuperseded RunOutcome = "superseded" // the next occurrence came, under OverlapCancel
	RunMissed     RunOutcome = "missed"     // the occurrence was passed over by the misfire policy
)

// LastRun says how a schedule's runs went lately. The zero value: nothing is known of any.
type LastRun struct {
	Outcome    RunOutcome `json:"outcome,omitempty"`    // of the attempt that ended last
	Planned    time.Time  `json:"planned,omitzero"`     // its occurrence
	Ended      time.Time  `json:"ended,omitzero"`       // when it ended, by the store's clock
	Failures   int        `json:"failures,omitempty"`   // in a row until then; 0: it did not fail
	Unfinished int        `json:"unfinished,omitempty"` // jobs of the schedule that were accepted and have not ended
}

// failing reports whether the last attempt failed or was the job's last.
func (r LastRun) failing() bool { return r.Outcome == RunFailed || r.Outcome == RunDead }
