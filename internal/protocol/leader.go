package protocol

import (
	"context"
	"time"
)

// LeaderStore elects at most one leader a namespace. The leader only speeds things up: two at once lose nothing.
type LeaderStore interface {
	// Lead takes the lease or keeps it. Sent again it answers with the same leader and the same term.
	Lead(ctx context.Context, candidate string, ttl time.Duration) (Leadership, error)

	// Resign hands the lease back at once and tells the other candidates.
	Resign(ctx context.Context, candidate string) error
}

// Leadership says who leads.
type Leadership struct {
	Leading bool   // the candidate that asked does
	Leader  string // who does
	Term    int64  // grows with every change of the leader
	Left    time.Duration
	// Epoch stands for all that the store has ever held. Another one than before means that the store has lost it, as a server
	// that was restarted empty has. Empty: not known yet.
	Epoch string
}
