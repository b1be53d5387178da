package chimetest

import (
	"context"
	"strconv"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A lease is the leader's lease. It lasts for longestRest longer than the leader has requested, because the leader may renew it that late.
// It never lapses while the leader runs, and a scheduler that stops returns it.
type lease struct {
	protocol.Leadership
	until time.Time
}

// Lead is answered from memory as long as the leader renews its lease in time: only these four calls read it.
func (q *quiet) Lead(ctx context.Context, candidate string, ttl time.Duration) (protocol.Leadership, error) {
	q.mu.Lock()
	if q.leads.left() > 0 {
		defer q.mu.Unlock()
		leads := q.leads.Leadership
		if leads.Leading = leads.Leader == candidate; leads.Leading {
			q.leads.until = time.Now().Add(ttl + longestRest)
			q.renewals++
		}
		leads.Left = q.leads.left()
		return leads, nil
	}
	q.mu.Unlock()
	leads, err := q.Store.Lead(upkeep(ctx), candidate, ttl)
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.memory, "lease")
	q.renewals++
	if q.leads = nil; err == nil {
		q.leads = &lease{leads, time.Now().Add(leads.Left + longestRest)}
	}
	return leads, err
}

// Leader is answered from memory too.
func (q *quiet) Leader(ctx context.Context) (protocol.Leadership, error) {
	q.mu.Lock()
	if left := q.leads.left(); left > 0 {
		defer q.mu.Unlock()
		return protocol.Leadership{Leader: q.leads.Leader, Term: q.leads.Term, Left: left}, nil
	}
	q.mu.Unlock()
	return q.Store.Leader(ctx)
}

// left returns how long the lease lasts; 0 for a nil lease.
func (l *lease) left() time.Duration {
	if l == nil {
		return 0
	}
	return time.Until(l.until)
}

// Resign forgets who leads.
func (q *quiet) Resign(ctx context.Context, candidate string) error {
	q.mu.Lock()
	q.leads = nil
	delete(q.memory, "lease")
	q.mu.Unlock()
	return q.Store.Resign(ctx, candidate)
}

// Lease returns a text that changes when the lease is renewed.
func (q *quiet) Lease(ctx context.Context) (text string, err error) {
	q.mu.Lock()
	led, renewals := q.leads.left() > 0, q.renewals
	q.mu.Unlock()
	if led {
		return "renewed " + strconv.FormatInt(renewals, 10), nil
	}
	if _, ok := q.recall("lease", func(any) bool { return true }); ok {
		return "", nil
	}
	q.fetch(ctx, "lease", nil, func(ctx context.Context) (any, bool) {
		text, err = q.Store.Lease(ctx)
		return nil, err == nil && text == ""
	})
	return text, err
}
