package work

import (
	"errors"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
)

// sessions looks after the sessions of all lanes: what an answer or a heartbeat means for one, and when one is silent, lost or
// closed. It belongs to the processor's goroutine.
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

// moveOn moves a lane's session on to its next call.
func (ss *sessions) moveOn(l *lane, call *protocol.WorkCall, a *protocol.WorkAnswer, now time.Time) {
	s := l.holder()
	if !s.exists() {
		ss.heartbeat.open(s)
	}
	if empty := s.answered(call.Number, l.calledAt(), len(a.Taken), len(call.Settle), now); empty {
		ss.heartbeat.rest(s, true)
	}
	for _, i := range a.Refused {
		if i >= 0 && i < len(call.Settle) {
			ss.config.Log.Warn("chime: an outcome came too late, the job was not ours any more", "event", "job.late_result",
				"queue", call.Partition.Queue, "id", call.Settle[i].ID, "worker", ss.worker)
		}
	}
}

// answers delivers heartbeats; each is to be passed to beats.
func (ss *sessions) answers() <-chan []beat { return ss.heartbeat.answers() }

// readBeats takes in heartbeats that have already arrived, before anything is concluded from silence.
func (ss *sessions) readBeats(lanes *lanes, busy bool) {
	for {
		select {
		case beats := <-ss.heartbeat.answers():
			ss.beats(lanes, beats, busy, time.Now())
		default:
			return
		}
	}
}

// beats takes in heartbeats. busy says that a call is under way.
func (ss *sessions) beats(lanes *lanes, beats []beat, busy bool, now time.Time) {
	for _, b := range beats {
		l := lanes.of(b.session)
		if l == nil || b.session.isLost() {
			continue
		}
		switch {
		case b.answer.Err == nil:
			ss.outage.End("extend", now)
			b.session.extended(b.sent, now, ss.config.SessionTTL)
			for _, id := range b.answer.Replaced {
				ss.flights.replace(id)
			}
		case errors.Is(b.answer.Err, protocol.ErrSessionLost):
			ss.lose(l, b.session, busy, now)
		default:
			ss.outage.Begin("extend", "extend", b.answer.Err, now)
		}
	}
}

// lose ends a session that was reaped: other workers have its jobs now. Their handlers are told to end, and what they return is
// dropped.
func (ss *sessions) lose(l *lane, s *session, busy bool, now time.Time) {
	if held, news := s.lose(); news {
		ss.config.Log.Warn("chime: a session was lost, its jobs run again elsewhere", "event", "session.lost",
			"queue", l.partition().Queue, "partition", l.partition().Index, "session", s.name(), "worker", ss.worker, "count", held)
	}
	ss.heartbeat.close(s)
	ss.flights.endSession(s, true)
	l.loseSession(s, busy)
}

// checkSilences ends the handlers' ctx of sessions that could not be extended for their TTL. It returns when to check again.
func (ss *sessions) checkSilences(lanes *lanes, now time.Time) (until time.Time) {
	for _, l := range lanes.every() {
		s := l.holder()
		if s == nil {
			continue
		}
		fell, at := s.checkSilence(now, ss.config.SessionTTL)
		until = earlier(until, at)
		if fell {
			ss.config.Log.Warn("chime: a session could not be extended, its handlers are told to end", "event", "session.expired",
				"queue", l.partition().Queue, "partition", l.partition().Index, "session", s.name(), "worker", ss.worker)
			ss.flights.endSession(s, false)
		}
	}
	return until
}

// close returns the sessions that have held nothing for a while, or atOnce every one, and forgets them.
func (ss *sessions) close(lanes *lanes, atOnce bool, now time.Time) (closed []*session) {
	for _, l := range lanes.every() {
		if s := l.closeSession(ss.config.SessionTTL, atOnce, now); s != nil {
			ss.heartbeat.close(s)
			closed = append(closed, s)
		}
	}
	return closed
}
