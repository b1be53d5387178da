package work

import (
	"crypto/rand"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A session is this worker's right to hold jobs of one partition, for as long as the store hears of it.
//
//	        call 1 takes a job             call n+1 is sent
//	(new) ─────────────────────► idle ──────────────────────► calling
//	  ▲                           │ ▲                           │
//	  │ call 1 takes nothing:     │ └───────────────────────────┘
//	  │ the store knows no        │   answered; unanswered, it is sent again, unchanged
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
// silent is no state of its own: a session that could not be extended for its TTL has told its handlers to end, for the store may
// have given its jobs to another worker; the outcomes that they reach are sent, and count if it has not.
type session struct {
	id string // its name
	at protocol.Partition

	number     int64     // of the last call answered; 0: the session does not exist in the store
	held       int       // jobs taken and not known to be settled
	aliveAt    time.Time // when the last call that extended it was sent
	emptySince time.Time // of jobs; zero: it holds some
	silent     bool
	lost       bool // reaped: what its handlers return is dropped
}

func newSession(p protocol.Partition) *session { return &session{id: rand.Text(), at: p} }

func (s *session) name() string { return s.id }

func (s *session) partition() protocol.Partition { return s.at }

// exists reports whether the store knows the session.
func (s *session) exists() bool { return s.number > 0 }

func (s *session) isSilent() bool { return s.silent }

func (s *session) isLost() bool { return s.lost }

// nextNumber is the number of the session's next call.
func (s *session) nextNumber() int64 { return s.number + 1 }

// answered notes that a call of this number, sent then, was answered, and how many jobs it has taken and settled. It returns
// whether the session holds none now.
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

// checkSilence makes a session silent that holds jobs and was not extended for its TTL. fell reports that it has just become so;
// else until is when to check again, zero: no need to.
func (s *session) checkSilence(now time.Time, ttl time.Duration) (fell bool, until time.Time) {
	if !s.exists() || s.silent || s.held == 0 {
		return false, time.Time{}
	}
	if at := s.aliveAt.Add(ttl); at.After(now) {
		return false, at
	}
	s.silent = true
	return true, time.Time{}
}

// lose notes that the store has reaped the session. It returns how many jobs it held, and whether that is news.
func (s *session) lose() (held int, news bool) {
	news = !s.lost
	s.lost = true
	return s.held, news
}

// idleRest is how long a session that holds nothing stays open: not for long, for a worker that sleeps beside it polls in vain
// when the first session lapses.
const idleRest = time.Second

// closeAt is when a session that holds nothing is to be closed; zero: it is not.
func (s *session) closeAt(ttl time.Duration) time.Time {
	if !s.exists() || s.emptySince.IsZero() {
		return time.Time{}
	}
	return s.emptySince.Add(min(idleRest, ttl/3))
}
