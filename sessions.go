package chime

import (
	"errors"
	"time"
)

// lose ends a session that was reaped: its jobs are somebody else's now. Their handlers are told, and what they return is dropped.
func (t *taker) lose(s *session, now time.Time) {
	l := s.lane
	if !s.lost {
		t.log.Warn("chime: a session was lost, its jobs run again elsewhere", "queue", l.partition.Queue, "partition", l.partition.Index, "session", s.name, "jobs", s.held)
	}
	s.lost = true
	t.heartbeat.close(s)
	t.slots.drop(func(f *flight) bool { return f.session != s })
	t.end(s, now)
	if l.session != s {
		return
	}
	if l.sent != nil {
		if t.calling {
			return // the answer under way may still say what it placed; then the rest follows
		}
		l.places = append(l.places, l.sent.Place...)
		l.sent = nil
	}
	l.session = nil
	l.pending, l.begun = nil, nil
	l.asleep = false
	l.retryAt, l.failures = time.Time{}, 0
}

// end tells a session's handlers that it is lost, or may be.
func (t *taker) end(s *session, now time.Time) {
	t.slots.each(func(f *flight) {
		if f.session == s {
			f.ctx.end(ErrSessionLost)
		}
	})
}

// beats takes in heartbeats.
func (t *taker) beats(beats []beat, now time.Time) {
	for _, b := range beats {
		s := b.session
		if s.lane.session != s || s.lost {
			continue
		}
		switch {
		case b.answer.Err == nil:
			t.trouble.end("extend", now)
			if b.sent.After(s.alive) {
				s.alive = b.sent
			}
			s.silent = s.silent && now.Sub(s.alive) >= t.ttl
			for _, id := range b.answer.Replaced {
				t.replace(id)
			}
		case errors.Is(b.answer.Err, ErrSessionLost):
			t.lose(s, now)
		default:
			t.trouble.begin("extend", "extend", b.answer.Err, now)
		}
	}
}

// replace tells an occurrence's handler that its successor is due and asks it to end.
func (t *taker) replace(id string) {
	t.slots.each(func(f *flight) {
		if f.id == id {
			f.ctx.end(ErrReplaced)
		}
	})
}

// silences ends the handlers' ctx of sessions that could not be kept alive for their TTL: somebody else may have their jobs.
// What they return is kept and sent, and counts if nobody has. It returns when to check again.
func (t *taker) silences(now time.Time) (until time.Time) {
	for _, l := range t.lanes {
		s := l.session
		if s == nil || s.number == 0 || s.silent || s.held == 0 {
			continue
		}
		if at := s.alive.Add(t.ttl); at.After(now) {
			until = earlier(until, at)
			continue
		}
		s.silent = true
		t.log.Warn("chime: a session could not be kept alive, its handlers are told to end", "queue", l.partition.Queue, "partition", l.partition.Index, "session", s.name)
		t.end(s, now)
	}
	return until
}

// closeEmpty closes the sessions that have held nothing for a while, or, once drained, all. Soon, for whoever sleeps beside it looks
// when the first session lapses, in vain.
func (t *taker) closeEmpty(now time.Time) bool {
	var r request
	for _, l := range t.lanes {
		s := l.session
		if s == nil || l.sent != nil || s.emptySince.IsZero() || s.number == 0 {
			continue
		}
		if now.Before(s.emptySince.Add(min(sessionRest, t.ttl/3))) && !t.drain.idle {
			continue
		}
		t.heartbeat.close(s)
		l.session = nil
		r.close = append(r.close, s)
	}
	if len(r.close) == 0 {
		return false
	}
	t.requests <- r
	return true
}
