package redisstore

import (
	"context"
	"errors"
	"regexp"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var repairOrphansScript = scripts.Load("repair/repair_orphans")

const maxOrphans = 500 // schedules that one call of RepairOrphans checks

// RepairOrphans checks the schedules of some registry entries after the entry cursor, where they live, and repairs those that
// cannot continue. It returns the last entry; "" means the end. A failing partition is named in the error and does not hide the others.
func (s *store) RepairOrphans(ctx context.Context, cursor string) (next string, repaired []protocol.Orphan, err error) {
	if s.bad != nil {
		return "", nil, s.bad
	}
	from := "-"
	if cursor != "" {
		from = "(" + cursor
	}
	members, err := s.client.ZRangeByLex(ctx, s.keys.registry(), &redis.ZRangeBy{Min: from, Max: "+", Count: maxOrphans}).Result()
	if err != nil {
		return "", nil, failure("list schedules in", s.keys.registry(), err)
	}
	names, homes, queues := make([]string, len(members)), make([]home, len(members)), make([]string, len(members))
	for i, member := range members {
		names[i], homes[i], _ = parseMember(member) // Names logs an entry that cannot be read
		queues[i] = homes[i].queue
	}
	if len(members) == maxOrphans {
		next = members[maxOrphans-1]
	}
	sizes, err := s.sizesOf(ctx, queues)
	if err != nil {
		return next, nil, err
	}
	byPartition := map[protocol.Partition][]any{}
	for i, name := range names {
		size := sizes[homes[i].queue]
		if homes[i].queue == "" || size.err != nil {
			continue
		}
		p := protocol.Partition{Queue: homes[i].queue, Index: protocol.PartitionOf(name, size.partitions)}
		byPartition[p] = append(byPartition[p], name)
	}
	var failed []error
	for len(byPartition) > 0 {
		var partitions []protocol.Partition
		var calls []call
		for p, names := range byPartition {
			k := s.keys.partition(p)
			partitions = append(partitions, p)
			calls = append(calls, newCall(&repairOrphansScript, []string{k.owed, k.open, k.schedules, k.cursors, k.due, k.counters, k.state, k.line, k.places, k.purgedline}, names))
		}
		byPartition = map[protocol.Partition][]any{}
		for i, cmd := range s.run(ctx, s.client, calls...) {
			values, err := list("repair schedules of", partitions[i].Queue, cmd)
			if err != nil {
				failed = append(failed, err)
			}
			if left := values.list(0); len(left) > 0 { // the others have long definitions
				byPartition[partitions[i]] = left
			}
			for j := 1; j+1 < len(values); j += 2 {
				repaired = append(repaired, protocol.Orphan{Name: values.text(j), Queue: partitions[i].Queue, Reason: reasons[values.text(j+1)]})
			}
		}
	}
	return next, repaired, errors.Join(failed...)
}

// reasons describe the answers of the script.
var reasons = map[string]string{
	"held":   "it waited for the end of a run that does not exist",
	"due":    "its next occurrence was lost",
	"owed":   "its next occurrence was not listed to be placed",
	"cursor": "its cursor was lost, or could not be read",
}

var freeOpensScript = scripts.Load("repair/free_opens")

const maxFreed = 200 // schedules in a call

// freeOpens releases the schedules of a partition that are held by an occurrence which exists nowhere else.
func (s *store) freeOpens(ctx context.Context, partition protocol.Partition) error {
	k := s.keys.partition(partition)
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		pairs, next, err := s.client.HScan(ctx, k.open, cursor, "", maxFreed).Result()
		if err != nil {
			return failure("find schedules that no run holds in", partition.Queue, err)
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

// freeSome is freeOpens for some schedules, which are given by their names and entries in open.
func (s *store) freeSome(ctx context.Context, partition protocol.Partition, pairs []string) error {
	k := s.keys.partition(partition)
	sessions, args := openArguments(pairs)
	keys := []string{k.open, k.behind, k.ready, k.owed, k.schedules, k.cursors, k.state, k.line, k.places, k.due}
	for _, session := range sessions {
		keys = append(keys, k.inflight(session))
	}
	if err := s.run(ctx, s.client, newCall(&freeOpensScript, keys, args))[0].Err(); err != nil {
		return failure("release schedules that no run holds in", partition.Queue, err)
	}
	return nil
}

// openArguments returns the sessions in entries of open, and three arguments for each entry: name, entry, and the number of its session, 0: none.
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

// sessionOf returns the session in an entry of open; empty: it has no session.
func sessionOf(entry string) string {
	if parts := openText.FindStringSubmatch(entry); parts != nil {
		return parts[1]
	}
	return ""
}

// openText matches an entry of open, in the format that scripts/lib/open.lua reads.
var openText = regexp.MustCompile(`^[^\t]+\t[^\t]+\t[^\t]*\t([^\t]*)\t[A-Za-z]\t[^\t]*$`)
