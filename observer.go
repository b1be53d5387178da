package chime

import (
	"time"

	"github.com/chimejobs/chime/internal/observe"
	"github.com/chimejobs/chime/internal/protocol"
)

// An Observer is told what a role does, as net/http/httptrace tells of a request: for metrics and traces. Each function may be nil. They hear
// of batches and not of single jobs, are called by the role's own goroutines, and hold them up: they have to be quick, safe for concurrent use, and may keep no
// slice. A role without observers pays nothing for them.
type Observer struct {
	Enqueued func([]JobEvent) // jobs that an Enqueuer has put on their queues; none that existed
	Taken    func([]JobEvent) // jobs that a Worker has taken
	Begun    func([]JobEvent) // jobs whose handlers have begun
	Ended    func([]JobEvent) // attempts that have ended, and jobs that were given up or passed over without one

	Placed  func([]PlaceEvent)             // occurrences that this process has placed
	Elected func(leading bool, term int64) // a Scheduler leads, or leads no longer
	// Trouble: an operation of the store fails; told when that begins, and once a minute while it lasts. With a nil error: it is over.
	Trouble func(op string, err error)
}

// A JobEvent is what an [Observer] hears of one job.
type JobEvent struct {
	Queue    string     `json:"queue"`              // of the job
	Name     string     `json:"name"`               // its name
	ID       string     `json:"id"`                 // its ID
	Schedule string     `json:"schedule,omitempty"` // that made it; empty: it was enqueued
	Attempt  int        `json:"attempt,omitempty"`  // 1, 2, …
	Due      time.Time  `json:"due,omitzero"`       // when it was to run first
	Started  time.Time  `json:"started,omitzero"`   // Begun and Ended: when the handler began, by the store's clock; zero: it did not
	Ended    time.Time  `json:"ended,omitzero"`     // Ended: when the attempt ended, by the store's clock
	Outcome  RunOutcome `json:"outcome,omitempty"`  // Ended: how
	Err      error      `json:"-"`                  // Ended: what the handler returned, or why the job was given up
}

// A PlaceEvent is what an [Observer] hears of one occurrence.
type PlaceEvent struct {
	Schedule string        `json:"schedule"` // its name
	Queue    string        `json:"queue"`    // on which it was placed
	Planned  time.Time     `json:"planned"`  // the occurrence's instant
	Owed     time.Duration `json:"-"`        // how long it was owed until it was placed
}

// observing joins observers into one for the engines; what none of them wants to hear is nil. A nil observer is an error.
func observing(field string, observers []*Observer) (observe.Observer, error) {
	var all observe.Observer
	for _, o := range observers {
		if o == nil {
			return observe.Observer{}, protocol.Because(protocol.Invalid(field, "", "observers"), "has a nil observer")
		}
		all.Enqueued, all.Taken = hearing(all.Enqueued, o.Enqueued), hearing(all.Taken, o.Taken)
		all.Begun, all.Ended = hearing(all.Begun, o.Begun), hearing(all.Ended, o.Ended)
		if told, placed := all.Placed, o.Placed; placed != nil {
			all.Placed = func(places []observe.Place) {
				if told != nil {
					told(places)
				}
				events := make([]PlaceEvent, len(places))
				for i, p := range places {
					events[i] = PlaceEvent(p)
				}
				placed(events)
			}
		}
		if told, elected := all.Elected, o.Elected; elected != nil {
			all.Elected = func(leading bool, term int64) {
				if told != nil {
					told(leading, term)
				}
				elected(leading, term)
			}
		}
		if told, trouble := all.Trouble, o.Trouble; trouble != nil {
			all.Trouble = func(op string, err error) {
				if told != nil {
					told(op, err)
				}
				trouble(op, err)
			}
		}
	}
	return all, nil
}

// hearing adds one who hears of jobs to those before.
func hearing(before func([]observe.Job), f func([]JobEvent)) func([]observe.Job) {
	if f == nil {
		return before
	}
	return func(jobs []observe.Job) {
		if before != nil {
			before(jobs)
		}
		events := make([]JobEvent, len(jobs))
		for i, j := range jobs {
			events[i] = JobEvent{
				Queue: j.Queue, Name: j.Name, ID: j.ID, Schedule: j.Schedule, Attempt: j.Attempt, Due: j.Due, Started: j.Started, Ended: j.Ended,
				Outcome: RunOutcome(j.Outcome), Err: j.Err,
			}
		}
		f(events)
	}
}
