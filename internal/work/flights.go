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

// A tally counts how attempts have ended in this worker, and jobs that were not run.
type tally struct{ done, failed, dead, snoozed, parked, missed, expired, cancelled, back int }

// count counts a settlement.
func (t *tally) count(s *protocol.Settlement) {
	switch s.Kind {
	case protocol.SettleDone:
		t.done++
	case protocol.SettleDead:
		t.dead++
	case protocol.SettlePark:
		t.parked++
	case protocol.SettleMissed, protocol.SettleReplan:
		t.missed++
	case protocol.SettleExpired:
		t.expired++
	case protocol.SettleCancelled:
		t.cancelled++
	case protocol.SettleBack:
		t.back++
	case protocol.SettleLater:
		if s.Failed {
			t.failed++
		} else {
			t.snoozed++
		}
	}
}

func newFlights(config *Config, base context.Context, r *reporter, slots *slots, heartbeat *heartbeat, admission *admission) *flights {
	return &flights{config: config, base: newHandlerContext(base), reporter: r, slots: slots, heartbeat: heartbeat, admission: admission}
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

// coming returns how many jobs have arrived and are not admitted yet.
func (h *flights) coming() int { return h.arriving }

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
		if f := h.admitJob(a, &a.jobs[i], len(a.jobs)-i-1, draining, now); f != nil {
			h.admitted = append(h.admitted, f)
		}
		if len(h.admitted) == admitTogether || i == len(a.jobs)-1 && len(h.admitted) > 0 {
			h.slots.run(h.admitted, now)
			clear(h.admitted)
			h.admitted = h.admitted[:0]
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

// due gives back the flights that were taken ahead and have waited too long. It ends the ctx of handlers whose time is up, and settles those that
// have not returned long after that. It returns when to call it again.
func (h *flights) due(now time.Time) time.Time {
	stale, until := h.slots.stale(now)
	for _, f := range stale {
		h.keep(f, f.back(), now)
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
		h.slots.drop(func(f *flight) bool { return !f.of(s) })
	}
	h.slots.each(func(f *flight) {
		if f.of(s) {
			f.endContext(protocol.ErrSessionLost)
		}
	})
}

// replace ends the ctx of an occurrence that the next one replaces.
func (h *flights) replace(id string) {
	h.slots.each(func(f *flight) {
		if f.id == id {
			f.endContext(ErrReplaced)
		}
	})
}

// cancel ends the ctx of a job that was cancelled. A job that waits for a slot or has not arrived yet will not begin.
func (h *flights) cancel(job protocol.HeldJob, now time.Time) {
	found := false
	h.slots.each(func(f *flight) {
		if f.is(job) {
			found = true
			f.endContext(ErrCancelled)
		}
	})
	if !found {
		h.cancelled.add(job)
		return
	}
	for _, f := range h.slots.drop(func(f *flight) bool { return !f.is(job) }) {
		h.keep(f, f.cancel(time.Time{}, now), now)
	}
}

// giveBackWaiting gives back the flights that wait for a slot.
func (h *flights) giveBackWaiting(now time.Time) {
	for _, f := range h.slots.drop(func(*flight) bool { return false }) {
		h.keep(f, f.back(), now)
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
