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

// A resident is a schedule whose definition was found where it lives; it is no mark. The registry names it there, unless it has lost the
// entry: somebody deleted the key, or in a cluster its node went back to an earlier state and the queue's node did not. Such a schedule
// runs, and nobody finds it by its name.
type resident struct {
	protocol.Address
	generation int64
}

// registerAgain writes the entries of schedules that the registry has lost, or has with a lower generation, as after a move that it has
// forgotten. Definitions and what is placed stay as they are. It leaves alone the schedule of an entry that cannot be read, and one that
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

// keepLost returns those of schedules, whose own entry the registry did not have a moment ago, that were neither moved nor deleted: who
// does that takes away the definition first and changes the registry last. So the entry of a definition that is still there is lost, or
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

// residentPages is how many pages of a partition's schedules one call of Sweep looks at, about a hundred schedules each: the caller keeps a
// lease meanwhile.
const residentPages = 20

// registerResidents writes the entries that the registry has lost of the schedules that live in partitions. It looks at some of them, and
// goes on behind these the next time. more has the partitions of which some are left.
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

// residentMarks say how far the schedules of partitions have been looked at. The zero value is ready.
type residentMarks struct {
	mu sync.Mutex
	at map[protocol.Partition]string // none: from the beginning
}

// of is how far a partition's schedules have been looked at; empty: from the beginning.
func (m *residentMarks) of(p protocol.Partition) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at[p]
}

// seen notes how far that is now, and reports whether some are left.
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
