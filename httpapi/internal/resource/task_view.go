package resource

import (
	"encoding/json"
	"time"
)

// A TaskView is a task in an answer.
type TaskView struct {
	ID      string
	Queue   string
	Group   string // of a task that has not ended; empty: none
	Batch   string // of which it is a member; empty: none, or it has ended
	Job     string // the name of the job; empty: it is an action of another type
	State   string // waiting, delayed, retrying, running, parked, dead or done
	Outcome string // of a task that is done: done, cancelled, superseded or expired
	Attempt int    // the one that runs or runs next, of an ended task the last one

	Enqueued, Due, Expires, Started, Ended, KeptUntil time.Time // zero: none

	Message string          // the note of its handler, or the error of the last attempt
	Stack   string          // the last attempt panicked: its stack; empty: it did not panic
	Result  json.RawMessage // what the handler has returned, as JSON; nil: nothing
}

type taskJSON struct {
	ID           string          `json:"id"`
	Queue        string          `json:"queue"`
	Group        string          `json:"group,omitempty"`
	Batch        string          `json:"batch,omitempty"`
	Job          string          `json:"job,omitempty"`
	State        string          `json:"state"`
	Outcome      string          `json:"outcome,omitempty"`
	Attempt      int             `json:"attempt,omitempty"`
	EnqueuedTime string          `json:"enqueuedTime,omitempty"`
	DueTime      string          `json:"dueTime,omitempty"`
	ExpiryTime   string          `json:"expiryTime,omitempty"`
	StartTime    string          `json:"startTime,omitempty"`
	EndTime      string          `json:"endTime,omitempty"`
	KeptUntil    string          `json:"keptUntil,omitempty"`
	Message      string          `json:"message,omitempty"`
	Stack        string          `json:"stack,omitempty"`
	Result       json.RawMessage `json:"result,omitempty"`
}

// Append appends the answer's JSON, without a newline.
func (v *TaskView) Append(to []byte) []byte {
	return appendJSON(to, taskJSON{
		ID: v.ID, Queue: v.Queue, Group: v.Group, Batch: v.Batch, Job: v.Job, State: v.State, Outcome: v.Outcome, Attempt: v.Attempt,
		EnqueuedTime: Time(v.Enqueued), DueTime: Time(v.Due), ExpiryTime: Time(v.Expires), StartTime: Time(v.Started), EndTime: Time(v.Ended),
		KeptUntil: Time(v.KeptUntil), Message: v.Message, Stack: v.Stack, Result: v.Result,
	})
}
