package tick

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
)

// An election is one candidate's part in choosing the leader. Leading only speeds things up. So a candidate that was stopped for a while and
// still believes that it leads does no harm.
type election struct {
	store  protocol.LeaderStore
	id     string
	ttl    time.Duration
	log    *slog.Logger
	report func(leading bool, term int64) // nil: there is no observer

	term    int64     // of the lease held; 0: no lease is held
	until   time.Time // when the lease held lapses
	mayLead bool      // the store may hold a lease of this candidate: the last answer gave one, or was lost
	epoch   string    // of the store, from the last answer
}

// leading reports whether this candidate certainly holds the lease: the last answer granted it, and it has not lapsed since.
func (e *election) leading() bool { return e.term > 0 && !retry.Reached(e.until, time.Now()) }

// run takes or keeps the lease and returns when to call again: a leader calls well before its lease ends, another candidate when the leader's
// lease ends.
func (e *election) run(ctx context.Context) (again time.Duration, err error) {
	began := time.Now()
	e.mayLead = true
	answer, err := e.store.Lead(ctx, e.id, e.ttl)
	if err != nil {
		if e.term > 0 && !e.leading() {
			e.log.Warn("chime: this scheduler is no longer the leader: its lease has lapsed while the store did not answer", "event", "leader.lost", "term", e.term)
			e.reportLeading(false)
			e.term = 0
		}
		return 0, err
	}
	if answer.Epoch != "" {
		e.epoch = answer.Epoch
	}
	e.mayLead = answer.Leading
	if !answer.Leading {
		if e.term > 0 {
			e.log.Info("chime: this scheduler is no longer the leader", "event", "leader.lost", "leader", answer.Leader, "term", answer.Term)
			e.reportLeading(false)
		}
		e.term = 0
		return answer.Left + rand.N(e.ttl/20+1), nil
	}
	elected := e.term != answer.Term
	if elected {
		e.log.Info("chime: this scheduler is the leader", "event", "leader.elected", "leader", e.id, "term", answer.Term)
	}
	e.term, e.until = answer.Term, began.Add(e.ttl)
	if elected {
		e.reportLeading(true)
	}
	return e.ttl * 3 / 4, nil
}

// reportLeading reports to observers whether this candidate leads.
func (e *election) reportLeading(leading bool) {
	if e.report != nil {
		e.report(leading, e.term)
	}
}

// resign returns the lease, also one that may have been granted in an answer that was lost.
func (e *election) resign(ctx context.Context) error {
	if !e.mayLead {
		return nil
	}
	if e.term > 0 {
		e.reportLeading(false)
	}
	e.term, e.mayLead = 0, false
	return e.store.Resign(ctx, e.id)
}
