package chime

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// An election is one candidate's part in choosing the leader. Leading is a matter of speed only, so a candidate that was
// stopped for a while and still thinks it leads does no harm.
type election struct {
	store protocol.LeaderStore
	id    string
	ttl   time.Duration
	log   *slog.Logger

	term  int64     // of the lease held; 0: none
	until time.Time // when the lease held lapses
	asked bool      // the store may hold a lease of ours: the last answer said so, or was lost
	epoch string    // of the store, as the last answer said
}

// leading tells whether the lease is held for certain: no answer came since, but its end has not come either.
func (e *election) leading() bool { return e.term > 0 && !reached(e.until, time.Now()) }

// run takes or keeps the lease and returns when to ask again: a leader well before its lease ends, a candidate when the
// other's does.
func (e *election) run(ctx context.Context) (again time.Duration, err error) {
	began := time.Now()
	e.asked = true
	answer, err := e.store.Lead(ctx, e.id, e.ttl)
	if err != nil {
		return 0, err
	}
	if answer.Epoch != "" {
		e.epoch = answer.Epoch
	}
	e.asked = answer.Leading
	if !answer.Leading {
		if e.term > 0 {
			e.log.Info("chime: no longer the leader", "term", e.term, "leader", answer.Leader, "its_term", answer.Term)
		}
		e.term = 0
		return answer.Left + rand.N(e.ttl/20+1), nil
	}
	if e.term != answer.Term {
		e.log.Info("chime: leading", "term", answer.Term)
	}
	e.term, e.until = answer.Term, began.Add(e.ttl)
	return e.ttl * 3 / 4, nil
}

// abdicate hands the lease back, also one that may have been given in an answer that was lost.
func (e *election) abdicate(ctx context.Context) error {
	if !e.asked {
		return nil
	}
	e.term, e.asked = 0, false
	return e.store.Resign(ctx, e.id)
}

// reached tells whether an instant has come, by the monotonic clock or by the wall's: while a machine sleeps the first stands
// still, and the second may be set back.
func reached(at, now time.Time) bool {
	return !now.Before(at) || !now.Round(0).Before(at.Round(0))
}
