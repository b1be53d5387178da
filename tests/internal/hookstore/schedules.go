package hookstore

import (
	"context"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// Declare calls Fault with "declare" and the queue of each declaration. It fails the test if a call has too many declarations.
func (s *Store) Declare(ctx context.Context, declarations []protocol.Declaration) []protocol.DeclareAnswer {
	if len(declarations) > protocol.MaxDeclared {
		s.t.Errorf("%d declarations in one call, want at most %d", len(declarations), protocol.MaxDeclared)
	}
	return batch(s, "declare", declarations,
		func(d *protocol.Declaration) protocol.Partition { return protocol.Partition{Queue: d.Queue} },
		func(err error) protocol.DeclareAnswer { return protocol.DeclareAnswer{Err: err} },
		func(sent []protocol.Declaration) []protocol.DeclareAnswer { return s.Store.Declare(ctx, sent) })
}

// Place calls Fault with "place".
func (s *Store) Place(ctx context.Context, placements []protocol.Placement) []protocol.PlaceAnswer {
	return batch(s, "place", placements,
		func(p *protocol.Placement) protocol.Partition { return p.Partition },
		func(err error) protocol.PlaceAnswer { return protocol.PlaceAnswer{Err: err} },
		func(sent []protocol.Placement) []protocol.PlaceAnswer { return s.Store.Place(ctx, sent) })
}

// Owed calls Fault with "owed", with each partition.
func (s *Store) Owed(ctx context.Context, partitions []protocol.Partition) ([]protocol.Owed, error) {
	return one(s, "owed", func() ([]protocol.Owed, error) { return s.Store.Owed(ctx, partitions) }, partitions...)
}

// Postpone calls Fault with "postpone".
func (s *Store) Postpone(ctx context.Context, owed protocol.Owed) error {
	return only(s, "postpone", func() error { return s.Store.Postpone(ctx, owed) }, owed.Partition)
}

// RepairOrphans calls Fault with "repair orphans".
func (s *Store) RepairOrphans(ctx context.Context, cursor string) (next string, repaired []protocol.Orphan, err error) {
	repaired, err = one(s, "repair orphans", func() (repaired []protocol.Orphan, err error) {
		next, repaired, err = s.Store.RepairOrphans(ctx, cursor)
		return repaired, err
	})
	return next, repaired, err
}

// ZonedIn calls Fault with "zoned".
func (s *Store) ZonedIn(ctx context.Context, p protocol.Partition, cursor string) (entries []protocol.ZonedEntry, next string, err error) {
	entries, err = one(s, "zoned", func() (entries []protocol.ZonedEntry, err error) {
		entries, next, err = s.Store.ZonedIn(ctx, p, cursor)
		return entries, err
	}, p)
	return entries, next, err
}

// Replan calls Fault with "replan".
func (s *Store) Replan(ctx context.Context, replans []protocol.Replan) ([]*protocol.Owed, error) {
	return one(s, "replan", func() ([]*protocol.Owed, error) { return s.Store.Replan(ctx, replans) })
}

// Find calls Fault with "find".
func (s *Store) Find(ctx context.Context, names []string) ([]protocol.Stored, error) {
	return one(s, "find", func() ([]protocol.Stored, error) { return s.Store.Find(ctx, names) })
}

// Standings calls Fault with "standings", with the partition of each address.
func (s *Store) Standings(ctx context.Context, asked []protocol.Address) ([]protocol.Standing, error) {
	partitions := make([]protocol.Partition, len(asked))
	for i := range asked {
		partitions[i] = asked[i].Partition
	}
	return one(s, "standings", func() ([]protocol.Standing, error) { return s.Store.Standings(ctx, asked) }, partitions...)
}

// Names calls Fault with "names".
func (s *Store) Names(ctx context.Context, of protocol.NameRange) (names []string, last string, err error) {
	names, err = one(s, "names", func() (names []string, err error) {
		names, last, err = s.Store.Names(ctx, of)
		return names, err
	})
	return names, last, err
}

// Runs calls Fault with "runs".
func (s *Store) Runs(ctx context.Context, names []string) ([]protocol.ScheduleRuns, error) {
	return one(s, "runs", func() ([]protocol.ScheduleRuns, error) { return s.Store.Runs(ctx, names) })
}

// Soonest calls Fault with "soonest".
func (s *Store) Soonest(ctx context.Context, n int, queues []protocol.QueueSize) ([]protocol.Coming, error) {
	return one(s, "soonest", func() ([]protocol.Coming, error) { return s.Store.Soonest(ctx, n, queues) })
}

// Remove calls Fault with "remove".
func (s *Store) Remove(ctx context.Context, removal protocol.Removal) (bool, error) {
	return one(s, "remove", func() (bool, error) { return s.Store.Remove(ctx, removal) })
}

// PauseSchedule calls Fault with "pause".
func (s *Store) PauseSchedule(ctx context.Context, pausing protocol.Pausing) (protocol.PauseAnswer, error) {
	return one(s, "pause", func() (protocol.PauseAnswer, error) { return s.Store.PauseSchedule(ctx, pausing) })
}

// Backfill calls Fault with "backfill".
func (s *Store) Backfill(ctx context.Context, backfilling protocol.Backfilling) (protocol.BackfillAnswer, error) {
	return one(s, "backfill", func() (protocol.BackfillAnswer, error) { return s.Store.Backfill(ctx, backfilling) })
}

// Prune calls Fault with "prune".
func (s *Store) Prune(ctx context.Context, owner protocol.Owner, cursor string) (next string, pruned []string, err error) {
	pruned, err = one(s, "prune", func() (pruned []string, err error) {
		next, pruned, err = s.Store.Prune(ctx, owner, cursor)
		return pruned, err
	})
	return next, pruned, err
}

// Lead calls Fault with "lead".
func (s *Store) Lead(ctx context.Context, candidate string, ttl time.Duration) (protocol.Leadership, error) {
	return one(s, "lead", func() (protocol.Leadership, error) { return s.Store.Lead(ctx, candidate, ttl) })
}

// Lease calls Fault with "lease".
func (s *Store) Lease(ctx context.Context) (string, error) {
	return one(s, "lease", func() (string, error) { return s.Store.Lease(ctx) })
}

// Resign calls Fault with "resign".
func (s *Store) Resign(ctx context.Context, candidate string) error {
	return only(s, "resign", func() error { return s.Store.Resign(ctx, candidate) })
}
