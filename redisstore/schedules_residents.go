package redisstore

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var residentsScript = scripts.Load("schedules/residents")

// A resident is a schedule whose definition was found where it lives and is not a mark. The registry has its entry, unless the entry was
// lost: the key was deleted, or in a cluster the registry's node went back to an earlier state and the queue's node did not. Such a schedule
// runs, but cannot be found by its name.
type resident struct {
	protocol.Address
	generation int64
}

// registerAgain restores the entries of schedules that the registry has lost, or has with a lower generation, for example after a lost
// move. It does not change definitions or placed occurrences. It skips a schedule whose entry cannot be read, and one that
// was deleted after its generation was drawn: its queue went back to before the deletion.
func (s *store) registerAgain(ctx context.Context, residents []resident) error {
	for some := range slices.Chunk(residents, maxRegister) {
		if err := s.registerSome(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) registerSome(ctx context.Context, residents []resident) error {
	args := []any{"zmscore", s.keys.registry()}
	for _, r := range residents {
		args = append(args, home{r.Partition.Queue, r.generation}.member(r.Name))
	}
	registered := redis.NewSliceCmd(ctx, args...)
	err := s.client.Process(ctx, registered)
	if err == nil {
		err = complete(registered)
	}
	if err != nil {
		return failure("look up schedules in", s.keys.registry(), err)
	}
	var lost []resident
	for i, r := range residents {
		if registered.Val()[i] == nil {
			lost = append(lost, r)
		}
	}
	if lost, err = s.keepLost(ctx, lost); err != nil || len(lost) == 0 {
		return err
	}
	args = args[:0]
	for _, r := range lost {
		args = append(args, r.Name, r.Partition.Queue, r.generation)
	}
	values, err := s.runOne(ctx, "register schedules in", s.keys.registry(), newCall(&registerSchedulesScript, []string{s.keys.registry()}, args))
	if err != nil {
		return err
	}
	again := 0
	for i, r := range lost {
		if (home{values.text(2 * i), values.number(2*i + 1)}) == (home{r.Partition.Queue, r.generation}) {
			again++
		}
	}
	if again > 0 {
		s.options.Logger.WarnContext(ctx, "redisstore: the registry has lost schedules that are stored: they are registered again",
			"event", "schedule.lost", "count", again)
	}
	return nil
}

// keepLost returns the schedules that were neither moved nor deleted, from schedules whose own entry was missing a moment ago. A move
// or a deletion removes the definition first and changes the registry last. So if a definition is still there, its entry is lost, or
// the registry has another one that is behind or ahead of it.
func (s *store) keepLost(ctx context.Context, residents []resident) (lost []resident, err error) {
	if len(residents) == 0 {
		return nil, nil
	}
	names, addresses := make([]string, len(residents)), make([]protocol.Address, len(residents))
	for i, r := range residents {
		names[i], addresses[i] = r.Name, r.Address
	}
	deleted, err := s.lookUpDeleted(ctx, names)
	if err != nil {
		return nil, err
	}
	read, err := s.readRevisions(ctx, addresses)
	if err != nil {
		return nil, err
	}
	for i, r := range residents {
		if deleted[i]*1000 <= r.generation && read[i].revision > 0 && read[i].generation == r.generation {
			lost = append(lost, r)
		}
	}
	return lost, nil
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
			calls[i] = newCall(&residentsScript, []string{s.keys.partition(p).schedules}, []any{cmp.Or(s.residents.of(p), "0")})
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
			for j := 1; j+1 < len(values); j += 2 {
				residents = append(residents, resident{protocol.Address{Partition: p, Name: values.text(j)}, values.number(j + 1)})
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

// residentMarks are the positions up to which the schedules of partitions were read. The zero value is ready.
type residentMarks struct {
	mu sync.Mutex
	at map[protocol.Partition]string // absent: from the beginning
}

// of returns the position in a partition's schedules; empty: from the beginning.
func (m *residentMarks) of(p protocol.Partition) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at[p]
}

// seen stores the new position, and reports whether some schedules are left.
func (m *residentMarks) seen(p protocol.Partition, cursor string) (more bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if cursor == "0" {
		delete(m.at, p)
		return false
	}
	if m.at == nil {
		m.at = make(map[protocol.Partition]string)
	}
	m.at[p] = cursor
	return true
}
