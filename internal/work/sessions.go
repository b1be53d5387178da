package work

import (
	"errors"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
)

// sessions decides about the sessions of all lanes: what an answer or a heartbeat means for a session, and when it is silent, lost or closed. It
// belongs to the processor's goroutine.
type sessions struct {
	config    *Config
	worker    string
	heartbeat *heartbeat
	flights   *flights
	outage    *retry.Outage
}

func newSessions(config *Config, worker string, heartbeat *heartbeat, flights *flights, outage *retry.Outage) *sessions {
	return &sessions{config: config, worker: worker, heartbeat: heartbeat, flights: flights, outage: outage}
}

// mayTake notes that a lane's session may get jobs by the call that is sent now.
func (ss *sessions) mayTake(l *lane) { ss.heartbeat.rest(l.holder(), false) }

// moveOn prepares a lane's session for its next call.
func (ss *sessions) moveOn(l *lane, call *protocol.WorkCall, a *protocol.WorkAnswer, now time.Time) {
	s := l.holder()
	if !s.exists() {
		ss.heartbeat.open(s)
	}
	if empty := s.answered(call.Number, l.calledAt(), len(a.Taken), len(call.Settle), now); empty {
		ss.heartbeat.rest(s, true)
	}
	if refused := ss.config.Observe.Refused; refused != nil && len(a.Refused) > 0 {
		refused(call.Partition.Queue, len(a.Refused))
	}
	for _, i := range a.Refused {
		if i >= 0 && i < len(call.Settle) {
			ss.config.Log.Warn("chime: an outcome came too late, the worker did not hold the job any more", "event", "job.late_result",
				"queue", call.Partition.Queue, "id", call.Settle[i].ID, "fence", call.Settle[i].Fence, "worker", ss.worker)
		}
	}
}

// answers delivers the answers to heartbeats; the processor passes each to extended.
func (ss *sessions) answers() <-chan []extension { return ss.heartbeat.answers() }

// drainHeartbeats handles the answers to heartbeats that have already arrived. It comes before checkSilences, so that a session does not count as
// silent while its extension is unread.
func (ss *sessions) drainHeartbeats(lanes *lanes) {
	for {
		select {
		case extensions := <-ss.heartbeat.answers():
			ss.extended(lanes, extensions, time.Now())
		default:
			return
		}
	}
}

// extended handles the answers to heartbeats.
func (ss *sessions) extended(lanes *lanes, extensions []extension, now time.Time) {
	for _, e := range extensions {
		l := lanes.of(e.session)
		if l == nil || e.session.isLost() {
			continue
		}
		switch {
		case e.answer.Err == nil:
			ss.outage.End(e.session, now)
			e.session.extended(e.sent, now, ss.config.SessionTTL)
			for _, id := range e.answer.Replaced {
				ss.flights.replace(id)
			}
			for _, job := range e.answer.Cancelled {
				ss.flights.cancel(job, now)
			}
		case errors.Is(e.answer.Err, protocol.ErrSessionLost):
			ss.lose(l, e.session, now)
		default:
			ss.outage.Begin(e.session, "extend", e.answer.Err, now)
		}
	}
}

// lose ends a session that was reaped: other workers have its jobs now. The ctx of its handlers ends, and what they return is
// dropped.
func (ss *sessions) lose(l *lane, s *session, now time.Time) {
	if l.holder() == s {
		l.reportAll(&ss.config.Observe)
	}
	if held, first := s.lose(); first {
		ss.config.Log.Warn("chime: the store does not know a session any more: other workers have its jobs, or the store has lost them", "event", "session.lost",
			"queue", l.partition().Queue, "partition", l.partition().Index, "session", s.name(), "worker", ss.worker, "count", held)
		if report := ss.config.Observe.SessionLost; report != nil {
			report(l.partition().Queue, held)
		}
	}
	ss.forget(s, now)
	ss.flights.endSession(s, true)
	l.loseSession(s)
}

// checkSilences ends the handlers' ctx of sessions that could not be extended for their TTL. It returns when to check again.
func (ss *sessions) checkSilences(lanes *lanes, now time.Time) (until time.Time) {
	for _, l := range lanes.every() {
		s := l.holder()
		if s == nil {
			continue
		}
		became, at := s.checkSilence(now, ss.config.SessionTTL)
		until = earlier(until, at)
		if became {
			ss.config.Log.Warn("chime: a session could not be extended, the ctx of its handlers is cancelled", "event", "session.expired",
				"queue", l.partition().Queue, "partition", l.partition().Index, "session", s.name(), "worker", ss.worker)
			ss.flights.endSession(s, false)
		}
	}
	return until
}

// close removes and returns a lane's session if it has held no job for a while, or with atOnce if it holds none; nil: it is not to be closed.
func (ss *sessions) close(l *lane, atOnce bool, now time.Time) *session {
	s := l.closeSession(ss.config.SessionTTL, atOnce, now)
	if s != nil {
		ss.forget(s, now)
	}
	return s
}

// forget ends the heartbeats of a session, and the outage of these heartbeats.
func (ss *sessions) forget(s *session, now time.Time) {
	ss.heartbeat.close(s)
	ss.outage.End(s, now)
}
