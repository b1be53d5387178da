package main

import (
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// A scheduleView is the tenant's view of a schedule, without the prefix, the queue and other internal fields.
type scheduleView struct {
	Name       string                 `json:"name"`
	State      chime.ScheduleState    `json:"state"`
	Note       *chime.Note            `json:"note,omitempty"` // of a pause
	Recurrence recurrence.Recurrence  `json:"recurrence"`
	InWords    string                 `json:"in_words"`
	Action     action                 `json:"action"`
	Next       time.Time              `json:"next,omitzero"`
	Last       *chime.LastRun         `json:"last,omitempty"`
	Counters   chime.ScheduleCounters `json:"counters"`
}

func (r *request) view(s *chime.Schedule) scheduleView {
	v := scheduleView{
		Name: r.own(s.Name), State: s.State, Recurrence: s.Recurrence, InWords: s.String(), Next: s.Next, Counters: s.Counters,
	}
	_ = s.Decode(&v.Action) // an action that cannot be decoded is left out
	if s.Note != (chime.Note{}) {
		v.Note = &s.Note
	}
	if s.Last != (chime.LastRun{}) {
		v.Last = &s.Last
	}
	return v
}

// A runView is the tenant's view of a run.
type runView struct {
	Planned time.Time        `json:"planned"`
	Started time.Time        `json:"started,omitzero"`
	Ended   time.Time        `json:"ended"`
	Outcome chime.RunOutcome `json:"outcome"`
	Attempt int              `json:"attempt,omitempty"`
	Manual  bool             `json:"manual,omitempty"` // somebody requested it
	Error   string           `json:"error,omitempty"`
	Note    string           `json:"note,omitempty"`
}

func viewRun(r *chime.RunInfo) runView {
	return runView{r.Planned, r.Started, r.Ended, r.Outcome, r.Attempt, r.Manual, r.Error, r.Note}
}

// A jobView is the tenant's view of a run that it has requested.
type jobView struct {
	State   chime.JobState   `json:"state"`
	Outcome chime.RunOutcome `json:"outcome,omitempty"` // if it is done: the result
	Attempt int              `json:"attempt"`
	Error   string           `json:"error,omitempty"` // of the last attempt
	Note    string           `json:"note,omitempty"`
}

func viewJob(j *chime.JobInfo) jobView {
	return jobView{j.State, j.Outcome, j.Attempt, j.LastError, j.Note}
}
