package chime

import (
	"context"
	"fmt"

	"github.com/chimejobs/chime/internal/protocol"
)

// A Leader is the scheduler that leads: of all that run on a store, the one that looks after what nobody else does in time.
type Leader struct {
	Name string `json:"name"`           // random: each start of a scheduler has its own; empty: nobody leads now
	Host string `json:"host,omitempty"` // of its process; empty: unknown
	PID  int    `json:"pid,omitempty"`  // of its process; 0: unknown
	Term int64  `json:"term"`           // how often the store has had a new leader; 0: none has led yet
}

// Leader returns the scheduler that leads, by the store's clock. Where nobody does, workers that live still place what is due, only later.
// After a crash of the leader it names that one until another takes its place, which is within seconds.
func (s *Schedules) Leader(ctx context.Context) (Leader, error) {
	err := s.usable(ctx)
	var leads protocol.Leadership
	if err == nil {
		leads, err = s.store.Leader(ctx)
	}
	if err != nil {
		return Leader{}, fmt.Errorf("chime: who leads: %w", err)
	}
	l := Leader{Name: leads.Leader, Term: leads.Term}
	l.Host, l.PID = protocol.SplitCandidate(l.Name)
	return l, nil
}
