package redisstore

import (
	"context"
	"slices"
	"strings"

	"github.com/chimejobs/chime/internal/protocol"
)

// maxLookedUp is about how many members a call looks up in the hashes of sessions and in lists of parked jobs: it takes 5 ms.
const maxLookedUp = 10_000

// whereabouts are the sessions and lists of parked jobs of a partition, in which a call looks for jobs.
type whereabouts struct {
	sessions, lists []string
	shared          map[string]string // ID → its member in the shared list of parked jobs
	mark            string            // of what is parked, before the shared list was searched; empty: there is no such list
}

// look reads them. The shared list is searched for the jobs with these IDs, for its members have names too.
func (w *whereabouts) look(ctx context.Context, s *store, partition protocol.Partition, ids []string) error {
	k := s.keys.partition(partition)
	pipe := s.client.Pipeline()
	sessions, lists, mark := pipe.ZRange(ctx, k.sessions, 0, -1), pipe.ZRange(ctx, k.unhandled, 0, -1), pipe.HMGet(ctx, k.state, "parked")
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	*w = whereabouts{sessions: sessions.Val(), lists: lists.Val()}
	if !slices.Contains(w.lists, sharedParked) {
		return nil
	}
	w.shared, w.mark = make(map[string]string), reply(mark.Val()).text(0)
	wanted := make(map[string]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		members, next, err := s.client.ZScan(ctx, k.parked(sharedParked), cursor, "", 1000).Result()
		if err != nil {
			return err
		}
		cursor = next
		for i := 0; i < len(members); i += 2 {
			if _, id, ok := strings.Cut(members[i], "\t"); ok && wanted[id] {
				w.shared[id] = members[i]
			}
		}
	}
	return nil
}

// idsAt returns the IDs at these positions.
func idsAt(ids []string, positions []int) []string {
	some := make([]string, len(positions))
	for i, at := range positions {
		some[i] = ids[at]
	}
	return some
}
