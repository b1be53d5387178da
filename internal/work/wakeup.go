package work

import (
	"math/rand/v2"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	leaveAfter  = time.Millisecond // a worker that has had no free slot for this long leaves the sleeping workers
	subscribing = 3 * time.Second  // if the subscription is not confirmed after this time, the worker begins to take without it
)

// safetyPoll returns how long a sleeping worker that receives nothing waits before it polls. It limits the delay of a job after a lost wake-up,
// and renews the worker's registration in time.
func safetyPoll() time.Duration {
	return protocol.IdleRetention - 2*time.Second + rand.N(time.Second)
}

// A wakeup contains the messages for this worker that are not handled yet. A wake-up does not name its lane.
type wakeup struct {
	connected bool      // the subscription was confirmed, so that taking may begin
	giveUp    time.Time // taking begins at this instant without a subscription

	woken bool      // a wake-up has come and no lane has requested jobs since
	pass  bool      // a wake-up has come that this worker cannot use: another worker has to be woken
	alarm time.Time // in some lane a delayed job is due at this local instant; zero: no such job is known

	leaveAt time.Time // when to leave the sleeping workers, because no slot is free; zero: there is a free slot
}

func newWakeup(now time.Time) wakeup { return wakeup{giveUp: now.Add(subscribing)} }

// ready reports whether taking may begin.
func (w *wakeup) ready(now time.Time) bool { return w.connected || !now.Before(w.giveUp) }

// signal notes a signal. It reports whether every lane may have jobs now.
func (w *wakeup) signal(s protocol.Signal) (hungry bool) {
	if s.Connected {
		w.connected = true
	}
	if s.Wake {
		w.woken = true
	}
	return s.Connected || s.Wake
}

// keepAlarm notes that this worker has to take a delayed job at a local instant.
func (w *wakeup) keepAlarm(due, now time.Time) { w.alarm = earlier(w.alarm, later(due, now)) }

// alarmDue reports whether the alarm is due, and clears it.
func (w *wakeup) alarmDue(now time.Time) bool {
	if w.alarm.IsZero() || now.Before(w.alarm) {
		return false
	}
	w.alarm = time.Time{}
	w.woken = true
	return true
}

// wake notes that a lane has woken without a message.
func (w *wakeup) wake() { w.woken = true }

// use decides about a wake-up: the worker uses it if a call is worthwhile, and otherwise passes it on. If the worker is listed as sleeping, use
// also decides when it leaves the list: soon after its last slot was taken.
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

// handOver passes the alarm on when the worker drains, by waking another worker. A worker that was woken and is busy is on no list of sleeping
// workers, but may still keep the alarm.
func (w *wakeup) handOver() { w.pass = w.pass || !w.alarm.IsZero() }

// leaves reports whether the worker has to leave the sleeping workers now, and whether another worker is woken instead.
func (w *wakeup) leaves(draining bool, now time.Time) (leave, pass bool) {
	late := !w.leaveAt.IsZero() && !now.Before(w.leaveAt)
	pass = w.pass
	w.pass = false
	return pass || late || draining, pass
}

// left notes that the worker has left.
func (w *wakeup) left() { w.leaveAt = time.Time{} }

// nextAt returns when there is something to do; zero: there is nothing to do.
func (w *wakeup) nextAt(now time.Time) time.Time {
	until := w.alarm
	if w.pass {
		until = earlier(until, now)
	}
	until = earlier(until, w.leaveAt)
	if !w.ready(now) {
		until = earlier(until, w.giveUp)
	}
	return until
}
