// Package observe is what the engines tell an application's observers. They hear of batches, in the goroutine that makes them.
package observe

import (
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// An Observer is told what happens. Each function may be nil: then it is not asked, and nothing is prepared for it.
type Observer struct {
	Enqueued, Taken, Begun, Ended func([]Job)

	Placed  func([]Place)
	Elected func(leading bool, term int64)
	Trouble func(op string, err error)
}

// A Job is what is told of one.
type Job struct {
	Queue, Name, ID, Schedule string
	Attempt                   int
	Due, Started, Ended       time.Time
	Outcome                   string
	Err                       error
}

// A Place is an occurrence that was placed.
type Place struct {
	Schedule string
	Queue    string
	Planned  time.Time
	Owed     time.Duration
}

// Places tells of the occurrences that were placed.
func (o *Observer) Places(sent []protocol.Placement, answers []protocol.PlaceAnswer) {
	if o.Placed == nil {
		return
	}
	var places []Place
	for i, answer := range answers {
		for _, at := range sent[i].Instants[:min(answer.Placed, len(sent[i].Instants))] {
			places = append(places, Place{Schedule: sent[i].Name, Queue: sent[i].Partition.Queue, Planned: at, Owed: sent[i].Owed})
		}
	}
	if len(places) > 0 {
		o.Placed(places)
	}
}
