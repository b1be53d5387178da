package chime

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// admit decides what becomes of a job that a call has brought: most run, now or as soon as a slot is free. What cannot
// run here is parked, what nobody can run is dead, and what comes too late is missed.
func (t *taker) admit(s *session, taken *TakenJob, now time.Time) {
	f := &flight{session: s, id: taken.ID, fence: taken.Fence, ahead: !taken.Begun, clock: s.lane.clock}
	if t.drain.begun {
		t.giveBack(f, now)
		return
	}
	if settlement, told := t.refuse(f, taken, now); told {
		f.settled = true
		s.lane.keep(settlement, now)
		return
	}
	f.ctx, f.cancel = newJobContext(t.base)
	if f.cancels {
		t.heartbeat.watch(s, f.schedule, 1)
	}
	if f.ahead {
		t.slots.queue(f, now)
	} else {
		t.slots.start(f, now)
	}
}

// giveBack returns a job that is not to run here to the front of its queue. Nothing is counted.
func (t *taker) giveBack(f *flight, now time.Time) {
	f.settled = true
	if !f.session.lost {
		f.session.lane.keep(Settlement{ID: f.id, Fence: f.fence, Kind: SettleBack}, now)
	}
}

// collect takes in what has happened in the slots.
func (t *taker) collect(now time.Time) {
	t.slots.collect(&t.seen)
	for i, f := range t.seen.ended {
		t.seen.ended[i] = nil
		f.ended = true
		if f.cancels {
			t.heartbeat.watch(f.session, f.schedule, -1)
		}
		f.cancel(nil)
		if f.settled {
			continue
		}
		f.settled = true
		if f.session.lost {
			continue
		}
		f.session.lane.keep(f.settlement, now)
		if f.cutOff {
			t.drain.cut = append(t.drain.cut, f.id)
		}
	}
	for i, f := range t.seen.began {
		t.seen.began[i] = nil
		if l := f.session.lane; !f.ended && !f.session.lost {
			l.stir(now)
			l.begun = append(l.begun, f)
		}
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
func (t *taker) refuse(f *flight, taken *TakenJob, now time.Time) (s Settlement, refused bool) {
	p, err := t.read(f, taken)
	name := f.message.name
	switch {
	case errors.Is(err, errNewerVersion), errors.Is(err, errNotHere):
		t.unreadable[name] = now.Add(tellEvery)
		return t.park(f, err.Error(), now), true
	case err != nil:
		return t.bury(f, err.Error()), true
	case taken.Crashes >= t.worker.options.MaxCrashes:
		return t.bury(f, fmt.Sprintf("its worker vanished %d times", taken.Crashes)), true
	case p != nil && taken.New && !p.runs(f.message.planned, f.clock.store):
		return Settlement{ID: f.id, Fence: f.fence, Kind: SettleMissed, Run: f.runRecord("missed", now, now)}, true
	}
	f.handler = t.worker.handlers[name]
	if f.handler == nil {
		return t.park(f, "no handler here", now), true
	}
	f.timeout = cmp.Or(f.message.timeout, f.handler.settings.timeout, DefaultTimeout)
	f.job = Job{
		ID: f.id, Name: name, Queue: f.session.lane.partition.Queue, Schedule: f.schedule,
		Planned: f.message.planned, Attempt: f.message.failures + 1, MaxAttempts: f.message.attempts(), Crashes: taken.Crashes,
		Fence: f.fence, Payload: f.message.payload,
	}
	return Settlement{}, false
}

// park sets a job aside for a worker that can run it.
func (t *taker) park(f *flight, reason string, now time.Time) Settlement {
	if t.reminders.due("park "+f.message.name, now) {
		t.log.Warn("chime: jobs are parked until a worker that can run them asks for them", "job", f.message.name, "id", f.id, "queue", f.session.lane.partition.Queue, "reason", reason)
	}
	return Settlement{ID: f.id, Fence: f.fence, Kind: SettlePark, Name: f.message.name}
}

// bury ends a job that nobody is to run.
func (t *taker) bury(f *flight, reason string) Settlement {
	t.log.Error("chime: job is dead", "job", f.message.name, "id", f.id, "queue", f.session.lane.partition.Queue, "reason", reason)
	f.message.fail(errors.New(reason))
	s := Settlement{ID: f.id, Fence: f.fence, Kind: SettleDead, Body: f.message.encode(), Failed: true}
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
