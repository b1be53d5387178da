package redisstore

import (
	"context"
	"strings"

	"github.com/chimejobs/chime/internal/protocol"
)

var freeOpensScript = load("free_opens")

const maxFreed = 200 // schedules in a call

// freeOpens lets go of the schedules of a partition that are held by an occurrence which is nowhere.
func (s *store) freeOpens(ctx context.Context, partition protocol.Partition) error {
	k := s.keys.partition(partition)
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		pairs, next, err := s.client.HScan(ctx, k.open, cursor, "", maxFreed).Result()
		if err != nil {
			return failure("look for schedules that nothing holds in", partition.Queue, err)
		}
		cursor = next
		for len(pairs) > 0 {
			some := pairs[:min(len(pairs), 2*maxFreed)]
			pairs = pairs[len(some):]
			keys := []string{k.open, k.behind, k.ready, k.owed, k.schedules, k.cursors}
			positions := map[string]int{}
			args := make([]any, 0, 3*len(some)/2)
			for i := 0; i+1 < len(some); i += 2 {
				position := 0
				if session := sessionOf(some[i+1]); session != "" {
					if positions[session] == 0 {
						keys = append(keys, k.inflight(session))
						positions[session] = len(positions) + 1
					}
					position = positions[session]
				}
				args = append(args, some[i], some[i+1], position)
			}
			if err := s.run(ctx, s.client, newCall(&freeOpensScript, keys, args))[0].Err(); err != nil {
				return failure("let go of schedules that nothing holds in", partition.Queue, err)
			}
		}
	}
	return nil
}

// sessionOf returns the session in an entry of open; empty: it has none.
func sessionOf(entry string) string {
	if parts := strings.Split(entry, "\t"); len(parts) == 6 {
		return parts[3]
	}
	return ""
}
