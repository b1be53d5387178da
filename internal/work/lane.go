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
	measures

	at    protocol.Partition
	stake *stake
	clock storeClock

	caller   *caller            // of the node on which the partition lives
	session  *session           // nil: none
	sent     *protocol.WorkCall // not answered yet: sent again, unchanged, until it is
	sentAt   time.Time          // first
	triedAt  time.Time          // last: a call or a poll
	underWay bool               // sent is in the request that the caller makes now
	repeated bool               // and was sent before

	failures int       // of calls, in a row
	retryAt  time.Time // not before
}

func newLane(p protocol.Partition, s *share) *lane { return &lane{at: p, stake: &stake{share: s}} }

func (l *lane) partition() protocol.Partition { return l.at }

// at a caller: the lane lives on its node. A lane whose call is under way stays where the call went.
func (l *lane) liveOn(c *caller) {
	if !l.underWay {
		l.caller = c
	}
}

// via is the caller of the lane's node.
func (l *lane) via() *caller { return l.caller }

// open reports whether the lane can be called: its node's caller makes no other request, and no failure is to be waited out.
func (l *lane) open(now time.Time) bool { return !l.caller.busy() && l.mayCall(now) }

// part is the lane's part in its queue's share.
func (l *lane) part() *stake { return l.stake }

// holder is the session that holds the lane's jobs; nil: there is none.
func (l *lane) holder() *session { return l.session }

// calledAt is when the last call was sent first: the store may have extended the session then.
func (l *lane) calledAt() time.Time { return l.sentAt }

// until returns the local instant at which the store's clock shows the given one.
func (l *lane) until(store time.Time) time.Time { return l.clock.until(store) }

// clockNow is the estimate of the store's clock as of the last answer.
func (l *lane) clockNow() *storeClock {
	clock := l.clock
	return &clock
}

// note notes what an answer says about waiting. served is what its call asked for of the parked jobs.
func (l *lane) note(h *protocol.WaitHint, served []string, lapses bool, ttl time.Duration, serves func(entry string) bool, now time.Time) {
	l.waitState.hint(h, lapses, &l.clock, ttl, now)
	l.waitState.findParked(h, served, serves, now)
}

// mayCall reports whether a call may be made, after failures or without.
func (l *lane) mayCall(now time.Time) bool { return !now.Before(l.retryAt) }

// reserved is how many slots are kept free for the answer under way, and how many of its jobs are taken ahead.
func (l *lane) reserved(now time.Time) (jobs, ahead int) {
	if !l.underWay || l.repeated || !l.caller.reserves(now) {
		return 0, 0
	}
	return l.sent.Take, l.sent.Ahead
}

// retry ends the wait after failures: there is a sign that the store answers again.
func (l *lane) retry() { l.retryAt = time.Time{} }

// unanswered is the call that is to be sent again; nil: there is none.
func (l *lane) unanswered() *protocol.WorkCall { return l.sent }

// hungry reports whether a call may bring jobs. Where as many run as the queue's limit lets, that is when one has ended: the same call
// settles it and takes the next.
func (l *lane) hungry(now time.Time) bool {
	return l.sent == nil && l.mayCall(now) && (l.waitState.hungry(now) || l.isFull() && l.outcomes() > 0)
}

// sleepsOn reports whether the next call need not ask for jobs: the worker is asleep here, and the call only settles ordinary jobs
// that are done.
func (l *lane) sleepsOn(now time.Time) bool {
	return l.isAsleep() && l.isListed() && l.onlyFinished(now)
}

// call builds the next numbered call with as much of the outbox as fits. It asks for take jobs; ahead of them, the last ones, are
// taken ahead. suspect says that one of them may be a suspect; handled are the names under which parked jobs are looked for.
func (l *lane) call(worker string, ttl time.Duration, take, ahead int, suspect bool, handled []string, now time.Time) *protocol.WorkCall {
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
	if l.session.exists() && l.measures.due(now) {
		call.Measured = l.take(l.session.nextMeasured)
	}
	if take > 0 {
		call.Suspect = suspect
		call.Serve = l.serve()
		call.ParkedLook = l.lookParked(handled, now)
	}
	l.sent, l.sentAt, l.triedAt, l.underWay, l.repeated = call, now, now, true, false
	return call
}

// again returns the unanswered call, which is sent again now.
func (l *lane) again(now time.Time) *protocol.WorkCall {
	l.triedAt, l.underWay, l.repeated = now, true, true
	return l.sent
}

// answered notes an answer to the call that is under way. An error means that the call is sent again after a while; lost, that
// the session was reaped.
func (l *lane) answered(a *protocol.WorkAnswer, now time.Time) (call *protocol.WorkCall, lost bool, err error) {
	l.underWay = false
	lost = errors.Is(a.Err, protocol.ErrSessionLost) || l.session.isLost()
	if a.Err != nil && !lost {
		l.failed(now)
		return nil, false, a.Err
	}
	call = l.sent
	l.sent, l.failures = nil, 0
	l.clock.set(a.Now, now)
	return call, lost, nil
}

// failed notes that the lane's node has not answered: it is asked again after a while.
func (l *lane) failed(now time.Time) {
	l.failures++
	l.retryAt = retry.After(l.triedAt, l.failures, now)
}

// poll begins a poll: of a sleeping lane for whatever there is, of another one for lapsed sessions.
func (l *lane) poll(worker string, handled []string, now time.Time) protocol.PollCall {
	l.triedAt = now
	if !l.isAsleep() {
		l.beginWatch(now)
		return protocol.PollCall{Partition: l.at, Worker: worker, Lapses: true}
	}
	call := protocol.PollCall{Partition: l.at, Worker: worker, Sleep: true, Since: l.beginPoll(), ParkedLook: l.lookParked(handled, time.Time{})}
	if l.clock.trusted(now) {
		call.Now = l.clock.at(now)
	}
	return call
}

// watched notes the answer to a poll of a lane that is awake: when the next session lapses.
func (l *lane) watched(h *protocol.WaitHint, now time.Time) { l.waitState.watched(h, &l.clock, now) }

// watchAt is when a lane that is awake polls for lapsed sessions; zero: it sleeps, or its call is under way.
func (l *lane) watchAt() time.Time {
	if l.sent != nil {
		return time.Time{}
	}
	return l.waitState.watchAt()
}

// pollDue and pollSoon report whether the lane is to poll, or may as well poll with another one.
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

// loseSession forgets the session, which was reaped, with its outcomes. While its last call is under way it does nothing yet: the
// answer may still say what was placed.
func (l *lane) loseSession(s *session) {
	if l.session != s || l.underWay {
		return
	}
	if l.sent != nil {
		l.place(l.sent.Place)
		l.sent = nil
	}
	l.session = nil
	l.drop()
	l.stayAwake()
	l.retryAt, l.failures = time.Time{}, 0
}

// closeSession returns the session if it is to be closed, and forgets it; nil: it is not to be closed. With atOnce a session that
// holds no job is closed without the usual wait.
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

// nextAt is when the lane needs a call, a poll or the closing of its session; zero: not before something happens. room says that
// there is a free slot. After a failure the lane is looked at again when it may be called.
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

// settled reports whether no outcome and no placement is to be sent or answered.
func (l *lane) settled() bool { return l.sent == nil && l.nothingToSend() }

// unsettled is the number of outcomes that the store has not confirmed.
func (l *lane) unsettled() int {
	n := l.outcomes()
	if l.sent != nil {
		n += len(l.sent.Settle)
	}
	return n
}
