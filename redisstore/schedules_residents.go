package redisstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/recent"
)

var residentsScript = scripts.Load("schedules/residents")

// A resident is a schedule whose definition was found where it lives and is not a mark. The registry has its entry, unless the entry was
// lost: the key was deleted, or in a cluster the registry's node went back to an earlier state and the queue's node did not. Such a schedule
// runs, but cannot be found by its name.
type resident struct {
	protocol.Address
	generation int64
	owner      protocol.Owner // if it is known
}

// registerAgain settles schedules that were found where they live: it restores lost entries of the registry, and deals with copies that have come
// back after a loss, see schedules_survivor.go. It skips a schedule whose entry cannot be read.
func (s *store) registerAgain(ctx context.Context, residents []resident) error {
	for some := range slices.Chunk(residents, maxRegister) {
		suspects, err := s.suspects(ctx, some)
		if err == nil {
			err = s.settleHomes(ctx, suspects, true)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// residentPages is how many pages of a partition's schedules one call of Sweep reads, about a hundred schedules each: the caller keeps a
// lease meanwhile.
const residentPages = 20

// registerResidents writes the lost registry entries of the schedules that live in partitions. Each call reads some schedules, and
// the next call continues after them. more has the partitions with schedules left to read.
func (s *store) registerResidents(ctx context.Context, partitions []protocol.Partition) (more map[protocol.Partition]bool, err error) {
	more = make(map[protocol.Partition]bool, len(partitions))
	for range residentPages {
		calls := make([]call, len(partitions))
		for i, p := range partitions {
			calls[i] = newCall(&residentsScript, []string{s.keys.partition(p).schedules, s.keys.partition(p).owners}, []any{cmp.Or(s.residents.of(p), "0")})
		}
		var residents []resident
		var left []protocol.Partition
		for i, cmd := range s.run(ctx, s.client, calls...) {
			p := partitions[i]
			values, failed := list("list the schedules of", p.Queue, cmd)
			if failed != nil {
				err = failed
				continue
			}
			for j := 1; j+3 < len(values); j += 4 {
				residents = append(residents, resident{protocol.Address{Partition: p, Name: values.text(j)}, values.number(j + 1), parseOwner(values.text(j + 3))})
			}
			if more[p] = s.residents.seen(p, values.text(0)); more[p] {
				left = append(left, p)
			}
		}
		if failed := s.registerAgain(ctx, residents); failed != nil {
			return more, failed
		}
		if partitions = left; len(partitions) == 0 {
			break
		}
	}
	return more, err
}

// residentMarks are the positions up to which the schedules of partitions were read. It forgets those of partitions that were not read for an hour,
// for example of deleted queues. The zero value is ready.
type residentMarks struct {
	at recent.Map[protocol.Partition, string] // absent, or empty: from the beginning
}

// of returns the position in a partition's schedules; empty: from the beginning.
func (m *residentMarks) of(p protocol.Partition) string {
	at, _ := m.at.Get(p)
	return at
}

// seen stores the new position, and reports whether some schedules are left.
func (m *residentMarks) seen(p protocol.Partition, cursor string) (more bool) {
	if cursor != "0" {
		m.at.Set(p, cursor)
		return true
	}
	if m.of(p) != "" {
		m.at.Set(p, "")
	}
	return false
}
