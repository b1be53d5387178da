package work

import (
	"math/rand/v2"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
)

const (
	leaveAfter  = time.Millisecond // without a free slot for so long, a worker is no sleeping worker any more
	subscribing = 3 * time.Second  // a worker whose subscription is not confirmed by then takes without it
)

// safetyPoll is how long a sleeping worker that hears nothing waits before it polls: a lost wake-up costs at most that, and its
// registration is renewed in time.
func safetyPoll() time.Duration {
	return protocol.IdleRetention - 2*time.Second + rand.N(time.Second)
}

// A wakeup is what was published for this worker and not dealt with yet. A wake-up does not say for which lane.
type wakeup struct {
	connected bool      // the subscription was confirmed, so that taking may begin
	giveUp    time.Time // or this instant has come

	woken bool      // a wake-up came that no lane was asked about yet
	again bool      // it came while a call was under way, whose answer may be older
	pass  bool      // a wake-up came that this worker cannot use: another one is to be woken
	alarm time.Time // in some lane a delayed job is due at this local instant; zero: no news of one

	leaveAt  time.Time // there is no free slot: leave the sleeping workers then; zero: there is
	failures int       // of leaving, in a row
	retryAt  time.Time
}

func newWakeup(now time.Time) wakeup { return wakeup{giveUp: now.Add(subscribing)} }

// ready reports whether taking may begin.
func (w *wakeup) ready(now time.Time) bool { return w.connected || !now.Before(w.giveUp) }

// signal notes a signal. It reports whether every lane may have jobs now. busy says that a call is under way.
func (w *wakeup) signal(s protocol.Signal, busy bool) (hungry bool) {
	if s.Connected {
		w.connected = true
	}
	if s.Wake {
		w.woken = true
	}
	if s.Connected || s.Wake {
		w.again = busy
	}
	return s.Connected || s.Wake
}

// answered reports whether every lane is to be asked again: a wake-up has overtaken the answer.
func (w *wakeup) answered() bool {
	again := w.again
	w.again = false
	return again
}

// keepAlarm notes that a delayed job is this worker's to take at a local instant.
func (w *wakeup) keepAlarm(due, now time.Time) { w.alarm = earlier(w.alarm, later(due, now)) }

// alarmDue reports whether the alarm is due, and ends it.
func (w *wakeup) alarmDue(now time.Time) bool {
	if w.alarm.IsZero() || now.Before(w.alarm) {
		return false
	}
	w.alarm = time.Time{}
	w.woken = true
	return true
}

// wake notes that a lane has woken by itself.
func (w *wakeup) wake() { w.woken = true }

// use decides about a wake-up, which cannot be used if a call is not worth making, and whether to leave the sleeping workers,
// among which this one is listed: without a free slot it does soon.
func (w *wakeup) use(free int, worth, listed, draining bool, now time.Time) {
	if w.woken && !worth && !draining {
		w.pass = true
	}
	w.woken = false
	switch {
	case free > 0 || !listed:
		w.leaveAt = time.Time{}
	case w.leaveAt.IsZero():
		w.leaveAt = now.Add(leaveAfter)
	}
}

// handOver has another worker woken when this one drains: it may be woken and busy, on no list, and yet keep the alarm.
func (w *wakeup) handOver() { w.pass = w.pass || !w.alarm.IsZero() }

// leaves reports whether the worker is to leave the sleeping workers now, and whether another one is to be woken in its place.
func (w *wakeup) leaves(draining bool, now time.Time) (leave, pass bool) {
	late := !w.leaveAt.IsZero() && !now.Before(w.leaveAt)
	if !w.pass && !late && !draining || now.Before(w.retryAt) {
		return false, false
	}
	pass = w.pass
	w.pass = false
	return true, pass
}

// left notes that the worker has left.
func (w *wakeup) left() {
	w.failures = 0
	w.leaveAt = time.Time{}
}

// leaveFailed has it leave again after a while.
func (w *wakeup) leaveFailed(pass bool, now time.Time) {
	w.failures++
	w.retryAt = now.Add(retry.Delay(w.failures))
	w.pass = pass
}

// nextAt is when something is to be done; zero: nothing is.
func (w *wakeup) nextAt(now time.Time) time.Time {
	until := w.alarm
	if !w.leaveAt.IsZero() || w.pass {
		until = earlier(until, later(w.leaveAt, w.retryAt))
	}
	if !w.ready(now) {
		until = earlier(until, w.giveUp)
	}
	return until
}
