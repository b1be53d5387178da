package redisstore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	maxFind      = 200  // schedules read in one round trip
	maxRead      = 50   // read of a partition together: definitions may be long
	namesPerCall = 2000 // about how many names a call reads
)

// Find returns stored schedules by name, in the order of the names. A schedule that is not stored is zero, and one that cannot be read has an
// Err. It writes nothing.
func (s *store) Find(ctx context.Context, names []string) ([]protocol.Stored, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	found := make([]protocol.Stored, 0, len(names))
	for chunk := range slices.Chunk(names, maxFind) {
		homes, err := s.lookUpHomes(ctx, chunk...)
		if err != nil {
			return nil, err
		}
		stored, err := s.readSchedules(ctx, chunk, homes)
		if err == nil {
			err = s.followMarks(ctx, stored)
		}
		if err != nil {
			return nil, err
		}
		found = append(found, stored...)
	}
	return found, nil
}

// Names returns some names of schedules, in order, and the last one that it read, after which the next call continues; at the end that
// is "". The cost of a call depends on what it reads, not on the number of schedules.
func (s *store) Names(ctx context.Context, of protocol.NameRange) (names []string, last string, err error) {
	if s.bad != nil {
		return nil, "", s.bad
	}
	from, to, count := "["+of.Prefix, "+", int64(namesPerCall)
	if of.Prefix == "" {
		from = "-"
	} else {
		to = "(" + of.Prefix + "\xff" // which is in no UTF-8
	}
	if of.After != "" && of.After >= of.Prefix {
		from = "(" + of.After + "\n" // after the entry of that name, in which a tab follows the name
	}
	if of.Max > 0 && of.Queue == "" {
		count = int64(of.Max)
	}
	for {
		members, err := s.client.ZRangeByLex(ctx, s.keys.registry(), &redis.ZRangeBy{Min: from, Max: to, Count: count}).Result()
		if err != nil {
			return nil, "", failure("list schedules in", s.keys.registry(), err)
		}
		for _, member := range members {
			name, home, err := parseMember(member)
			if err != nil {
				s.unreadableSchedule(ctx, member, err)
			}
			if name == "" {
				continue
			}
			if last = name; of.Queue == "" || home.queue == of.Queue {
				names = append(names, name)
			}
			if len(names) == of.Max && of.Max > 0 {
				return names, last, nil
			}
		}
		if len(members) < int(count) {
			return names, "", nil
		}
		if last != "" {
			return names, last, nil
		}
		from = "(" + members[len(members)-1] // a whole page that cannot be read
	}
}

// readSchedules reads schedules where they live; a schedule that lives nowhere is zero.
func (s *store) readSchedules(ctx context.Context, names []string, homes []foundHome) ([]protocol.Stored, error) {
	queues := make([]string, len(homes))
	for i := range homes {
		queues[i] = homes[i].queue
	}
	sizes, err := s.sizesOf(ctx, queues)
	if err != nil {
		return nil, err
	}
	stored := make([]protocol.Stored, len(names))
	of := map[protocol.Partition]*reading{}
	var readings []*reading
	for i, name := range names {
		if homes[i].queue == "" && homes[i].err == nil {
			continue
		}
		size := sizes[homes[i].queue]
		if stored[i].Name, stored[i].Err = name, cmp.Or(homes[i].err, size.err); stored[i].Err != nil {
			continue
		}
		partition := protocol.Partition{Queue: homes[i].queue, Index: protocol.PartitionOf(name, size.partitions)}
		stored[i].Partition = partition
		r := of[partition]
		if r == nil || len(r.at) == maxRead {
			r = &reading{partition: partition}
			of[partition], readings = r, append(readings, r)
		}
		r.at = append(r.at, i)
	}
	if len(readings) == 0 {
		return stored, nil
	}
	if err := s.readHashes(ctx, stored, readings); err != nil {
		return nil, err
	}
	if err := s.addOrigins(ctx, stored, readings); err != nil {
		return nil, err
	}
	if err := s.addWaiting(ctx, stored, readings); err != nil {
		return nil, err
	}
	return stored, nil
}

// sizesOf returns how many partitions the queues of schedules have. It reads an unknown queue from the registry. A queue that
// is not registered has the number that this process would register. It registers nothing.
func (s *store) sizesOf(ctx context.Context, queues []string) (map[string]lookup, error) {
	sizes := map[string]lookup{}
	var unknown []string
	for _, queue := range queues {
		if _, seen := sizes[queue]; queue == "" || seen {
			continue
		}
		sizes[queue] = lookup{partitions: s.queues.learned(queue)}
		if sizes[queue].partitions == 0 {
			unknown = append(unknown, queue)
		}
	}
	found, err := s.queues.lookUp(ctx, unknown...)
	if err != nil {
		return nil, err
	}
	for i, queue := range unknown {
		found[i].partitions = max(found[i].partitions, s.options.Partitions[queue], 1)
		sizes[queue] = found[i]
	}
	return sizes, nil
}

// isVoid reports whether a body is the mark of an occurrence that was cancelled before its instant, see scripts/lib/void.lua. A mark at a cursor, or
// of an occurrence that is shown, counts for its schedule: place.lua removes others.
func isVoid(body string) bool { return strings.HasPrefix(body, "\x00") }

// followMarks reads schedules that were found as marks from where they live. If a move is not complete, the schedule is shown as before
// the move, in its new queue: there it places its next occurrence.
func (s *store) followMarks(ctx context.Context, stored []protocol.Stored) error {
	for i := range stored {
		h, ok := parseHead(string(stored[i].Definition))
		if !ok || h.movedTo == "" {
			continue
		}
		moved, err := s.readSchedules(ctx, []string{stored[i].Name}, []foundHome{{home: home{queue: h.movedTo}}})
		if err != nil {
			return err
		}
		if there, ok := parseHead(string(moved[0].Definition)); ok && there.generation >= h.generation && there.movedTo == "" {
			stored[i] = moved[0]
			continue
		}
		stored[i].Definition, stored[i].Waiting, stored[i].Void = []byte(h.withState(h.before)), false, false
		stored[i].Left = append(stored[i].Left, stored[i].Partition)
		sizes, err := s.sizesOf(ctx, []string{h.movedTo})
		if err != nil {
			return err
		}
		stored[i].Err = sizes[h.movedTo].err
		stored[i].Partition = protocol.Partition{Queue: h.movedTo, Index: protocol.PartitionOf(stored[i].Name, sizes[h.movedTo].partitions)}
	}
	return nil
}
