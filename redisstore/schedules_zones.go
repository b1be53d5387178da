package redisstore

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

var replanScript = scripts.Load("schedules/replan")

const (
	maxZonedRead = 500     // entries of zones that a call reads, about
	maxReplanned = 100_000 // schedules that a process remembers to have planned again
)

// parseZoned reads an entry of zones, "<planned> <offset> <last> <zone>": see scripts/lib/zones.lua. An entry that cannot be read is the zero Zoned.
func parseZoned(text string) protocol.Zoned {
	fields := strings.Fields(text)
	if len(fields) != 4 {
		return protocol.Zoned{}
	}
	planned, err := time.Parse(time.RFC3339, fields[0])
	offset, bad := strconv.ParseInt(fields[1], 10, 32)
	if err != nil || bad != nil {
		return protocol.Zoned{}
	}
	last, unknown := strconv.ParseInt(fields[2], 10, 64)
	return protocol.Zoned{Planned: planned.UTC(), Offset: time.Duration(offset) * time.Second, Last: last, Taken: unknown == nil, Zone: fields[3]}
}

// ZonedIn reads some entries of a partition.
func (s *store) ZonedIn(ctx context.Context, partition protocol.Partition, cursor string) (entries []protocol.ZonedEntry, next string, err error) {
	if s.bad != nil {
		return nil, "", s.bad
	}
	at, _ := strconv.ParseUint(cursor, 10, 64)
	pairs, after, err := s.client.HScan(ctx, s.keys.partition(partition).zones, at, "", maxZonedRead).Result()
	if err != nil {
		return nil, "", failure("read the local times of schedules of", partition.Queue, err)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if z := parseZoned(pairs[i+1]); !z.Planned.IsZero() {
			entries = append(entries, protocol.ZonedEntry{Name: pairs[i], Zoned: z})
		}
	}
	if after != 0 {
		next = strconv.FormatUint(after, 10)
	}
	return entries, next, nil
}

// Replan withdraws waiting occurrences.
func (s *store) Replan(ctx context.Context, replans []protocol.Replan) ([]*protocol.Owed, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	groups := map[protocol.Partition][]int{}
	for i := range replans {
		groups[replans[i].Partition] = append(groups[replans[i].Partition], i)
	}
	var calls []call
	var batches [][]int
	for partition, members := range groups {
		k := s.keys.partition(partition)
		for batch := range slices.Chunk(members, protocol.MaxDeclared) {
			var args []any
			for _, i := range batch {
				r := &replans[i]
				args = append(args, r.Name, r.Revision, storedCursor(r.Cursor), r.Back.UTC().Format(time.RFC3339))
			}
			calls = append(calls, newCall(&replanScript, []string{k.schedules, k.cursors, k.owed, k.due, k.jobs, k.crashes, k.state, k.line, k.places, k.turns, k.groups, k.grules, k.opens}, args))
			batches = append(batches, batch)
		}
	}
	owed := make([]*protocol.Owed, len(replans))
	if len(calls) == 0 {
		return owed, nil
	}
	for b, cmd := range s.run(ctx, s.client, calls...) {
		values, err := list("plan again schedules of", replans[batches[b][0]].Partition.Queue, cmd)
		if err != nil {
			return owed, err
		}
		for j, i := range batches[b] {
			if cursor := values.text(1 + j); cursor != "" {
				r := &replans[i]
				owed[i] = &protocol.Owed{
					Partition: r.Partition, Name: r.Name, Definition: r.Definition, Cursor: parseCursor(cursor), Since: values.now(), Now: values.now(),
				}
			}
		}
	}
	return owed, nil
}

// replanned has the schedules of which this process has planned an occurrence again.
type replanned struct {
	mu    sync.Mutex
	names map[string]struct{}
}

// MayReplan records a schedule. Once very many are recorded, no others are planned again: their occurrences run as they were planned.
func (s *store) MayReplan(name string) bool {
	s.replanned.mu.Lock()
	defer s.replanned.mu.Unlock()
	if _, known := s.replanned.names[name]; known || len(s.replanned.names) == maxReplanned {
		return false
	}
	if s.replanned.names == nil {
		s.replanned.names = make(map[string]struct{})
	}
	s.replanned.names[name] = struct{}{}
	return true
}
