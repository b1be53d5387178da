package redisstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

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

// A movedMark is the mark of a schedule that was found in a queue that it has left, or leaves.
type movedMark struct {
	protocol.Address
	to home // where it has moved
}

// restoreLost looks for schedules that the registry has in a queue that has lost them, because its node went back to an earlier state, or its keys are
// gone. The mark from which such a schedule has moved there is its last copy, and it arrives from it once more. A mark costs two lookups, unless the
// schedule has moved on since.
func (s *store) restoreLost(ctx context.Context, marks []movedMark) error {
	for some := range slices.Chunk(marks, maxRegister) {
		args := []any{"zmscore", s.keys.registry()}
		for _, m := range some {
			args = append(args, m.to.member(m.Name))
		}
		registered := redis.NewSliceCmd(ctx, args...)
		if err := cmp.Or(s.client.Process(ctx, registered), complete(registered)); err != nil {
			return failure("look up schedules in", s.keys.registry(), err)
		}
		var arrived []movedMark
		var places []protocol.Address
		for i, m := range some {
			if registered.Val()[i] == nil {
				continue
			}
			p, err := s.partitionOf(ctx, m.to.queue, m.Name)
			if err != nil {
				return err
			}
			arrived, places = append(arrived, m), append(places, protocol.Address{Partition: p, Name: m.Name})
		}
		there, err := s.readCopies(ctx, places, false)
		if err != nil {
			return err
		}
		for i, m := range arrived {
			if c := there[i]; c.kind == definitionCopy || c.kind == unreadableCopy || c.generation > m.to.generation {
				continue
			}
			if _, err := s.settle(ctx, m.Name, copyRead{queue: m.Partition.Queue}); err != nil { // the leader places what is owed
				return err
			}
			s.options.Logger.WarnContext(ctx, "redisstore: the queue of a schedule has lost it: it arrives from the mark of its move",
				"event", "schedule.lost", "schedule", m.Name, "queue", m.to.queue)
		}
	}
	return nil
}

// residentPages is how many pages of a partition's schedules one call of Sweep reads, about a hundred schedules each: the caller keeps a
// lease meanwhile.
const residentPages = 20

// registerResidents writes the lost registry entries of the schedules that live in partitions, and restores those of which only marks are left. Each call reads some schedules, and
// the next call continues after them. more has the partitions with schedules left to read.
func (s *store) registerResidents(ctx context.Context, partitions []protocol.Partition) (more map[protocol.Partition]bool, err error) {
	more = make(map[protocol.Partition]bool, len(partitions))
	for range residentPages {
		calls := make([]call, len(partitions))
		for i, p := range partitions {
			calls[i] = newCall(&residentsScript, []string{s.keys.partition(p).schedules, s.keys.partition(p).owners}, []any{cmp.Or(s.residents.of(p), "0")})
		}
		var residents []resident
		var marks []movedMark
		var left []protocol.Partition
		for i, cmd := range s.run(ctx, s.client, calls...) {
			p := partitions[i]
			values, failed := list("list the schedules of", p.Queue, cmd)
			if failed != nil {
				err = failed
				continue
			}
			for j := 1; j+4 < len(values); j += 5 {
				at := protocol.Address{Partition: p, Name: values.text(j)}
				if to := values.text(j + 4); to != "" {
					marks = append(marks, movedMark{at, home{to, values.number(j + 1)}})
				} else {
					residents = append(residents, resident{at, values.number(j + 1), parseOwner(values.text(j + 3))})
				}
			}
			if more[p] = s.residents.seen(p, values.text(0)); more[p] {
				left = append(left, p)
			}
		}
		if failed := s.registerAgain(ctx, residents); failed != nil {
			return more, failed
		}
		if failed := s.restoreLost(ctx, marks); failed != nil {
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
	at, _ := m.at.Get(p, time.Now())
	return at
}

// seen stores the new position, and reports whether some schedules are left.
func (m *residentMarks) seen(p protocol.Partition, cursor string) (more bool) {
	if cursor != "0" {
		m.at.Set(p, cursor, time.Now())
		return true
	}
	if m.of(p) != "" {
		m.at.Set(p, "", time.Now())
	}
	return false
}
