package chime

import (
	"math/rand/v2"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	secondKeeper = 20 * time.Millisecond // the second who keeps an alarm lets the first go ahead
	leaveAfter   = time.Millisecond      // saturated for so long, a worker leaves the sleepers
	subscribing  = 3 * time.Second       // a worker whose wake-ups are not confirmed by then takes without
)

// safetyPoll is how long a sleeper that hears nothing waits before it looks.
func safetyPoll() time.Duration { return 11*time.Second + rand.N(time.Second) }

// signal takes in what has arrived on the line. A wake-up does not say for which lane.
func (t *taker) signal(s protocol.Signal, now time.Time) {
	if s.Connected {
		t.connected = true
		t.rouse()
	}
	if s.Wake {
		t.woken = true
		t.rouse()
	}
	if s.Connected || s.Wake {
		t.rewoken = t.calling // the answer under way may be older than this
	}
	if !s.Alarm.IsZero() {
		t.keepAlarm(s.Alarm, now)
	}
	if s.Replaced != "" {
		t.replace(s.Replaced)
	}
}

// rouse makes every lane one that may have work.
func (t *taker) rouse() {
	for _, l := range t.lanes {
		l.asleep = false
		l.askAt, l.empty = time.Time{}, 0
	}
}

// keepAlarm notes that some lane has a delayed job that is this worker's to take at an instant of the store's clock.
func (t *taker) keepAlarm(at, now time.Time) {
	var due time.Time
	for _, l := range t.lanes {
		due = earlier(due, l.clock.until(at))
	}
	t.alarm = earlier(t.alarm, later(due, now))
}

// wake turns alarms that are due into hunger, and a wake-up that finds no free slot into one for somebody else.
func (t *taker) wake(now time.Time) {
	if !t.alarm.IsZero() && !now.Before(t.alarm) {
		t.alarm = time.Time{}
		t.woken = true
		t.rouse()
	}
	for _, l := range t.lanes {
		if l.asleep && !l.next.IsZero() && !now.Before(l.next) {
			l.next = time.Time{}
			l.asleep = false
			t.woken = true
		}
	}
	free, _, worth := t.room(now)
	if t.woken && !worth && !t.drain.begun {
		t.pass = true
	}
	t.woken = false
	switch {
	case free > 0 || !t.listed():
		t.leaveAt = time.Time{}
	case t.leaveAt.IsZero():
		t.leaveAt = now.Add(leaveAfter)
	}
}

func (t *taker) listed() bool {
	for _, l := range t.lanes {
		if l.listed {
			return true
		}
	}
	return false
}

// leave takes a worker without a free slot, or one that is draining, off the lists of sleepers.
func (t *taker) leave(now time.Time) bool {
	late := !t.leaveAt.IsZero() && !now.Before(t.leaveAt)
	if !t.pass && !late && !t.drain.begun || now.Before(t.leaveRetry) {
		return false
	}
	var calls []protocol.LeaveCall
	for _, l := range t.lanes {
		if l.listed || t.pass && l.sent == nil {
			calls = append(calls, protocol.LeaveCall{Partition: l.partition, Worker: t.name, Pass: t.pass || t.drain.begun})
		}
	}
	t.pass = false
	if len(calls) == 0 {
		return false
	}
	// Off the list, or about to be: nothing is asleep, whatever the answer.
	for _, l := range t.lanes {
		l.asleep = false
	}
	t.requests <- request{leave: calls}
	return true
}

func (t *taker) left(calls []protocol.LeaveCall, err error, now time.Time) {
	if err != nil {
		t.leaveFailures++
		t.leaveRetry = now.Add(troubleDelay(t.leaveFailures))
		t.pass = calls[0].Pass && !t.drain.begun
		t.trouble.begin("leave", "leave", err, now)
		if !t.drain.begun {
			return
		}
	}
	t.trouble.end("leave", now)
	t.leaveFailures = 0
	t.leaveAt = time.Time{}
	for _, l := range t.lanes {
		l.listed = false
	}
}

// look asks the sleeping lanes whose turn it is what there is to do, and with them those whose turn comes soon.
func (t *taker) look(now time.Time) bool {
	if t.drain.begun {
		return false
	}
	due := false
	for _, l := range t.lanes {
		due = due || l.lookDue(now)
	}
	if !due {
		return false
	}
	var r request
	for _, l := range t.lanes {
		if l.asleep && l.sent == nil && (l.lookDue(now) || !now.Before(l.lookAt.Add(-2*time.Second))) {
			r.lanes = append(r.lanes, l)
			call := protocol.PollCall{Partition: l.partition, Worker: t.name, Sleep: true, Since: l.since}
			if l.clock.trusted(now) {
				call.Now = l.clock.at(now)
			}
			r.look = append(r.look, call)
			l.lapse = time.Time{}
			l.listed = true
		}
	}
	t.requests <- r
	return true
}

// lookDue reports whether a sleeping lane is to be looked at: the safety poll, or a session that lapses.
func (l *lane) lookDue(now time.Time) bool {
	return l.asleep && l.sent == nil && (!now.Before(l.lookAt) || !l.lapse.IsZero() && !now.Before(l.lapse))
}

// nextEvent is when something is to be done that nobody announces; zero: nothing is.
func (t *taker) nextEvent(now time.Time) time.Time {
	if t.calling {
		return time.Time{}
	}
	until := t.alarm
	if !t.leaveAt.IsZero() || t.pass {
		until = earlier(until, later(t.leaveAt, t.leaveRetry))
	}
	if !t.connected && now.Before(t.patience) {
		until = earlier(until, t.patience)
	}
	_, _, worth := t.room(now)
	for _, l := range t.lanes {
		at := l.event(worth)
		if !at.IsZero() {
			at = later(at, l.retryAt)
		}
		until = earlier(until, at)
		if s := l.session; l.sent == nil && s != nil && s.number > 0 && !s.emptySince.IsZero() {
			until = earlier(until, s.emptySince.Add(min(sessionRest, t.ttl/3)))
		}
	}
	return until
}

// event is when the lane is due for a call or a look; zero: not before something happens. room
// says that there is a slot for what it might bring.
func (l *lane) event(room bool) time.Time {
	if l.sent != nil {
		return l.retryAt
	}
	var at time.Time
	if l.asleep {
		at = earlier(earlier(l.next, l.lapse), l.lookAt)
	} else if room {
		at = later(l.askAt, l.retryAt)
	}
	if len(l.pending) > 0 || len(l.begun) > 0 {
		at = earlier(at, l.pendingSince.Add(settleWait))
	}
	if len(l.places) > 0 {
		at = earlier(at, l.placesAt)
	}
	return at
}
