package chime

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

// An election is one candidate's part in choosing the leader. Leading is a matter of speed only, so a candidate that was
// stopped for a while and still thinks it leads does no harm.
type election struct {
	store LeaderStore
	id    string
	ttl   time.Duration
	log   *slog.Logger

	term  int64     // of the lease held; 0: none
	until time.Time // when the lease held lapses
	next  time.Time // when to ask again
}

// leading looks at the wall clock too: the monotonic one stands still while a machine sleeps.
func (e *election) leading() bool {
	now := time.Now()
	return e.term > 0 && now.Before(e.until) && now.Round(0).Before(e.until.Round(0))
}

// run takes or keeps the lease if it is time to.
func (e *election) run(ctx context.Context) error {
	if time.Now().Before(e.next) {
		return nil
	}
	asked := time.Now()
	answer, err := e.store.Lead(ctx, e.id, e.ttl)
	if err != nil {
		e.next = time.Now().Add(troubleDelay(3))
		return err
	}
	if !answer.Leading {
		if e.term > 0 {
			e.log.Info("chime: no longer the leader", "term", e.term, "leader", answer.Leader)
		}
		e.term = 0
		e.next = time.Now().Add(answer.Left + rand.N(e.ttl/20+1))
		return nil
	}
	if e.term != answer.Term {
		e.log.Info("chime: leading", "term", answer.Term)
	}
	e.term, e.until = answer.Term, asked.Add(e.ttl)
	e.next = asked.Add(e.ttl / 2)
	return nil
}

func (e *election) abdicate(ctx context.Context) error {
	if e.term == 0 {
		return nil
	}
	e.term = 0
	return e.store.Abdicate(ctx, e.id)
}
