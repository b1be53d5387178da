package protocol

import (
	"context"
	"time"
)

// LeaderStore elects at most one leader in a namespace. A leader only makes work faster: two leaders at once lose nothing.
type LeaderStore interface {
	// Lead acquires or renews the lease. A repeated call returns the same leader and the same term.
	Lead(ctx context.Context, candidate string, ttl time.Duration) (Leadership, error)

	// Lease returns a text that changes whenever the leader's lease is renewed; empty: there is no leader. It writes nothing.
	Lease(ctx context.Context) (string, error)

	// Leader returns the current leader by the store's clock, and its term. Without a leader, Leader is empty and Term is that of the last one; 0:
	// there was none. It writes nothing, and does not set Leading and Epoch.
	Leader(ctx context.Context) (Leadership, error)

	// Resign releases the lease at once and notifies the other candidates.
	Resign(ctx context.Context, candidate string) error
}

// Leadership describes the leader.
type Leadership struct {
	Leading bool   // the candidate that called leads
	Leader  string // the candidate that leads
	Term    int64  // grows with every change of the leader
	Left    time.Duration
	// Epoch identifies the data in the store. It changes when the store has lost them, for example because the server was
	// restarted empty. Empty: not known yet.
	Epoch string
}
