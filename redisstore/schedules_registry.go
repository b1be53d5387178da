package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// The registry of schedules is one sorted set of the namespace, with one member a schedule: name, queue and generation. It decides
// where a schedule lives. A generation is drawn when a schedule is created and at each move, and is higher than all
// earlier ones of that name. Every step about a schedule contains the generation that it is for, so that a late or repeated step
// matches nothing.
//
//	absent       → (queue, generation)    created: written first
//	(old, g)     → (new, g')              moved: written when the new queue has taken over, one compare with the whole entry
//	(queue, g)   → absent                 deleted: written last

var (
	changeRegistryScript    = scripts.Load("schedules/change_registry")
	registerSchedulesScript = scripts.Load("schedules/register_schedules")
	homesScript             = scripts.Load("schedules/homes")
)

const maxRegister = 500 // schedules in a call of the script

// A home is where a schedule lives, according to the registry.
type home struct {
	queue      string // empty: the schedule is not in the registry
	generation int64
}

// A foundHome is the registry's entry for a schedule.
type foundHome struct {
	home
	err error // why the entry cannot be read; then the home is zero
}

// member formats an entry of the registry.
func (h home) member(name string) string {
	return name + "\t" + h.queue + "\t" + strconv.FormatInt(h.generation, 10)
}

// parseMember reads an entry of the registry. If the entry cannot be read, it still returns the name if it finds one.
func parseMember(member string) (name string, h home, err error) {
	parts := strings.Split(member, "\t")
	if len(parts) == 3 {
		generation, err := strconv.ParseInt(parts[2], 10, 64)
		if err == nil && generation > 0 && protocol.CheckName("queue", parts[1]) == nil {
			return parts[0], home{queue: parts[1], generation: generation}, nil
		}
	}
	err = fmt.Errorf("redisstore: %w: the registry of schedules has the entry %.300q: want name, queue and generation", protocol.ErrUnfit, member)
	if len(parts) < 2 {
		return "", home{}, err
	}
	return parts[0], home{}, err
}

// homes reads where schedules live. An entry that cannot be read is an error.
func (s *store) homes(ctx context.Context, names ...string) ([]home, error) {
	found, err := s.lookUpHomes(ctx, names...)
	homes := make([]home, len(found))
	for i := range found {
		homes[i], err = found[i].home, cmp.Or(err, found[i].err)
	}
	return homes, err
}

// lookUpHomes reads the registry entries of schedules: a few with one command each, more with one call of a script for up to 500.
func (s *store) lookUpHomes(ctx context.Context, names ...string) ([]foundHome, error) {
	if len(names) <= fewNames {
		return s.lookUpFew(ctx, names)
	}
	var calls []call
	for some := range slices.Chunk(names, maxRegister) {
		args := make([]any, len(some))
		for i, name := range some {
			args[i] = name
		}
		calls = append(calls, newCall(&homesScript, []string{s.keys.registry()}, args).readOnlyForAll())
	}
	homes := make([]foundHome, 0, len(names))
	for _, cmd := range s.run(ctx, s.client, calls...) {
		members, err := list("look up schedules in", s.keys.registry(), cmd)
		if err != nil {
			return nil, err
		}
		for i := range members {
			found := foundHome{}
			if member := members.text(i); member != "" {
				_, found.home, found.err = parseMember(member)
			}
			homes = append(homes, found)
		}
	}
	if len(homes) != len(names) {
		return nil, failure("look up schedules in", s.keys.registry(), errShortAnswer)
	}
	return homes, nil
}

const fewNames = 4

var errShortAnswer = errors.New("the answer does not have all values")

func (s *store) lookUpFew(ctx context.Context, names []string) ([]foundHome, error) {
	pipe := s.client.Pipeline()
	found := make([]*redis.StringSliceCmd, len(names))
	for i, name := range names {
		found[i] = pipe.ZRangeByLex(ctx, s.keys.registry(), &redis.ZRangeBy{Min: "[" + name + "\t", Max: "(" + name + "\n", Count: 1})
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, failure("look up schedules in", s.keys.registry(), err)
	}
	homes := make([]foundHome, len(names))
	for i := range names {
		for _, member := range found[i].Val() {
			_, homes[i].home, homes[i].err = parseMember(member)
		}
	}
	return homes, nil
}

// unreadableSchedule logs, once for each entry in the life of the process, that an entry of the registry cannot be read.
func (s *store) unreadableSchedule(ctx context.Context, entry string, err error) {
	if s.logged.first("schedule " + entry) {
		s.options.Logger.WarnContext(ctx, "redisstore: an entry of the registry of schedules cannot be read", "event", "store.unreadable", "error", err)
	}
}

// registerSchedules registers the schedules of the declarations that which names, unless they are registered, and returns
// where each lives. deleted is when a schedule of that name was deleted, Unix ms; 0: unknown.
func (s *store) registerSchedules(ctx context.Context, declarations []protocol.Declaration, which []int) (homes []home, deleted []int64, err error) {
	homes = make([]home, 0, len(which))
	names := make([]string, len(which))
	for j, i := range which {
		names[j] = declarations[i].Name
	}
	for some := range slices.Chunk(which, maxRegister) {
		args := make([]any, 0, 3*len(some))
		for _, i := range some {
			args = append(args, declarations[i].Name, declarations[i].Queue, "")
		}
		values, err := s.runOne(ctx, "register schedules in", s.keys.registry(), newCall(&registerSchedulesScript, []string{s.keys.registry()}, args))
		if err != nil {
			return nil, nil, err
		}
		for j := range some {
			homes = append(homes, home{queue: values.text(2 * j), generation: values.number(2*j + 1)})
		}
	}
	// Deletions are read after the registry was written, because a deletion changes the registry last. So this is a round trip of its own:
	// the commands of one pipeline reach the nodes of a cluster in any order.
	deleted, err = s.lookUpDeleted(ctx, names)
	if err != nil {
		return homes, deleted, err
	}
	done, err := s.lookUpRemoved(ctx, names)
	for i := range done {
		deleted[i] = max(deleted[i], done[i]/1000)
	}
	return homes, deleted, err
}

// lookUpDeleted reads when schedules of these names were deleted, Unix ms; 0: unknown.
func (s *store) lookUpDeleted(ctx context.Context, names []string) ([]int64, error) {
	instants, err := s.lookUpInstants(ctx, names)
	for i := range instants {
		instants[i] /= 1000
	}
	return instants, err
}

// removed is the second member of a schedule in the record of deletions: when its definition was deleted. A deletion that was refused has only
// the first one, which has the schedule's name.
func removed(name string) string { return name + "\t" }

// afterCreation is the third member: an instant after the creation of the deleted schedule, if that was not earlier than the deletion, see noteIntent.
func afterCreation(name string) string { return name + "\t\t" }

// lookUpRemoved reads when the definitions of schedules of these names were deleted, Unix µs; 0: unknown.
func (s *store) lookUpRemoved(ctx context.Context, names []string) ([]int64, error) {
	members := make([]string, len(names))
	for i, name := range names {
		members[i] = removed(name)
	}
	return s.lookUpInstants(ctx, members)
}

// lookUpInstants reads instants from the record of deletions, Unix µs; 0: it has none.
func (s *store) lookUpInstants(ctx context.Context, names []string) ([]int64, error) {
	if len(names) == 0 {
		return nil, nil
	}
	pipe := s.client.Pipeline()
	var ended []*redis.FloatSliceCmd
	for some := range slices.Chunk(names, maxRegister) {
		ended = append(ended, pipe.ZMScore(ctx, s.keys.deleted(), some...))
	}
	cmds, err := pipe.Exec(ctx)
	if err := cmp.Or(err, complete(cmds...)); err != nil {
		return nil, failure("look up deleted schedules in", s.keys.deleted(), err)
	}
	deleted := make([]int64, 0, len(names))
	for _, some := range ended {
		for _, ms := range some.Val() {
			deleted = append(deleted, int64(math.Round(ms*1000)))
		}
	}
	return deleted, nil
}

// changeHome replaces the entry of a schedule; a zero home removes it. changed is false if the registry has another
// entry than known.
func (s *store) changeHome(ctx context.Context, name string, known, now home) (changed bool, err error) {
	member := ""
	if now.queue != "" {
		member = now.member(name)
	}
	n, err := s.run(ctx, s.client, newCall(&changeRegistryScript, []string{s.keys.registry()}, []any{known.member(name), member}))[0].Int()
	if err != nil {
		return false, failure("write to the registry schedule", name, err)
	}
	return n == 1, nil
}

// partitionOf returns the partition of a queue in which a schedule lives.
func (s *store) partitionOf(ctx context.Context, queue, name string) (protocol.Partition, error) {
	n, err := s.Partitions(ctx, queue)
	if err != nil {
		return protocol.Partition{}, err
	}
	return protocol.Partition{Queue: queue, Index: protocol.PartitionOf(name, n)}, nil
}
