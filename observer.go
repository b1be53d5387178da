package chime

import (
	"sync"
	"time"
	"unsafe"

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
	Ended    func([]JobEvent) // attempts that have ended, and jobs that were given up or passed over without one; of what was skipped or superseded the Name is not known
	Returned func([]JobEvent) // jobs that a Worker has given back without an outcome: not begun in time, or cut off at its end
	Parked   func([]JobEvent) // jobs that a Worker has set aside, for it cannot run them

	// Refused: so many results came too late, for the Worker did not hold the jobs any more. Their ends were told before.
	Refused func(queue string, results int)
	// SessionLost: a Worker has lost a session, and with it so many jobs.
	SessionLost func(queue string, jobs int)
	// Slots: by how much has changed how many handlers may run in a Worker, how many run, and how many of these are past their timeout. All that
	// was told of a Worker is taken back at its end.
	Slots func(size, busy, stuck int)

	Placed  func([]PlaceEvent)             // occurrences that this process has placed
	Elected func(leading bool, term int64) // a Scheduler leads, or leads no longer
	// Trouble: an operation of the store fails; told when that begins, and once a minute while it lasts. With a nil error: it is over.
	Trouble func(op string, err error)
	// Called: a role has called the store; err: why the call failed, or a part of it.
	Called func(op string, took time.Duration, err error)
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

	Origin   string    `json:"origin,omitempty"`    // what made a schedule's job: occurrence, manual (Trigger), backfill or death (OnDeath); empty: it was enqueued, or that is not known
	First    bool      `json:"first,omitempty"`     // no attempt has begun before, as far as the job tells
	Waited   time.Time `json:"waited,omitzero"`     // since when it has waited for this attempt: when it was due, or enqueued; zero: unknown, as after a crash
	TimedOut bool      `json:"timed_out,omitempty"` // Ended: the handler ran past its timeout
}

// A PlaceEvent is what an [Observer] hears of one occurrence.
type PlaceEvent struct {
	Schedule string        `json:"schedule"` // its name
	Queue    string        `json:"queue"`    // on which it was placed
	Planned  time.Time     `json:"planned"`  // the occurrence's instant
	Owed     time.Duration `json:"-"`        // how long it was owed until it was placed

	Missed   int  `json:"missed,omitempty"`    // instants before it that were passed over, by the misfire policy
	CaughtUp bool `json:"caught_up,omitempty"` // it is run late by MisfireCatchUp
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
		all.Returned, all.Parked = hearing(all.Returned, o.Returned), hearing(all.Parked, o.Parked)
		all.Refused, all.SessionLost = both(all.Refused, o.Refused), both(all.SessionLost, o.SessionLost)
		all.Elected, all.Trouble = both(all.Elected, o.Elected), both(all.Trouble, o.Trouble)
		all.Slots, all.Called = both3(all.Slots, o.Slots), both3(all.Called, o.Called)
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
	}
	return all, nil
}

// both returns a function that calls two; one of them, or both, may be nil.
func both[A, B any](first, second func(A, B)) func(A, B) {
	if first == nil || second == nil {
		if first == nil {
			return second
		}
		return first
	}
	return func(a A, b B) {
		first(a, b)
		second(a, b)
	}
}

// both3 is both, of three arguments.
func both3[A, B, C any](first, second func(A, B, C)) func(A, B, C) {
	if first == nil || second == nil {
		if first == nil {
			return second
		}
		return first
	}
	return func(a A, b B, c C) {
		first(a, b, c)
		second(a, b, c)
	}
}

// hearing adds one who hears of jobs to those before. Where several hear, each has events of its own; their memory is used again.
func hearing(before func([]observe.Job), f func([]JobEvent)) func([]observe.Job) {
	if f == nil {
		return before
	}
	if before == nil {
		return func(jobs []observe.Job) { f(eventsOf(jobs)) }
	}
	var spare sync.Pool // of *[]JobEvent
	return func(jobs []observe.Job) {
		own, _ := spare.Get().(*[]JobEvent)
		if own == nil {
			own = new([]JobEvent)
		}
		*own = append((*own)[:0], eventsOf(jobs)...)
		before(jobs)
		f(*own)
		clear(*own)
		spare.Put(own)
	}
}

// eventsOf is what the engines tell, as an application hears it. A job event has the fields of what they tell, in the same order, which a test
// holds; to copy three of them costs a job more than to fill them in.
func eventsOf(jobs []observe.Job) []JobEvent {
	return unsafe.Slice((*JobEvent)(unsafe.Pointer(unsafe.SliceData(jobs))), len(jobs))
}
