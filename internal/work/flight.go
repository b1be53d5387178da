package work

import (
	"cmp"
	"errors"
	"time"

	"github.com/chimejobs/chime/internal/observe"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/shape"
	"github.com/chimejobs/chime/internal/wire"
)

// A flight is a claim on its way through this worker, from the answer that brought it to the answer that settles it.
//
//		arrived ──► admitted ──► waiting ──► running ──► outcome kept ──► settled
//		               │            │           │              ▲
//		               └────────────┴───────────┴──────────────┘
//		                parked, dead or missed; given back; its time is up, or the drain is over
//
//	  - arrived: its answer was read and it is not admitted yet;
//	  - admitted: admission has decided; it leaves this state at once, to waiting or to outcome kept;
//	  - waiting: for a slot, behind others. If it was taken ahead, it has not begun as far as the store knows;
//	  - running: in a slot, its handler has not returned;
//	  - outcome kept: its settlement is in its lane's outbox or in the unanswered call;
//	  - settled: the call was answered.
//
// From every state but settled a flight is dropped if its session is lost: another worker has the job. A flight that is settled
// while it runs keeps its slot until the handler returns; what the handler returns is dropped.
type flight struct {
	claim
	*Attempt
	lane    *lane
	session *session

	queued   time.Time // waiting since
	began    time.Time
	started  time.Time // began, by the store's clock
	deadline time.Time // zero: none
	endedAt  time.Time
	slot     int // index among the busy slots, while it is in one

	// Used by the processor.
	settled bool // its outcome is kept or was dropped
	ended   bool // its handler has returned
	late    bool // its time is up, and it is counted as stuck
	listed  bool // in its lane's outbox, as a job that has begun

	// Written in the slot, read by the processor once it has collected the flight.
	cutOff     bool                 // handed back because of the drain
	failure    error                // what the handler returned
	settlement *protocol.Settlement // nil: the ordinary one of a job that is done, as of nearly every job
}

const maxSpareFlights = maxAhead

// A flightPool keeps the memory of flights for later ones. It belongs to the processor's goroutine.
type flightPool struct{ flights []*flight }

// get returns a flight.
func (p *flightPool) get() *flight {
	if n := len(p.flights); n > 0 {
		var f *flight
		f, p.flights = p.flights[n-1], p.flights[:n-1]
		return f
	}
	return new(flight)
}

// put takes back a flight that has ended and is settled or was dropped.
func (p *flightPool) put(f *flight) {
	if !f.listed && len(p.flights) < maxSpareFlights {
		*f = flight{}
		p.flights = append(p.flights, f)
	}
}

// start sets the flight's job, the session that has taken it, and the Attempt that its handler may keep.
func (f *flight) start(config *Config, a *arrival, taken *protocol.TakenJob, attempt *Attempt) {
	f.Attempt = attempt
	f.lane, f.session = a.lane, a.session
	c := &f.claim // field by field: an ordinary job leaves most of it zero
	c.config, c.queue, c.partition, c.clock = config, a.lane.partition().Queue, a.lane.partition().Index, a.clock
	c.id, c.fence, c.ahead = taken.ID, taken.Fence, !taken.Begun
	c.parked, c.new, c.suspect, c.crashes = taken.ParkedAt, taken.New, taken.Suspect(), taken.Crashes
}

// admit makes the flight ready for a slot.
func (f *flight) admit(base *handlerContext, r *reporter) {
	f.output = f.Attempt.begin(base)
	f.output.begin(r, f.session, f.id, f.fence)
	if f.session.isSilent() {
		f.Attempt.end(protocol.ErrSessionLost)
	}
}

// of reports whether the flight belongs to a session.
func (f *flight) of(s *session) bool { return f.session == s }

// claimed returns the job; holder returns the session that holds it.
func (f *flight) claimed() *claim  { return &f.claim }
func (f *flight) holder() *session { return f.session }

// describe sets what observers receive when the job begins or was taken. e is zero: for an ordinary job most fields remain zero.
func (f *flight) describe(e *observe.Job) {
	e.Queue, e.Name, e.ID, e.Attempt = f.queue, f.message.Name, f.id, f.message.Failures+1
	e.Due, e.Waited, e.First, e.Started = f.message.Due(), f.waitsSince(), f.first(), f.started
	if f.recorded() {
		e.Schedule, e.Origin = cmp.Or(f.schedule, f.message.Schedule), f.origin()
	}
}

// describeEnd sets what observers receive when the job ends.
func (f *flight) describeEnd(e *observe.Job, outcome string, s *protocol.Settlement, now time.Time) {
	f.describe(e)
	e.Ended, e.Outcome, e.Err = f.clock.at(now), outcome, f.reasonOf(s)
	e.TimedOut = !f.deadline.IsZero() && !now.Before(f.deadline)
}

// noteEnd notes in the lane what observers receive of a settlement that the lane has just kept.
func (f *flight) noteEnd(s *protocol.Settlement, now time.Time) {
	o := &f.config.Observe
	if o.Ended == nil && o.Returned == nil && o.Parked == nil {
		return
	}
	outcome := outcomeOf(s)
	switch {
	case s.Kind == protocol.SettleBack && o.Returned != nil:
		f.describe(f.lane.noteOutcome(toReturned))
	case s.Kind == protocol.SettlePark && o.Parked != nil:
		f.describe(f.lane.noteOutcome(toParked))
	case outcome != "" && o.Ended != nil:
		f.describeEnd(f.lane.noteOutcome(toEnded), outcome, s, now)
	default:
		f.lane.noteOutcome(toNobody)
	}
}

// reasonOf returns why an attempt ended, for observers. It reads the handler's error only after the handler has returned: a stuck one may return
// meanwhile.
func (f *flight) reasonOf(s *protocol.Settlement) error {
	switch {
	case f.ended:
		return f.failure
	case !s.Failed:
		return nil
	case !f.began.IsZero():
		return errStuck(f.timeout)
	}
	dead, _ := wire.DecodeEnvelope(s.Body) // it did not begin: the envelope contains why it is dead
	return errors.New(dead.LastError)
}

// measure adds to the lane's measures how long the attempt that a settlement ends has waited and run. If the attempt had not begun, it adds
// nothing.
func (f *flight) measure(s *protocol.Settlement, now time.Time) {
	if f.began.IsZero() || outcomeOf(s) == "" {
		return
	}
	run, wait := now.Sub(f.began), time.Duration(-1)
	if f.ended {
		run = f.duration()
	}
	if since := f.waitsSince(); !since.IsZero() {
		wait = max(f.started.Sub(since), 0)
	}
	f.lane.attempted(&ending{
		name: f.message.Name, wait: wait, run: run, late: f.new, done: s.Kind == protocol.SettleDone, failed: s.Failed, shaped: f.shapeOf(s, now),
	}, now)
}

// shapeOf returns what is counted of the error of an attempt; nothing if it has not failed.
func (f *flight) shapeOf(s *protocol.Settlement, now time.Time) shaped {
	if !s.Failed {
		return shaped{}
	}
	return shaped{at: f.clock.at(now), id: f.id, shape: shape.Of(wire.ErrorText(f.reasonOf(s))), worker: f.config.worker}
}

// stuck settles a flight whose handler has not returned long after its time was up, and logs that.
func (f *flight) stuck(now time.Time) protocol.Settlement {
	f.config.Log.Error("chime: a handler has not returned though its time is up; it keeps its slot until it does", "event", "handler.stuck",
		"job", f.message.Name, "id", f.id, "queue", f.queue, "attempt", f.message.Failures+1, "worker", f.config.worker, "after_ms", now.Sub(f.began).Milliseconds())
	if f.wasCancelled() {
		return f.cancel(f.began, now)
	}
	return f.settle(Outcome{Action: Retried, Err: errStuck(f.timeout)}, f.began, now)
}

// wasCancelled reports whether the ctx ended because the job was cancelled.
func (f *flight) wasCancelled() bool { return errors.Is(f.Attempt.reason(), ErrCancelled) }

// is reports whether the flight has this job with this fence.
func (f *flight) is(h protocol.HeldJob) bool { return f.fence == h.Fence && f.id == h.ID }

// back returns the job to the front of its queue. Nothing is counted.
func (f *flight) back() protocol.Settlement {
	s := protocol.Settlement{ID: f.id, Fence: f.fence, Kind: protocol.SettleBack, Unbegun: f.began.IsZero()}
	if !s.Unbegun && !f.message.Expires.IsZero() { // it has begun, so it does not expire any more
		message := f.message
		message.Expires = time.Time{}
		s.Body = message.Encode()
	}
	return s
}

// wasCutOff reports whether the job was handed back because the shutdown ended its handler's ctx.
func (f *flight) wasCutOff() bool { return f.cutOff }

// waitFrom notes when the flight began to wait; waitsUntil returns how long it may wait.
func (f *flight) waitFrom(now time.Time)  { f.queued = now }
func (f *flight) waitsUntil() time.Time   { return f.queued.Add(aheadWait) }
func (f *flight) inSlot() int             { return f.slot }
func (f *flight) moveTo(slot int)         { f.slot = slot }
func (f *flight) expires() time.Time      { return f.deadline }
func (f *flight) wasTakenAhead() bool     { return f.ahead }
func (f *flight) isSettled() bool         { return f.settled }
func (f *flight) isLate() bool            { return f.late }
func (f *flight) hasEnded() bool          { return f.ended }
func (f *flight) list(listed bool)        { f.listed = listed }
func (f *flight) duration() time.Duration { return f.endedAt.Sub(f.began) }
func (f *flight) finishedAt() time.Time   { return f.endedAt }
func (f *flight) endContext(cause error)  { f.Attempt.end(cause) }

// watchedUntil returns the instant until which the worker watches a suspect alone. The time is shorter if its handler has returned. ok is false if
// the flight was collected or is no suspect.
func (f *flight) watchedUntil(now time.Time) (until time.Time, ok bool) {
	switch {
	case !f.suspect || f.ended:
		return time.Time{}, false
	case f.began.IsZero():
		return now.Add(protocol.SuspectAlone), true
	case !f.endedAt.IsZero():
		return f.began.Add(suspectWatch), true
	}
	return f.began.Add(protocol.SuspectAlone), true
}

// outlastsWatch reports whether the flight is a suspect whose handler runs for longer than the worker watches it alone.
func (f *flight) outlastsWatch(now time.Time) bool {
	return f.suspect && f.endedAt.IsZero() && !f.began.IsZero() && !now.Before(f.began.Add(protocol.SuspectAlone))
}

// nowLate notes that the flight's time is up, and reports whether that is new.
func (f *flight) nowLate() (news bool) {
	news = !f.late
	f.late = true
	return news
}

// begunAt returns when the flight got its slot.
func (f *flight) begunAt() time.Time { return f.began }

// begin marks the flight as running in a slot.
func (f *flight) begin(slot int, now time.Time) {
	f.slot, f.began = slot, now
	if f.timeout > 0 {
		f.deadline = now.Add(f.timeout)
	}
	f.started = f.clock.at(now)
	f.Attempt.setDeadline(f.deadline)
}

// end marks the flight as having left its slot.
func (f *flight) end(now time.Time) { f.endedAt = now }

// run calls the handler, with job's memory, and computes the settlement. A panic and runtime.Goexit are failures.
func (f *flight) run(job *Job) {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil {
			v = errGoexit
		}
		where := stack()
		err := f.config.Panic(v, where)
		f.logPanic(err, where)
		f.finish(err)
	}()
	f.claim.fill(job)
	job.Started = f.started
	err := f.handler.Run(f.Attempt, job)
	returned = true
	f.finish(err)
}

// logPanic logs that a handler has panicked, and where.
func (f *flight) logPanic(err error, where []byte) {
	if f.config.HideErrors { // a stack contains the arguments of functions
		where = nil
	}
	f.config.Log.Error("chime: a handler panicked", "event", "handler.panic", "job", f.message.Name, "id", f.id, "queue", f.queue,
		"attempt", f.message.Failures+1, "error", f.config.logged(err), "stack", string(where))
}

// finish computes the settlement from the handler's error.
func (f *flight) finish(err error) {
	defer func() {
		if v := recover(); v != nil { // in the error's own methods
			f.conclude(Outcome{Action: Retried, Err: f.config.Panic(v, stack())})
		}
	}()
	if f.wasCancelled() {
		s := f.cancel(f.began, time.Now())
		f.settlement = &s
		return
	}
	if err == nil {
		if f.special() {
			f.conclude(Outcome{Action: Succeeded})
		}
		return
	}
	outcome := f.config.Outcome(err)
	if outcome.Action == Retried {
		// If the worker ended the ctx, the job has not failed: it is handed back and nothing is counted.
		if cause := f.Attempt.reason(); errors.Is(cause, ErrShutdown) || errors.Is(cause, protocol.ErrSessionLost) {
			f.cutOff = errors.Is(cause, ErrShutdown)
			back := f.back()
			f.settlement = &back
			return
		}
	}
	f.conclude(outcome)
}

func (f *flight) conclude(outcome Outcome) {
	f.failure = outcome.Err
	s := f.settle(outcome, f.began, time.Now())
	f.settlement = &s
}

// returned notes that the handler has returned, and keeps its outcome, unless the flight is settled already or its session is lost. kept reports
// whether the outcome was kept.
func (f *flight) returned() (s protocol.Settlement, kept bool) {
	f.ended = true
	f.Attempt.end(nil)
	if f.settled {
		return s, false
	}
	f.settled = true
	if f.session.isLost() {
		return s, false
	}
	if s = f.done(); f.settlement != nil {
		s = *f.settlement
	}
	f.lane.keep(s, f.endedAt)
	if f.suspect {
		f.lane.oweSuspect()
	}
	if f.follows() || f.suspect {
		f.lane.hurry(f.endedAt)
	}
	return s, true
}

// keep settles a flight that has not ended or has never begun.
func (f *flight) keep(s protocol.Settlement, now time.Time) (kept bool) {
	f.settled = true
	if f.session.isLost() {
		return false
	}
	f.lane.keep(s, now)
	return true
}

// announce notes in the lane's outbox that a flight that was taken ahead has begun.
func (f *flight) announce(now time.Time) {
	if !f.ended && !f.session.isLost() {
		f.lane.begin(f, now)
	}
}
