// Package observe is how the engines report to an application's observers. Observers receive batches, in the goroutine that makes them.
package observe

import (
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// An Observer receives what happens. Each function may be nil: then it is not called, and nothing is prepared for it.
type Observer struct {
	Enqueued, Taken, Begun, Ended, Returned, Parked func([]Job)

	Refused     func(queue string, results int)
	SessionLost func(queue string, jobs int)
	Slots       func(size, busy, stuck int)

	Placed  func([]Place)
	Elected func(leading bool, term int64)
	Trouble func(op string, err error)
	Called  func(op string, took time.Duration, err error)
}

// What created a job of a schedule.
const (
	Occurrence = "occurrence"
	Manual     = "manual"
	Backfill   = "backfill"
	Death      = "death"
	Done       = "done"
)

// A Job is what is reported of one job. It has the fields of the application's type, in the same order, so that no copy is needed.
type Job struct {
	Queue, Name, ID, Schedule string
	Attempt                   int
	Due, Started, Ended       time.Time
	Outcome                   string
	Err                       error

	Origin   string // of a job of a schedule
	First    bool
	Waited   time.Time // instant since when this attempt has waited; zero: unknown
	TimedOut bool
	Together int
}

// A Place is an occurrence that was placed.
type Place struct {
	Schedule string
	Queue    string
	Planned  time.Time
	Owed     time.Duration
	Missed   int
	CaughtUp bool
}

// Places reports the occurrences that were placed.
func (o *Observer) Places(sent []protocol.Placement, answers []protocol.PlaceAnswer) {
	if o.Placed == nil {
		return
	}
	var places []Place
	for i, answer := range answers {
		missed := sent[i].Missed // before the first
		for j, at := range sent[i].Instants[:min(answer.Placed, len(sent[i].Instants))] {
			places = append(places, Place{Schedule: sent[i].Name, Queue: sent[i].Partition.Queue, Planned: at, Owed: sent[i].Owed, Missed: missed, CaughtUp: j < sent[i].CaughtUp})
			missed = 0
		}
	}
	if len(places) > 0 {
		o.Placed(places)
	}
}
