package chime

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/chimejobs/chime/internal/observe"
	"github.com/chimejobs/chime/internal/protocol"
)

// An Observer receives what a role does, like net/http/httptrace for a request: for metrics and traces. Each function may be nil. The
// functions get batches instead of single jobs. The role's own goroutines call them and wait for them: they must be fast, safe for concurrent
// use, and must not keep a slice. A panic is recovered; the first one of each function is logged. They must not call runtime.Goexit, as t.FailNow
// does: that ends the role's goroutine. A role without observers has no cost for them.
type Observer struct {
	Enqueued func([]JobEvent) // jobs that an Enqueuer has put on their queues, without jobs that existed already
	Taken    func([]JobEvent) // jobs that a Worker has taken
	Begun    func([]JobEvent) // jobs whose handlers have begun
	// Ended receives attempts that ended, after the store has their outcome, and jobs that became dead or were passed over without an attempt. Name is
	// empty if the job was skipped or superseded.
	Ended    func([]JobEvent)
	Returned func([]JobEvent) // jobs that a Worker has returned without an outcome: not begun in time, or cut off at its end
	Parked   func([]JobEvent) // jobs that a Worker has set aside because it cannot run them

	// Refused: this many results came too late, because the Worker no longer held the jobs. Ended was called for them before.
	Refused func(queue string, results int)
	// SessionLost: a Worker has lost a session, and this many jobs with it.
	SessionLost func(queue string, jobs int)
	// Slots receives three changes: of the number of handlers that may run in a Worker (size), of those that run (busy), and of those that have
	// exceeded their timeout (stuck). When a Worker ends, Slots gets the negative sum of its changes, so that the totals no longer contain that
	// Worker.
	Slots func(size, busy, stuck int)

	Placed  func([]PlaceEvent)             // occurrences that this process has placed
	Elected func(leading bool, term int64) // a Scheduler begins or ceases to lead
	// Trouble: an operation of the store fails. Trouble is called when the failures begin, and once a minute while they last. When they are over,
	// Trouble is called with a nil error.
	Trouble func(op string, err error)
	// Called: a role has called the store; err is the reason why the call, or a part of it, failed.
	Called func(op string, took time.Duration, err error)
}

// A JobEvent describes one job to an [Observer].
type JobEvent struct {
	Queue    string     `json:"queue"`              // the queue of the job
	Name     string     `json:"name"`               // the name of the job
	ID       string     `json:"id"`                 // the ID of the job
	Schedule string     `json:"schedule,omitempty"` // the schedule that created it; empty: it was enqueued
	Attempt  int        `json:"attempt,omitempty"`  // 1, 2, …
	Due      time.Time  `json:"due,omitzero"`       // when it was planned to run first
	Started  time.Time  `json:"started,omitzero"`   // Begun and Ended: when the handler began, by the store's clock; zero: it did not begin
	Ended    time.Time  `json:"ended,omitzero"`     // Ended: when the attempt ended, by the store's clock
	Outcome  RunOutcome `json:"outcome,omitempty"`  // Ended: how it ended
	Err      error      `json:"-"`                  // Ended: the handler's error, or the reason why the job is dead

	Origin   string    `json:"origin,omitempty"`    // how a schedule created it: occurrence, manual (Trigger), backfill, done (OnDone) or death (OnDeath); empty: enqueued or unknown
	First    bool      `json:"first,omitempty"`     // no attempt has begun before, as far as the job shows
	Waited   time.Time `json:"waited,omitzero"`     // when the job began to wait for this attempt: when it was due, or enqueued; zero: unknown, as after a crash
	TimedOut bool      `json:"timed_out,omitempty"` // Ended: the handler ran past its timeout
	Together int       `json:"together,omitempty"`  // Begun and Ended: how many jobs its handler got in the call; zero: a plain Handler, or it did not begin
}

// A PlaceEvent describes one occurrence to an [Observer].
type PlaceEvent struct {
	Schedule string        `json:"schedule"` // the name of the schedule
	Queue    string        `json:"queue"`    // the queue on which it was placed
	Planned  time.Time     `json:"planned"`  // the occurrence's instant
	Owed     time.Duration `json:"-"`        // the time from when it was owed until it was placed

	Missed   int  `json:"missed,omitempty"`    // instants before Planned that were passed over, by the misfire policy
	CaughtUp bool `json:"caught_up,omitempty"` // the occurrence runs late, by MisfireCatchUp
}

// observing joins observers into one for the engines; functions that no observer has are nil. A nil observer is an error. log receives their panics.
func observing(field string, observers []*Observer, log *slog.Logger) (observe.Observer, error) {
	var all observe.Observer
	for _, o := range observers {
		if o == nil {
			return observe.Observer{}, protocol.Because(protocol.Invalid(field, "", "observers"), "has a nil observer")
		}
		o := o.guarded(log)
		all.Enqueued, all.Taken = addJobs(all.Enqueued, o.Enqueued), addJobs(all.Taken, o.Taken)
		all.Begun, all.Ended = addJobs(all.Begun, o.Begun), addJobs(all.Ended, o.Ended)
		all.Returned, all.Parked = addJobs(all.Returned, o.Returned), addJobs(all.Parked, o.Parked)
		all.Refused, all.SessionLost = both(all.Refused, o.Refused), both(all.SessionLost, o.SessionLost)
		all.Elected, all.Trouble = both(all.Elected, o.Elected), both(all.Trouble, o.Trouble)
		all.Slots, all.Called = both3(all.Slots, o.Slots), both3(all.Called, o.Called)
		if before, placed := all.Placed, o.Placed; placed != nil {
			all.Placed = func(places []observe.Place) {
				if before != nil {
					before(places)
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

// guarded returns the observer with functions that recover their panics.
func (o *Observer) guarded(log *slog.Logger) *Observer {
	return &Observer{
		Enqueued: guard(log, "Enqueued", o.Enqueued), Taken: guard(log, "Taken", o.Taken), Begun: guard(log, "Begun", o.Begun),
		Ended: guard(log, "Ended", o.Ended), Returned: guard(log, "Returned", o.Returned), Parked: guard(log, "Parked", o.Parked),
		Refused: guard2(log, "Refused", o.Refused), SessionLost: guard2(log, "SessionLost", o.SessionLost), Slots: guard3(log, "Slots", o.Slots),
		Placed: guard(log, "Placed", o.Placed), Elected: guard2(log, "Elected", o.Elected), Trouble: guard2(log, "Trouble", o.Trouble),
		Called: guard3(log, "Called", o.Called),
	}
}

// A panicLog logs the first panic of one function of an observer. The function runs in a goroutine that holds jobs: if a panic ended the process,
// jobs that were done would run again, and after a few such ends they would be dead.
type panicLog struct {
	log      *slog.Logger
	function string
	logged   atomic.Bool
}

// recovered is called by defer.
func (p *panicLog) recovered() {
	if v := recover(); v != nil && p.logged.CompareAndSwap(false, true) {
		p.log.Error("chime: a function of an observer panicked; it is called again, and its later panics are not logged", "event", "observer.panic",
			"action", p.function, "error", fmt.Sprint(v), "stack", string(debug.Stack()))
	}
}

// guard returns f with its panics recovered; nil for nil.
func guard[A any](log *slog.Logger, function string, f func(A)) func(A) {
	if f == nil {
		return nil
	}
	p := &panicLog{log: log, function: function}
	return func(a A) {
		defer p.recovered()
		f(a)
	}
}

// guard2 and guard3 are guard for two and three arguments.
func guard2[A, B any](log *slog.Logger, function string, f func(A, B)) func(A, B) {
	if f == nil {
		return nil
	}
	p := &panicLog{log: log, function: function}
	return func(a A, b B) {
		defer p.recovered()
		f(a, b)
	}
}

func guard3[A, B, C any](log *slog.Logger, function string, f func(A, B, C)) func(A, B, C) {
	if f == nil {
		return nil
	}
	p := &panicLog{log: log, function: function}
	return func(a A, b B, c C) {
		defer p.recovered()
		f(a, b, c)
	}
}

// both returns a function that calls two functions; one or both may be nil.
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

// both3 is both for three arguments.
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

// addJobs adds a function for job events to those before. If there are several, each gets its own events; their memory is reused.
func addJobs(before func([]observe.Job), f func([]JobEvent)) func([]observe.Job) {
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

// eventsOf returns the engines' events as the application's type. A job event has the same fields in the same order, which a test checks;
// copying them would cost more for each job than filling them in.
func eventsOf(jobs []observe.Job) []JobEvent {
	return unsafe.Slice((*JobEvent)(unsafe.Pointer(unsafe.SliceData(jobs))), len(jobs))
}
