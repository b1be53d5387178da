package work

import (
	"context"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/observe"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
)

const admitTogether = 64 // flights are handed to the slots in groups of this size, so that the first ones do not wait for the whole answer

// flights are all jobs that this worker holds, from the answer that brought them to the outcome in an outbox. They belong to the processor's
// goroutine.
//
// The jobs of an answer arrive in two steps. arrive counts them; admit decides about them and hands them to the slots. The processor may send its
// next call between the two, so the store and the handlers work at the same time. In between, these jobs count where room is computed, and the
// processor admits them or gives them back before it waits for anything. If their session is lost meanwhile, they are dropped.
type flights struct {
	config    *Config
	base      *handlerContext
	reporter  *reporter
	slots     *slots
	gatherer  *gatherer
	heartbeat *heartbeat
	admission *admission
	pool      flightPool

	arrivals []arrival
	arriving int       // jobs in arrivals
	admitted []*flight // memory that is reused
	seen     collected // memory that is reused

	suspected  bool      // a suspect has arrived, and may still be in this worker
	aloneUntil time.Time // no other job is taken before this instant, because of suspects that have ended
	beside     bool      // other jobs run beside a suspect, as a lane has noted

	cancelled cancellations

	cut   []string // IDs of jobs whose handlers were cut off
	ended tally
	known load // the load that observers know

	taken, begun, passed observe.Batch // collected for observers
}

// An arrival is the jobs of one answer.
type arrival struct {
	lane    *lane
	session *session
	clock   *storeClock
	jobs    []protocol.TakenJob
}

func newFlights(config *Config, base context.Context, r *reporter, slots *slots, heartbeat *heartbeat, admission *admission) *flights {
	return &flights{config: config, base: newHandlerContext(base), reporter: r, slots: slots, gatherer: newGatherer(), heartbeat: heartbeat, admission: admission}
}

// arrive notes the jobs of an answer.
func (h *flights) arrive(l *lane, s *session, jobs []protocol.TakenJob) {
	if len(jobs) == 0 {
		return
	}
	h.arrivals = append(h.arrivals, arrival{l, s, l.clockNow(), jobs})
	h.arriving += len(jobs)
	for i := range jobs {
		h.suspected = h.suspected || jobs[i].Suspect()
	}
}

// suspectWatch is how long a worker takes no other job after a suspect has begun, even if its handler has returned: it may have started what makes
// the worker vanish.
const suspectWatch = 30 * time.Millisecond

// suspect reports whether the worker has a suspect, and until when the worker takes no other job because of it.
func (h *flights) suspect(now time.Time) (held bool, alone time.Time) {
	if !h.suspected {
		return false, h.aloneUntil
	}
	for i := range h.arrivals {
		for j := range h.arrivals[i].jobs {
			if h.arrivals[i].jobs[j].Suspect() {
				held, alone = true, now.Add(protocol.SuspectAlone)
			}
		}
	}
	h.slots.eachUncollected(func(f *flight) {
		if until, ok := f.watchedUntil(now); ok {
			held, alone = true, later(alone, until)
		}
	})
	h.suspected = held
	return held, later(alone, h.aloneUntil)
}

// noteBeside notes in the lanes of suspects whether jobs of other lanes run beside them, or have arrived. It returns until when the jobs that have
// arrived do not begin at the latest; zero: they may begin.
func (h *flights) noteBeside(lanes []*lane, now time.Time) (hold time.Time) {
	if !h.suspected && !h.beside {
		return time.Time{}
	}
	var suspects, others []*session
	h.slots.each(func(f *flight) {
		if f.outlastsWatch(now) {
			suspects = append(suspects, f.holder())
		}
		others = append(others, f.holder())
	})
	for i := range h.arrivals {
		others = append(others, h.arrivals[i].session)
	}
	h.gatherer.each(func(f *flight) { others = append(others, f.holder()) })
	h.beside = false
	for _, l := range lanes {
		s := l.holder()
		switch {
		case s == nil || !slices.Contains(suspects, s):
			l.uncrowd()
		case slices.ContainsFunc(others, func(other *session) bool { return other != s }):
			l.crowd(now)
		}
		h.beside = h.beside || l.isCrowded()
		hold = later(hold, l.holdsBack())
	}
	if !hold.After(now) {
		return time.Time{} // else the loop would turn at once, again and again, until the store has answered
	}
	return hold
}

// coming returns how many jobs have arrived and are not admitted yet; gathering returns how many of the admitted ones gather.
func (h *flights) coming() int    { return h.arriving }
func (h *flights) gathering() int { return h.gatherer.len() }

// admit admits the jobs that have arrived, except those of a session that was lost since: another worker has them. While the worker drains, admit
// gives jobs back instead.
func (h *flights) admit(draining bool, now time.Time) {
	for i := range h.arrivals {
		a := &h.arrivals[i]
		if !a.session.isLost() {
			h.admitJobs(a, draining, now)
			h.taken.Report(h.config.Observe.Taken)
		}
		*a = arrival{}
	}
	h.arrivals, h.arriving = h.arrivals[:0], 0
}

func (h *flights) admitJobs(a *arrival, draining bool, now time.Time) {
	h.admitted = h.admitted[:0]
	for i := range a.jobs {
		f := h.admitJob(a, &a.jobs[i], len(a.jobs)-i-1, draining, now)
		switch {
		case f == nil:
		case f.gathers():
			h.gatherer.add(f, now)
		default:
			h.admitted = append(h.admitted, f.aloneInCall(h.base))
		}
		if len(h.admitted) == admitTogether || i == len(a.jobs)-1 && len(h.admitted) > 0 {
			if h.gatherer.len() > 0 && h.slots.fills(len(h.admitted)) {
				h.callAll(a.clock, now) // only a free slot brings more
			}
			h.slots.run(h.admitted, now)
			clear(h.admitted)
			h.admitted = h.admitted[:0]
		}
	}
	h.callReady(now)
}

// callReady hands over to the slots what has gathered and need not wait for more. It returns when to call it again.
func (h *flights) callReady(now time.Time) time.Time {
	if h.gatherer.len() == 0 {
		return time.Time{}
	}
	h.handOver(h.gatherer.ready(now, h.slots.free()), now)
	return h.gatherer.until()
}

// callAll hands over everything that has gathered, except the jobs of an answer.
func (h *flights) callAll(but *storeClock, now time.Time) { h.handOver(h.gatherer.all(but), now) }

// handOver hands flights that have gathered over to the slots, as calls. Those whose time is over meanwhile expire.
func (h *flights) handOver(gathered [][]*flight, now time.Time) {
	for _, those := range gathered {
		call := those[:0]
		for _, f := range those {
			if f.isOver(now) {
				h.keep(f, f.expire(now), now)
			} else {
				call = append(call, f)
			}
		}
		if len(call) > 0 {
			h.slots.run([]*flight{newCall(call, h.base).lead()}, now)
		}
	}
}

// admitJob returns the flight of a job that runs here. Nil: the job does not run here, and its settlement is kept. others is how many jobs follow
// in the answer.
func (h *flights) admitJob(a *arrival, taken *protocol.TakenJob, others int, draining bool, now time.Time) *flight {
	f := h.pool.get()
	f.start(h.config, a, taken, h.config.Attempt(neighbours(len(taken.Body), others)))
	if draining {
		h.keep(f, f.back(), now)
		return nil
	}
	refusal, refused := h.admission.admit(f.claimed(), taken, now)
	if report := h.config.Observe.Taken; report != nil {
		if f.describe(h.taken.Add()); h.taken.Full() {
			h.taken.Report(report)
		}
	}
	if refused {
		h.keep(f, refusal, now)
		return nil
	}
	if h.cancelled.take(protocol.HeldJob{ID: taken.ID, Fence: taken.Fence}) {
		h.keep(f, f.cancel(time.Time{}, now), now)
		return nil
	}
	f.admit(h.base, h.reporter)
	if f.cancels {
		h.heartbeat.watch(a.session, f.schedule, 1)
	}
	return f
}

// collect handles what has happened in the slots. It returns when to call it again at the latest; zero: only after a notification.
func (h *flights) collect(now time.Time) time.Time {
	again := h.slots.collect(&h.seen, now)
	h.reportBegun()
	for _, f := range h.seen.ended {
		if f.cancels {
			h.heartbeat.watch(f.holder(), f.schedule, -1)
		}
		if f.suspect {
			h.aloneUntil = later(h.aloneUntil, f.begunAt().Add(suspectWatch))
		}
		if s, kept := f.returned(); kept {
			h.ended.count(&s)
			f.noteEnd(&s, f.finishedAt())
			f.measure(&s, now)
			if f.wasCutOff() {
				h.cut = append(h.cut, f.id)
			}
		}
	}
	h.reportSlots(h.slots.load())
	for i, f := range h.seen.began {
		h.seen.began[i] = nil
		f.announce(now)
	}
	for i, f := range h.seen.ended {
		h.seen.ended[i] = nil
		h.pool.put(f)
	}
	return again
}

// reportBegun reports to observers the flights that have begun. Flights that have ended since are reported after it.
func (h *flights) reportBegun() {
	if report := h.config.Observe.Begun; report != nil {
		for _, f := range h.seen.started {
			if f.describe(h.begun.Add()); h.begun.Full() {
				h.begun.Report(report)
			}
		}
		h.begun.Report(report)
	}
	clear(h.seen.started)
}

// settled reports the first n unreported outcomes of a lane to observers: the store has them, or will never have them.
func (h *flights) settled(l *lane, n int) { l.report(n, &h.config.Observe) }

// reportSlots reports to observers how the load of the slots has changed.
func (h *flights) reportSlots(now load) {
	if report := h.config.Observe.Slots; report != nil && now != h.known {
		now.since(h.known).report(report)
		h.known = now
	}
}

// passedOver reports to observers the occurrences that a call has ended or dropped without an attempt. The names of their jobs are not known.
func (h *flights) passedOver(queue string, ids []string, outcome string) {
	if h.config.Observe.Ended == nil {
		return
	}
	for _, id := range ids {
		name, planned, _ := schedule.SplitOccurrence(id)
		*h.passed.Add() = observe.Job{Queue: queue, ID: id, Schedule: name, Due: planned, Outcome: outcome, Origin: observe.Occurrence}
	}
	h.passed.Report(h.config.Observe.Ended)
}

// keep settles a flight that has not ended or has never begun.
func (h *flights) keep(f *flight, s protocol.Settlement, now time.Time) {
	if f.keep(s, now) {
		h.ended.count(&s)
		f.noteEnd(&s, now)
		f.measure(&s, now)
	}
}

// leave settles a flight that was admitted and will not begin.
func (h *flights) leave(f *flight, s protocol.Settlement, now time.Time) {
	if f.cancels {
		h.heartbeat.watch(f.holder(), f.schedule, -1)
	}
	h.keep(f, s, now)
}

// due gives back the flights that were taken ahead and have waited too long. It ends the ctx of handlers whose time is up, and settles those that
// have not returned long after that. It returns when to call it again.
func (h *flights) due(now time.Time) time.Time {
	stale, until := h.slots.stale(now)
	for _, f := range stale {
		h.leave(f, f.back(), now)
	}
	var overdue []*flight
	expiry := h.slots.expire(now, &overdue)
	for _, f := range overdue {
		if f.isSettled() {
			continue
		}
		h.keep(f, f.stuck(now), now)
	}
	return earlier(until, expiry)
}

// endSession ends the ctx of a session's handlers. If the session is lost, it drops the flights that wait for a slot.
func (h *flights) endSession(s *session, lost bool) {
	if lost {
		h.drop(func(f *flight) bool { return !f.of(s) })
	}
	h.slots.each(func(f *flight) {
		if f.of(s) {
			f.endContext(protocol.ErrSessionLost)
		}
	})
}

// replace ends the ctx of an occurrence that the next one replaces.
func (h *flights) replace(id string) {
	end := func(f *flight) {
		if f.id == id {
			f.endContext(ErrReplaced)
		}
	}
	h.slots.each(end)
	h.gatherer.each(end)
}

// cancel ends the ctx of a job that was cancelled. A job that waits for a slot or has not arrived yet will not begin.
func (h *flights) cancel(job protocol.HeldJob, now time.Time) {
	found := false
	end := func(f *flight) {
		if f.is(job) {
			found = true
			f.endContext(ErrCancelled)
		}
	}
	h.slots.each(end)
	h.gatherer.each(end)
	if !found {
		h.cancelled.add(job)
		return
	}
	for _, f := range h.drop(func(f *flight) bool { return !f.is(job) }) {
		h.leave(f, f.cancel(time.Time{}, now), now)
	}
}

// drop removes the flights that have not begun and for which keep returns false, and returns them.
func (h *flights) drop(keep func(*flight) bool) []*flight {
	return append(h.slots.drop(keep), h.gatherer.drop(keep)...)
}

// giveBackWaiting gives back the flights that gather or wait for a slot.
func (h *flights) giveBackWaiting(now time.Time) {
	for _, f := range h.drop(func(*flight) bool { return false }) {
		h.leave(f, f.back(), now)
	}
}

// shutDown ends the ctx of all handlers.
func (h *flights) shutDown() {
	h.slots.each(func(f *flight) { f.endContext(ErrShutdown) })
}

// end sends the last reports to observers: the outcomes that the store has not confirmed, and that the worker has no slots any more.
func (h *flights) end(lanes []*lane) {
	for _, l := range lanes {
		l.reportAll(&h.config.Observe)
	}
	h.reportSlots(load{})
}

// abandon hands back the jobs whose handlers have not returned.
func (h *flights) abandon(now time.Time) {
	var left []*flight
	h.slots.each(func(f *flight) { left = append(left, f) })
	for _, f := range left {
		if !f.isSettled() {
			h.cut = append(h.cut, f.id)
			h.keep(f, f.back(), now)
		}
	}
}

// running returns how many flights are not settled.
func (h *flights) running() (n int) {
	h.slots.each(func(f *flight) {
		if !f.isSettled() {
			n++
		}
	})
	return n
}

// open reports whether an outcome is still expected.
func (h *flights) open() bool { return h.running() > 0 || h.slots.unread() }

// cutOff returns the IDs of jobs whose handlers were cut off.
func (h *flights) cutOff() []string { return h.cut }

// result returns how the jobs of this worker have ended.
func (h *flights) result() tally { return h.ended }
