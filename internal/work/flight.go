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
	call    *call // the call of a ManyHandler to which it belongs; nil: it has a handler of its own
	settled bool  // its outcome is kept or was dropped
	ended   bool  // its handler has returned
	late    bool  // its time is up, and it is counted as stuck
	listed  bool  // in its lane's outbox, as a job that has begun

	// Written in the slot, read by the processor once it has collected the flight.
	cutOff     bool                 // handed back because of the drain
	failure    error                // what the handler returned
	settlement *protocol.Settlement // nil: the ordinary one of a job that is done, as of nearly every job
}

// start sets the flight's job, the session that has taken it, and the Attempt that its handler may keep.
func (f *flight) start(config *Config, a *arrival, taken *protocol.TakenJob, attempt *Attempt) {
	f.Attempt = attempt
	f.lane, f.session = a.lane, a.session
	c := &f.claim // field by field: an ordinary job leaves most of it zero
	c.config, c.queue, c.partition, c.clock = config, a.lane.partition().Queue, a.lane.partition().Index, a.clock
	c.id, c.fence, c.ahead = taken.ID, taken.Fence, !taken.Begun
	c.parked, c.new, c.suspect, c.crashes = taken.ParkedAt, taken.New, taken.Suspect(), taken.Crashes
	c.vanished, c.ordered, c.last = taken.Vanished, taken.Ordered, taken.Full
}

// admit makes the flight ready for a slot.
func (f *flight) admit(base *handlerContext, r *reporter) {
	f.output = f.Attempt.begin(base)
	f.output.begin(r, f.session, f.id, f.fence)
	if f.session.isSilent() && f.handler.Many == nil { // else see newCall
		f.Attempt.end(protocol.ErrSessionLost)
	}
}

// aloneInCall returns the flight as the only one of a call, if its handler gets several jobs.
func (f *flight) aloneInCall(base *handlerContext) *flight {
	if f.handler.Many != nil {
		newCall([]*flight{f}, base)
	}
	return f
}

// isOver reports whether the job's time is over. f has not begun.
func (f *flight) isOver(now time.Time) bool { return f.expired(f.clock.at(now)) }

// join makes the flight a part of a call. shared returns the call, or nil; jobs returns how many jobs share the flight's handler.
func (f *flight) join(c *call)  { f.call = c }
func (f *flight) shared() *call { return f.call }
func (f *flight) jobs() int {
	if f.call == nil {
		return 1
	}
	return f.call.len()
}

// of reports whether the flight belongs to a session.
func (f *flight) of(s *session) bool { return f.session == s }

// claimed returns the job; holder returns the session that holds it.
func (f *flight) claimed() *claim  { return &f.claim }
func (f *flight) holder() *session { return f.session }

// inLane returns the lane of the flight's partition.
func (f *flight) inLane() *lane { return f.lane }

// describe sets what observers receive when the job begins or was taken. e is zero: for an ordinary job most fields remain zero.
func (f *flight) describe(e *observe.Job) {
	e.Queue, e.Name, e.ID, e.Attempt = f.queue, f.message.Name, f.id, f.message.Failures+1
	e.Due, e.Waited, e.First, e.Started = f.message.Due(), f.waitsSince(), f.first(), f.started
	if f.call != nil && !f.began.IsZero() {
		e.Together = f.call.len()
	}
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

// stuck settles a flight whose handler has not returned long after its time was up, and logs that, once for all jobs of a call.
func (f *flight) stuck(now time.Time) protocol.Settlement {
	if f.call == nil || f.call.lead() == f {
		f.config.logFor(f.jobs()).Error("chime: a handler has not returned though its time is up; it keeps its slot until it does", "event", "handler.stuck",
			"job", f.message.Name, "id", f.id, "queue", f.queue, "attempt", f.message.Failures+1, "worker", f.config.worker, "after_ms", now.Sub(f.began).Milliseconds())
	}
	if f.wasCancelled() {
		return f.cancel(f.began, now)
	}
	return f.settle(Outcome{Action: Retried, Err: errStuck(f.timeout), Alone: f.splits()}, f.began, now)
}

// wasCancelled reports whether the job was cancelled. left reports whether it was cancelled or replaced: its call does not run for it any more.
func (f *flight) wasCancelled() bool { return errors.Is(f.Attempt.reason(), ErrCancelled) }
func (f *flight) left() bool         { return f.wasCancelled() || errors.Is(f.Attempt.reason(), ErrReplaced) }

// is reports whether the flight has this job with this fence.
func (f *flight) is(h protocol.HeldJob) bool { return f.fence == h.Fence && f.id == h.ID }

// back returns the job to the front of its queue. Nothing is counted.
func (f *flight) back() protocol.Settlement {
	s := protocol.Settlement{ID: f.id, Fence: f.fence, Kind: protocol.SettleBack, Unbegun: f.began.IsZero(), Batch: f.message.Details.MemberOf()}
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
func (f *flight) isListed() bool          { return f.listed }
func (f *flight) duration() time.Duration { return f.endedAt.Sub(f.began) }
func (f *flight) finishedAt() time.Time   { return f.endedAt }

// endContext ends the ctx of the flight's handler. In a call, a cause that concerns this job alone ends the ctx only if no other job is left.
func (f *flight) endContext(cause error) {
	switch {
	case f.call == nil:
		f.Attempt.end(cause)
	case errors.Is(cause, ErrCancelled), errors.Is(cause, ErrReplaced):
		if f.Attempt.end(cause) {
			f.call.leave(cause)
		}
	default:
		f.call.endContext(cause)
	}
}

// endsOf returns the cause with which the ctx of the flight's handler has ended; nil: it has not.
func (f *flight) endsOf() error {
	if f.call == nil {
		return f.Attempt.reason()
	}
	return f.call.reason()
}

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
	if f.call != nil {
		f.call.run()
		return
	}
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
		f.finish(err, ofAll)
	}()
	f.prepare(job)
	err := f.handler.Run(f.Attempt, job)
	returned = true
	f.finish(err, ofAll)
}

// prepare sets the job as the handler receives it.
func (f *flight) prepare(job *Job) {
	f.claim.fill(job)
	job.Started = f.started
}

// logPanic logs that the handler has panicked, and where.
func (f *flight) logPanic(err error, where []byte) {
	if f.config.HideErrors { // a stack contains the arguments of functions
		where = nil
	}
	f.config.logFor(f.jobs()).Error("chime: a handler panicked", "event", "handler.panic", "job", f.message.Name, "id", f.id, "queue", f.queue,
		"attempt", f.message.Failures+1, "error", f.config.logged(err), "stack", string(where))
}

// A concern is which jobs of its call an error of a handler concerns.
type concern byte

const (
	ofAll    concern = iota // all: also of a handler that gets one job
	ofOne                   // this one: the error names it
	ofOthers                // others: the error names only these
)

// finish computes the settlement from the handler's error. If it names other jobs of the call only, err is nil.
func (f *flight) finish(err error, of concern) {
	defer func() {
		if v := recover(); v != nil { // in the error's own methods
			f.conclude(Outcome{Action: Retried, Err: f.config.Panic(v, stack()), Alone: of == ofAll && f.splits()})
		}
	}()
	if f.wasCancelled() {
		s := f.cancel(f.began, time.Now())
		f.settlement = &s
		return
	}
	if err == nil {
		switch {
		case of == ofOthers && f.handBack(): // the handler may not have come to this job
		case of == ofOthers && errors.Is(f.endsOf(), ErrTimeout):
			f.conclude(Outcome{Action: Retried, Err: errUnnamed(f.timeout)})
		case f.special():
			f.conclude(Outcome{Action: Succeeded})
		}
		return
	}
	outcome := f.config.Outcome(err)
	if outcome.Action == Retried {
		if of == ofAll && f.handBack() {
			return
		}
		outcome.Alone = of == ofAll && f.splits()
	}
	f.conclude(outcome)
}

// handBack hands the job back, and reports that, if the worker has ended the handler's ctx: then the job has not failed, and nothing is counted.
func (f *flight) handBack() bool {
	cause := f.endsOf()
	if !errors.Is(cause, ErrShutdown) && !errors.Is(cause, protocol.ErrSessionLost) {
		return false
	}
	f.cutOff = errors.Is(cause, ErrShutdown)
	back := f.back()
	f.settlement = &back
	return true
}

// splits reports whether the job is handled alone after a failure of its call as a whole.
func (f *flight) splits() bool { return f.call != nil && f.call.splits() }

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
	if f.call != nil {
		f.call.endContext(nil)
	}
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
