package redisstore

import (
	"context"
	"regexp"
	"slices"

	"github.com/chimejobs/chime/internal/protocol"
)

var freeOpensScript = scripts.Load("repair/free_opens")

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
		for some := range slices.Chunk(pairs, 2*maxFreed) {
			if err := s.freeSome(ctx, partition, some); err != nil {
				return err
			}
		}
	}
	return nil
}

// freeSome lets go of those of some schedules, which are given by their names and entries in open.
func (s *store) freeSome(ctx context.Context, partition protocol.Partition, pairs []string) error {
	k := s.keys.partition(partition)
	sessions, args := openArguments(pairs)
	keys := []string{k.open, k.behind, k.ready, k.owed, k.schedules, k.cursors}
	for _, session := range sessions {
		keys = append(keys, k.inflight(session))
	}
	if err := s.run(ctx, s.client, newCall(&freeOpensScript, keys, args))[0].Err(); err != nil {
		return failure("let go of schedules that nothing holds in", partition.Queue, err)
	}
	return nil
}

// openArguments returns the sessions in entries of open, and three arguments for each entry: name, entry, and which session it has, 0: none.
func openArguments(pairs []string) (sessions []string, args []any) {
	positions := map[string]int{}
	for i := 0; i+1 < len(pairs); i += 2 {
		position := 0
		if session := sessionOf(pairs[i+1]); session != "" {
			if positions[session] == 0 {
				sessions = append(sessions, session)
				positions[session] = len(sessions)
			}
			position = positions[session]
		}
		args = append(args, pairs[i], pairs[i+1], position)
	}
	return sessions, args
}

// sessionOf returns the session in an entry of open; empty: it has none.
func sessionOf(entry string) string {
	if parts := openText.FindStringSubmatch(entry); parts != nil {
		return parts[1]
	}
	return ""
}

// openText is an entry of open as scripts/lib/open.lua reads it.
var openText = regexp.MustCompile(`^[^\t]+\t[^\t]+\t[^\t]*\t([^\t]*)\t[A-Za-z]\t[^\t]*$`)
