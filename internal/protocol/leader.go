package protocol

import (
	"context"
	"time"
)

// LeaderStore elects at most one leader a namespace. The leader only speeds things up: two at once lose nothing.
type LeaderStore interface {
	// Lead takes the lease or keeps it. Sent again it answers with the same leader and the same term.
	Lead(ctx context.Context, candidate string, ttl time.Duration) (Leadership, error)

	// Lease returns a text that changes whenever the leader's lease is renewed; empty: there is none. It writes nothing.
	Lease(ctx context.Context) (string, error)

	// Leader returns who leads by the store's clock, and its term. Where nobody does, Leader is empty and Term that of the last one; 0: there
	// was none. It writes nothing, and says neither Leading nor Epoch.
	Leader(ctx context.Context) (Leadership, error)

	// Resign hands the lease back at once and notifies the other candidates.
	Resign(ctx context.Context, candidate string) error
}

// Leadership says who leads.
type Leadership struct {
	Leading bool   // the candidate that asked leads
	Leader  string // the candidate that leads
	Term    int64  // grows with every change of the leader
	Left    time.Duration
	// Epoch identifies everything that the store holds. It changes when the store has lost that, for example because the server was
	// restarted empty. Empty: not known yet.
	Epoch string
}
