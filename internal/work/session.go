package work

import (
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A session is this worker's right to hold jobs of one partition. It lasts as long as the store receives its calls or heartbeats.
//
//	        call 1 takes a job             call n+1 is sent
//	(new) ─────────────────────► ready ─────────────────────► calling
//	  ▲                           │ ▲                           │
//	  │ call 1 takes nothing:     │ └───────────────────────────┘
//	  │ the store has no          │   answered; unanswered, it is sent again, unchanged
//	  │ session of this name      │
//	  └──                         ├─► closed   it has held nothing for a second, or the worker has drained
//	                              └─► lost     the store has reaped it (from calling too)
//
// What holds in every state:
//   - one numbered call is under way at a time, and its number is one above the last that was answered;
//   - an outcome is kept until a call that carries it was answered, or the session is lost;
//   - a session settles only jobs that it took itself;
//   - the name of a closed or lost session is never used again.
//
// silent is not a state of its own. A session that could not be extended for its TTL is silent, and the ctx of its handlers has
// ended, because the store may have given its jobs to another worker. The outcomes that the handlers still reach are sent. They
// count if the session was not reaped.
type session struct {
	id string // its name
	at protocol.Partition

	number     int64     // of the last call answered; 0: the session does not exist in the store
	measured   int64     // how often it has sent measures
	held       int       // jobs taken and not confirmed as settled
	aliveAt    time.Time // when the last call that extended it was sent
	emptySince time.Time // since when it holds no job; zero: it holds some
	silent     bool
	lost       bool // reaped: what its handlers return is dropped
}

func newSession(p protocol.Partition, ttl time.Duration) *session {
	return &session{id: protocol.NewSession(ttl), at: p}
}

func (s *session) name() string { return s.id }

func (s *session) partition() protocol.Partition { return s.at }

// exists reports whether the store knows the session.
func (s *session) exists() bool { return s.number > 0 }

func (s *session) isSilent() bool { return s.silent }

func (s *session) isLost() bool { return s.lost }

// nextNumber returns the number of the session's next call.
func (s *session) nextNumber() int64 { return s.number + 1 }

// nextMeasured returns the number of the session's next measures.
func (s *session) nextMeasured() int64 {
	s.measured++
	return s.measured
}

// answered notes the answer to the call with this number, which was sent at that instant. taken and settled are numbers of jobs. empty reports
// whether the session holds no job now.
func (s *session) answered(number int64, sent time.Time, taken, settled int, now time.Time) (empty bool) {
	s.number = number
	s.aliveAt = sent
	s.silent = false
	s.held += taken - settled
	s.emptySince = time.Time{}
	if s.held == 0 {
		s.emptySince = now
	}
	return s.held == 0
}

// extended notes an answered heartbeat.
func (s *session) extended(sent, now time.Time, ttl time.Duration) {
	if sent.After(s.aliveAt) {
		s.aliveAt = sent
	}
	s.silent = s.silent && now.Sub(s.aliveAt) >= ttl
}

// checkSilence makes the session silent if it holds jobs and was not extended for its TTL. became reports that it has just become
// silent. Otherwise until is when to check again; zero: no check is needed.
func (s *session) checkSilence(now time.Time, ttl time.Duration) (became bool, until time.Time) {
	if !s.exists() || s.silent || s.held == 0 {
		return false, time.Time{}
	}
	if at := s.aliveAt.Add(ttl); at.After(now) {
		return false, at
	}
	s.silent = true
	return true, time.Time{}
}

// lose notes that the store has reaped the session. It returns how many jobs it held, and whether this is the first call.
func (s *session) lose() (held int, first bool) {
	first = !s.lost
	s.lost = true
	return s.held, first
}

// idleRest is how long a session that holds no job remains open. It is short, because a sleeping worker polls when a session lapses, and an empty
// session would cause a useless poll.
const idleRest = time.Second

// closeAt returns when a session that holds no job is to be closed; zero: it is not to be closed.
func (s *session) closeAt(ttl time.Duration) time.Time {
	if !s.exists() || s.emptySince.IsZero() {
		return time.Time{}
	}
	return s.emptySince.Add(min(idleRest, ttl/3))
}
