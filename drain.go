package chime

import (
	"errors"
	"fmt"
	"time"
)

const (
	handBackWait = 2 * time.Second // for handlers to return once their ctx has ended
	settleAtEnd  = 2 * time.Second // for a store in trouble to take the last outcomes
)

// A drain is the end of a worker: it takes nothing more, gives back what has not begun, waits for its handlers, ends their
// ctx, and hands back what is left without burning an attempt. It ends in bounded time whatever handlers and store do.
type drain struct {
	begun     bool
	deadline  time.Time // the handlers' ctx end
	handBack  time.Time // what has not returned is handed back
	giveUp    time.Time // of what the store does not take
	ended     bool      // the handlers' ctx have been
	abandoned bool      // what had not returned has been handed back
	idle      bool      // nothing runs and nothing is to be sent: sessions close
	cut       []string  // IDs of jobs whose handlers were cut off
}

func (t *taker) beginDrain(now time.Time) {
	d := &t.drain
	d.begun = true
	d.deadline = now.Add(t.worker.options.DrainTimeout)
	d.handBack = d.deadline.Add(handBackWait)
	d.giveUp = d.handBack.Add(settleAtEnd)
	// A worker that was woken and is busy is on no list, yet the alarm may still be its to keep: those who sleep take it over.
	t.pass = t.pass || !t.alarm.IsZero()
	for _, f := range t.slots.drop(func(*flight) bool { return false }) {
		t.giveBack(f, now)
	}
}

// drainStep does what the drain's time demands and returns when it demands something again.
func (t *taker) drainStep(now time.Time) time.Time {
	d := &t.drain
	if now.Before(d.deadline) {
		return d.deadline
	}
	if !d.ended {
		d.ended = true
		t.slots.each(func(f *flight) { f.ctx.end(ErrShutdown) })
	}
	if now.Before(d.handBack) {
		return d.handBack
	}
	if !d.abandoned {
		d.abandoned = true
		var left []*flight
		t.slots.each(func(f *flight) { left = append(left, f) })
		for _, f := range left {
			if !f.settled {
				d.cut = append(d.cut, f.id)
				t.giveBack(f, now)
			}
		}
	}
	return d.giveUp
}

// drained reports whether the worker is done: everything is settled, left and closed, or nothing more can be hoped for.
func (t *taker) drained(now time.Time) bool {
	d := &t.drain
	if !now.Before(d.giveUp) {
		return true
	}
	if t.calling {
		return false
	}
	d.idle = t.settledAll()
	return !t.act(now) && d.idle
}

// settledAll reports whether no outcome is to be waited for or sent.
func (t *taker) settledAll() bool {
	for _, l := range t.lanes {
		if l.sent != nil || len(l.pending) > 0 || len(l.places) > 0 {
			return false
		}
	}
	open := false
	t.slots.each(func(f *flight) { open = open || !f.settled })
	return !open && !t.slots.unread()
}

// result is what Run returns once drained.
func (t *taker) result() error {
	var errs []error
	if len(t.drain.cut) > 0 {
		errs = append(errs, &DrainTimeoutError{IDs: t.drain.cut})
	}
	if n := t.unsettled(); n > 0 {
		errs = append(errs, fmt.Errorf("chime: worker: the store did not take the outcomes of %d jobs: they run again once their session has lapsed", n))
	}
	return errors.Join(errs...)
}

// unsettled is the number of outcomes whose fate is unknown.
func (t *taker) unsettled() (n int) {
	for _, l := range t.lanes {
		n += len(l.pending)
		if l.sent != nil {
			n += len(l.sent.Settle)
		}
	}
	return n
}
