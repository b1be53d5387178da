package work

import (
	"errors"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
)

// A lane is one partition as this worker sees it. It belongs to the processor's goroutine.
type lane struct {
	waitState
	outbox
	unreported
	measures
	besideNote

	at    protocol.Partition
	stake *stake
	clock storeClock

	caller   *caller            // of the node on which the partition lives
	session  *session           // nil: none
	sent     *protocol.WorkCall // not answered yet: it is sent again, unchanged, until it is answered
	sentAt   time.Time          // when it was sent first
	triedAt  time.Time          // when the last call or poll was sent
	underWay bool               // sent is in the request that the caller makes now
	repeated bool               // and it was sent before
	refused  bool               // the store has refused every attempt to send it, so it has changed nothing
	woken    bool               // a wake-up has come since the request that the caller makes now was sent

	owed owedSuspect // where the outcome of a suspect is that the store may not know yet

	failures int       // consecutive failed calls
	retryAt  time.Time // no call before this instant
}

// An owedSuspect is the place of a suspect's outcome. The next suspect waits until the store has this outcome.
type owedSuspect byte

const (
	noSuspectOwed owedSuspect = iota
	suspectKept               // in the outbox
	suspectSent               // in the unanswered call
)

// oweSuspect notes that the outcome of a suspect is in the outbox.
func (l *lane) oweSuspect() { l.owed = suspectKept }

// owesSuspect returns where the outcome of the lane's last suspect is.
func (l *lane) owesSuspect() owedSuspect { return l.owed }

func newLane(p protocol.Partition, s *share) *lane { return &lane{at: p, stake: &stake{share: s}} }

func (l *lane) partition() protocol.Partition { return l.at }

// liveOn places the lane at a caller: the lane is on its node. If a call of the lane is under way, it remains at the node that received the call.
func (l *lane) liveOn(c *caller) {
	if !l.underWay {
		l.caller = c
	}
}

// via returns the caller of the lane's node.
func (l *lane) via() *caller { return l.caller }

// open reports whether the lane can be called: its node's caller is making no request, and no wait after failures is left.
func (l *lane) open(now time.Time) bool { return !l.caller.busy() && l.mayCall(now) }

// wake notes that the lane may have jobs, and wakeAgain that it still may after the answer to a request that was under way: the answer may be older.
func (l *lane) wake() {
	l.markHungry()
	if c := l.caller; c != nil && c.busy() {
		l.woken = true
		c.noteWakeup()
	}
}

func (l *lane) wakeAgain() {
	if l.woken {
		l.woken = false
		l.markHungry()
	}
}

// part returns the lane's part in its queue's share.
func (l *lane) part() *stake { return l.stake }

// weight returns the weight of the lane's queue.
func (l *lane) weight() int { return l.stake.share.weight }

// holder returns the session that holds the lane's jobs; nil: the lane has no session.
func (l *lane) holder() *session { return l.session }

// calledAt returns when the last call was first sent: the store may have extended the session then.
func (l *lane) calledAt() time.Time { return l.sentAt }

// until returns the local instant at which the store's clock shows the given one.
func (l *lane) until(store time.Time) time.Time { return l.clock.until(store) }

// clockNow returns the estimate of the store's clock after the last answer.
func (l *lane) clockNow() *storeClock {
	clock := l.clock
	return &clock
}

// note notes what an answer contains about waiting. served are the parked jobs that its call requested.
func (l *lane) note(h *protocol.WaitHint, served []string, lapses bool, ttl time.Duration, serves func(entry string) bool, now time.Time) {
	l.waitState.hint(h, lapses, &l.clock, ttl, now)
	l.waitState.findParked(h, served, serves, now)
}

// mayCall reports whether no wait after failures is left.
func (l *lane) mayCall(now time.Time) bool { return !now.Before(l.retryAt) }

// reserved returns how many slots are kept free for the answer under way, and how many of its jobs are taken ahead.
func (l *lane) reserved(now time.Time) (jobs, ahead int) {
	if !l.underWay || l.repeated || !l.caller.reserves(now) {
		return 0, 0
	}
	return l.sent.Take, l.sent.Ahead
}

// retry ends the wait after failures: there is a sign that the store answers again.
func (l *lane) retry() { l.retryAt = time.Time{} }

// unanswered returns the call that is to be sent again; nil: no call is.
func (l *lane) unanswered() *protocol.WorkCall { return l.sent }

// urgent reports whether something must not wait for the next take.
func (l *lane) urgent(now time.Time, draining bool) bool {
	return l.besideUrgent() || l.outbox.urgent(now, draining)
}

// hungry reports whether a call may bring jobs. If a queue's limit is reached, that is so after one of its jobs has ended: the same call settles
// it and takes the next.
func (l *lane) hungry(now time.Time) bool {
	return l.sent == nil && l.mayCall(now) && (l.waitState.hungry(now) || l.isFull() && l.outcomes() > 0)
}

// sleepsOn reports whether the next call need not request jobs: the worker is asleep here, and the call only settles ordinary jobs that are done.
func (l *lane) sleepsOn(now time.Time) bool {
	return l.isAsleep() && l.isListed() && l.onlyFinished(now)
}

// call builds the next numbered call with as much of the outbox as fits. It requests take jobs; the last ahead of them are taken ahead. suspect
// allows that one of them is a suspect, holds means that the worker holds one; handled are the names under which parked jobs are looked up.
func (l *lane) call(worker string, ttl time.Duration, take, ahead int, suspect, holds bool, handled []string, now time.Time) *protocol.WorkCall {
	if l.session == nil {
		l.session = newSession(l.at, ttl)
	}
	call := &protocol.WorkCall{
		Partition: l.at,
		Worker:    worker,
		Session:   l.session.name(),
		Number:    l.session.nextNumber(),
		TTL:       ttl,
		Take:      take,
		Ahead:     ahead,
		Sleep:     take > 0,
		SleepOn:   take == 0 && l.sleepsOn(now),
		Lapses:    take > 0 && l.wantsLapses(now),
	}
	l.load(call, now)
	l.loadBeside(call)
	if l.owed == suspectKept && l.outcomes() == 0 {
		l.owed = suspectSent
	}
	if l.session.exists() && l.measures.due(now) {
		call.Measured = l.take(l.session.nextMeasured)
	}
	if take > 0 {
		call.Suspect, call.HoldsSuspect = suspect, holds
		call.Serve = l.serve()
		call.ParkedLook = l.lookUpParked(handled, now)
	}
	l.sent, l.sentAt, l.triedAt, l.underWay, l.repeated, l.refused = call, now, now, true, false, true
	return call
}

// again returns the unanswered call, which is sent again now.
func (l *lane) again(now time.Time) *protocol.WorkCall {
	l.triedAt, l.underWay, l.repeated = now, true, true
	return l.sent
}

// answered notes an answer to the call that is under way. err means that the call is sent again after a while; lost means that the session was
// reaped.
func (l *lane) answered(a *protocol.WorkAnswer, now time.Time) (call *protocol.WorkCall, lost bool, err error) {
	l.underWay = false
	lost = errors.Is(a.Err, protocol.ErrSessionLost) || l.session.isLost()
	if a.Err != nil && !lost {
		l.refused = l.refused && errors.Is(a.Err, protocol.ErrUnfit)
		l.failed(now)
		return nil, false, a.Err
	}
	call = l.sent
	l.sent, l.failures = nil, 0
	if l.owed == suspectSent {
		l.owed = noSuspectOwed
	}
	l.besideAnswered()
	l.clock.set(a.Now, now)
	return call, lost, nil
}

// failed notes that the lane's node has not answered: it is called again after a while.
func (l *lane) failed(now time.Time) {
	l.failures++
	l.retryAt = retry.After(l.triedAt, l.failures, now)
}

// poll begins a poll. A sleeping lane polls for everything, an awake one for lapsed sessions.
func (l *lane) poll(worker string, handled []string, now time.Time) protocol.PollCall {
	l.triedAt = now
	if !l.isAsleep() {
		l.beginWatch(now)
		return protocol.PollCall{Partition: l.at, Worker: worker, Lapses: true}
	}
	call := protocol.PollCall{Partition: l.at, Worker: worker, Sleep: true, Since: l.beginPoll(), ParkedLook: l.lookUpParked(handled, time.Time{})}
	if l.clock.trusted(now) {
		call.Now = l.clock.at(now)
	}
	return call
}

// watched notes the answer to a poll of a lane that is awake: when the next session lapses.
func (l *lane) watched(h *protocol.WaitHint, now time.Time) { l.waitState.watched(h, &l.clock, now) }

// watchAt returns when a lane that is awake polls for lapsed sessions. Zero: the lane sleeps, or its call is under way.
func (l *lane) watchAt() time.Time {
	if l.sent != nil {
		return time.Time{}
	}
	return l.waitState.watchAt()
}

// pollDue reports whether the lane has to poll; pollSoon reports whether it may poll together with another lane.
func (l *lane) pollDue(now time.Time) bool  { return l.sent == nil && l.waitState.pollDue(now) }
func (l *lane) pollSoon(now time.Time) bool { return l.sent == nil && l.waitState.pollSoon(now) }

// polled notes the answer to a poll; an error means that it is repeated after a while.
func (l *lane) polled(a *protocol.PollAnswer, now time.Time) error {
	if a.Err != nil {
		l.failures++
		l.pollFailed(retry.After(l.triedAt, l.failures, now))
		return a.Err
	}
	l.failures = 0
	if !a.Now.IsZero() {
		l.clock.set(a.Now, now)
	}
	l.waitState.polled(a)
	return nil
}

// loseSession removes the session, which was reaped, and its outcomes. While the session's last call is under way it does nothing yet: the answer
// may still contain what was placed.
func (l *lane) loseSession(s *session) {
	if l.session != s || l.underWay {
		return
	}
	if l.sent != nil {
		l.place(l.sent.Place)
		l.sent = nil
	}
	l.session, l.owed = nil, noSuspectOwed
	l.uncrowd()
	l.drop()
	l.stayAwake()
	l.retryAt, l.failures = time.Time{}, 0
}

// closeSession removes and returns the session if it is to be closed; nil: it is not to be closed. With atOnce a session that holds no job is
// closed without the usual wait.
func (l *lane) closeSession(ttl time.Duration, atOnce bool, now time.Time) *session {
	at := l.closeAt(ttl)
	if at.IsZero() || now.Before(at) && !atOnce {
		return nil
	}
	s := l.session
	l.session = nil
	return s
}

func (l *lane) closeAt(ttl time.Duration) time.Time {
	if l.session == nil || l.sent != nil {
		return time.Time{}
	}
	return l.session.closeAt(ttl)
}

// nextAt returns when the lane needs a call, a poll or the closing of its session. Zero: not before an event. room means that there is a free
// slot. After a failure the lane is checked again when it may be called.
func (l *lane) nextAt(room bool, ttl time.Duration, now time.Time) time.Time {
	at := l.retryAt
	if l.sent == nil {
		at = l.waitState.nextAt(room)
		if room && !l.isAsleep() && !l.isAway() {
			at = later(at, l.retryAt)
		}
		at = earlier(at, l.urgentAt())
		if !at.IsZero() {
			at = later(at, l.retryAt)
		}
		if !l.mayCall(now) {
			at = earlier(at, l.retryAt)
		}
	}
	return earlier(at, l.closeAt(ttl))
}

// forgetRefused forgets the unanswered call if it changes nothing: the store has refused it each time, and it carries nothing. A worker that drains
// does not wait for its answer.
func (l *lane) forgetRefused() {
	if c := l.sent; c != nil && !l.underWay && l.refused && len(c.Settle)+len(c.Begun)+len(c.Place) == 0 {
		l.sent, l.failures, l.retryAt = nil, 0, time.Time{}
		l.stayAwake()
	}
}

// settled reports whether no outcome and no placement waits to be sent or answered.
func (l *lane) settled() bool { return l.sent == nil && l.nothingToSend() }

// unsettled returns the number of outcomes that the store has not confirmed.
func (l *lane) unsettled() int {
	n := l.outcomes()
	if l.sent != nil {
		n += len(l.sent.Settle)
	}
	return n
}
