package chime

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/wire"
)

const admitTogether = 64 // so many flights are handed to the slots at once, so that the first do not wait for the last

// admitArrived admits what calls have brought, but for the jobs of a session that was lost since: they are somebody else's.
func (t *taker) admitArrived(now time.Time) {
	for i := range t.arrived {
		a := &t.arrived[i]
		if !a.session.lost {
			t.admitJobs(a, now)
		}
		*a = arrival{}
	}
	t.arrived, t.arriving = t.arrived[:0], 0
}

func (t *taker) admitJobs(a *arrival, now time.Time) {
	t.admitted = t.admitted[:0]
	for i := range a.jobs {
		if f := t.admit(a, &a.jobs[i], len(a.jobs)-i-1, now); f != nil {
			t.admitted = append(t.admitted, f)
		}
		if len(t.admitted) == admitTogether || i == len(a.jobs)-1 && len(t.admitted) > 0 {
			t.slots.run(t.admitted, now)
			clear(t.admitted)
			t.admitted = t.admitted[:0]
		}
	}
}

// admit decides what becomes of a job that a call has brought, with so many others behind it: most run, now or as soon as
// a slot is free, and are returned. What cannot run here is parked, what nobody can run is dead, and what comes too late is
// missed.
func (t *taker) admit(a *arrival, taken *protocol.TakenJob, others int, now time.Time) *flight {
	s := a.session
	f := t.hangar.flight(len(taken.Body), others)
	f.session, f.id, f.fence, f.ahead, f.clock = s, taken.ID, taken.Fence, !taken.Begun, a.clock
	if t.drain.begun {
		t.giveBack(f, now)
		return nil
	}
	if settlement, told := t.refuse(f, taken, now); told {
		f.settled = true
		s.lane.keep(settlement, now)
		return nil
	}
	f.ctx.base = &t.base
	if s.silent {
		f.ctx.end(ErrSessionLost)
	}
	if f.cancels {
		t.heartbeat.watch(s, f.schedule, 1)
	}
	return f
}

// giveBack returns a job that is not to run here to the front of its queue. Nothing is counted.
func (t *taker) giveBack(f *flight, now time.Time) {
	f.settled = true
	if !f.session.lost {
		f.session.lane.keep(protocol.Settlement{ID: f.id, Fence: f.fence, Kind: protocol.SettleBack}, now)
	}
}

// collect takes in what has happened in the slots.
func (t *taker) collect(now time.Time) {
	t.slots.collect(&t.seen)
	for _, f := range t.seen.ended {
		t.returned(f)
	}
	for i, f := range t.seen.began {
		t.seen.began[i] = nil
		if l := f.session.lane; !f.ended && !f.session.lost {
			l.stir(now)
			l.begun = append(l.begun, f)
			f.listed = true
		}
	}
	for i, f := range t.seen.ended {
		t.seen.ended[i] = nil
		t.hangar.land(f)
	}
}

// returned takes in that a flight's handler has returned.
func (t *taker) returned(f *flight) {
	f.ended = true
	if f.cancels {
		t.heartbeat.watch(f.session, f.schedule, -1)
	}
	f.ctx.end(nil)
	if f.settled {
		return
	}
	f.settled = true
	if f.session.lost {
		return
	}
	f.session.lane.keep(f.outcome(), f.endedAt)
	if f.cutOff {
		t.drain.cut = append(t.drain.cut, f.id)
	}
}

// slotsDue gives back what was taken ahead and waits too long, ends the ctx of handlers whose time is up, and settles what
// has not returned long after. It returns when to come again.
func (t *taker) slotsDue(now time.Time) time.Time {
	stale, until := t.slots.stale(now)
	for _, f := range stale {
		t.giveBack(f, now)
	}
	var overdue []*flight
	expiry := t.slots.expire(now, &overdue)
	for _, f := range overdue {
		if f.settled {
			continue
		}
		f.settled = true
		if !f.session.lost {
			f.session.lane.keep(f.settle(Outcome{Action: Retried, Err: errHung(f.timeout)}, now), now)
		}
	}
	return earlier(until, expiry)
}

// refuse settles what is not to run here.
func (t *taker) refuse(f *flight, taken *protocol.TakenJob, now time.Time) (s protocol.Settlement, refused bool) {
	p, err := t.read(f, taken)
	name := f.message.Name
	switch {
	case errors.Is(err, wire.ErrNewerVersion), errors.Is(err, schedule.ErrNotHere):
		t.unreadable[name] = now.Add(tellEvery)
		return t.park(f, err.Error(), now), true
	case err != nil:
		return t.bury(f, err.Error()), true
	case taken.Crashes >= t.worker.options.MaxCrashes:
		return t.bury(f, fmt.Sprintf("its worker vanished %d times", taken.Crashes)), true
	case p != nil && taken.New && !p.Runs(f.message.Planned, f.clock.store):
		return protocol.Settlement{ID: f.id, Fence: f.fence, Kind: protocol.SettleMissed, Run: f.runRecord("missed", now, now)}, true
	}
	f.handler = t.worker.handlers[name]
	if f.handler == nil {
		return t.park(f, "no handler here", now), true
	}
	f.timeout = cmp.Or(f.message.Timeout, f.handler.settings.timeout, DefaultTimeout)
	f.job = Job{
		ID: f.id, Name: name, Queue: f.session.lane.partition.Queue, Schedule: f.schedule,
		Planned: f.message.Planned, Attempt: f.message.Failures + 1, MaxAttempts: attemptsOf(&f.message), Crashes: taken.Crashes,
		Fence: f.fence, Payload: bytes.Clone(f.message.Payload), // the handler's own: a retry goes with what was enqueued
	}
	return protocol.Settlement{}, false
}

// park sets a job aside for a worker that can run it.
func (t *taker) park(f *flight, reason string, now time.Time) protocol.Settlement {
	if t.reminders.due("park "+f.message.Name, now) {
		t.log.Warn("chime: jobs are parked until a worker that can run them asks for them", "job", f.message.Name, "id", f.id, "queue", f.session.lane.partition.Queue, "reason", reason)
	}
	return protocol.Settlement{ID: f.id, Fence: f.fence, Kind: protocol.SettlePark, Name: f.message.Name}
}

// bury ends a job that nobody is to run.
func (t *taker) bury(f *flight, reason string) protocol.Settlement {
	t.log.Error("chime: job is dead", "job", f.message.Name, "id", f.id, "queue", f.session.lane.partition.Queue, "reason", reason)
	noteFailure(&f.message, errors.New(reason))
	s := protocol.Settlement{ID: f.id, Fence: f.fence, Kind: protocol.SettleDead, Body: f.message.Encode(), Failed: true}
	if f.schedule != "" {
		now := time.Now()
		s.Run = f.runRecord("dead", now, now)
	}
	return s
}

// serves reports whether parked jobs of a name are worth asking for.
func (t *taker) serves(name string, now time.Time) bool {
	return t.worker.handlers[name] != nil && !now.Before(t.unreadable[name])
}
