package redisstore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// registry compares the registry with the definitions. A schedule that is being created, moved or deleted is inconsistent for a moment, so
// an apparent fault is checked a second time.
func (v *verifier) registry(ctx context.Context) error {
	suspects, err := v.undefined(ctx)
	if err != nil {
		return err
	}
	if len(suspects)+len(v.unnamed) == 0 {
		return nil
	}
	if err := v.pause(ctx); err != nil {
		return err
	}
	for some := range slices.Chunk(suspects, maxRegister) {
		if err := v.judgeEntries(ctx, some); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(v.unnamed, maxRegister) {
		if err := v.judgeUnnamed(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// undefined returns the entries of the registry that cannot be read or have no definition in their queue.
func (v *verifier) undefined(ctx context.Context) (suspects []string, err error) {
	for last, begun := "-", false; last != "" || !begun; begun = true {
		members, err := v.store.client.ZRangeByLex(ctx, v.store.keys.registry(), &redis.ZRangeBy{Min: last, Max: "+", Count: maxRegister}).Result()
		if err != nil {
			return nil, failure("list schedules in", v.store.keys.registry(), err)
		}
		last = ""
		if len(members) == maxRegister {
			last = "(" + members[maxRegister-1]
		}
		wrong, err := v.withoutDefinition(ctx, members)
		if err != nil {
			return nil, err
		}
		suspects = append(suspects, wrong...)
		suspects = suspects[:min(len(suspects), maxVerifying)]
	}
	return suspects, nil
}

// withoutDefinition returns those of some entries that cannot be read or have no definition in their queue.
func (v *verifier) withoutDefinition(ctx context.Context, members []string) (wrong []string, err error) {
	var asked []protocol.Address
	var entries []string
	for _, member := range members {
		name, at, err := parseMember(member)
		if err != nil {
			wrong = append(wrong, member)
			continue
		}
		found, err := v.store.queues.lookUp(ctx, at.queue)
		if err != nil {
			return nil, err
		}
		if found[0].err == nil { // a queue that is not registered has one partition, if any
			p := protocol.Partition{Queue: at.queue, Index: protocol.PartitionOf(name, found[0].partitions)}
			asked, entries = append(asked, protocol.Address{Partition: p, Name: name}), append(entries, member)
		}
	}
	if len(asked) == 0 {
		return wrong, nil
	}
	read, err := v.store.callStandings(ctx, asked, true)
	if err != nil {
		return nil, err
	}
	for i, r := range read {
		if r.revision == 0 {
			wrong = append(wrong, entries[i])
		}
	}
	return wrong, nil
}

// judgeEntries reports the entries that are still there, and still have no definition.
func (v *verifier) judgeEntries(ctx context.Context, members []string) error {
	wrong, err := v.withoutDefinition(ctx, members)
	if err != nil || len(wrong) == 0 {
		return err
	}
	still, err := v.registered(ctx, wrong)
	if err != nil {
		return err
	}
	var names []string
	for _, member := range wrong {
		name, _, _ := parseMember(member)
		names = append(names, name)
	}
	deleted, err := v.store.lookUpDeleted(ctx, names)
	if err != nil {
		return err
	}
	for i, member := range wrong {
		if !still[i] {
			continue
		}
		name, at, err := parseMember(member)
		f := protocol.Finding{
			Kind: protocol.FoundUndefined, Queue: at.queue, Schedule: name,
			Detail: "the registry has it, but its definition is gone, or a process vanished before it wrote it: it does not run", Remedy: "its entry is removed; a program that declares it does so again within minutes",
		}
		if err != nil {
			f.Schedule, f.Detail, f.Remedy = strings.ToValidUTF8(name, "?"), "its entry in the registry cannot be read", "the entry is removed; if the schedule is stored, it gets another one"
		}
		if v.repair && deleted[i]*1000 > at.generation && at.queue != "" { // its deletion was interrupted before this step
			if err := v.store.finishRemoval(ctx, name, at); err != nil {
				return err
			}
		}
		if v.repair {
			n, err := v.store.run(ctx, v.store.client, newCall(&changeRegistryScript, []string{v.store.keys.registry()}, []any{member, ""}))[0].Int()
			if err != nil {
				return failure("write to the registry schedule", name, err)
			}
			f.Repaired = n == 1
		}
		v.found(f)
	}
	return nil
}

// registered reports which of these entries the registry has.
func (v *verifier) registered(ctx context.Context, members []string) ([]bool, error) {
	if len(members) == 0 {
		return nil, nil
	}
	args := []any{"zmscore", v.store.keys.registry()}
	for _, member := range members {
		args = append(args, member)
	}
	scores := redis.NewSliceCmd(ctx, args...)
	err := v.store.client.Process(ctx, scores)
	if err := cmp.Or(err, complete(scores)); err != nil {
		return nil, failure("look up schedules in", v.store.keys.registry(), err)
	}
	has := make([]bool, len(members))
	for i, score := range scores.Val() {
		has[i] = score != nil
	}
	return has, nil
}

// unregistered returns the schedules whose own entries the registry does not have.
func (v *verifier) unregistered(ctx context.Context, residents []resident) ([]resident, error) {
	members := make([]string, len(residents))
	for i, r := range residents {
		members[i] = home{r.Partition.Queue, r.generation}.member(r.Name)
	}
	has, err := v.registered(ctx, members)
	var without []resident
	for i := range has {
		if !has[i] {
			without = append(without, residents[i])
		}
	}
	return without, err
}

// lookUp records the schedules whose own entries the registry does not have.
func (v *verifier) lookUp(ctx context.Context, residents []resident) error {
	without, err := v.unregistered(ctx, residents)
	v.unnamed = append(v.unnamed, without...)
	v.unnamed = v.unnamed[:min(len(v.unnamed), maxVerifying)]
	return err
}

// judgeUnnamed reports the schedules whose own entries the registry still does not have, if they are still in the same place, and are
// neither deleted nor about to be moved.
func (v *verifier) judgeUnnamed(ctx context.Context, residents []resident) error {
	residents, err := v.unregistered(ctx, residents)
	if err != nil || len(residents) == 0 {
		return err
	}
	names, addresses := make([]string, len(residents)), make([]protocol.Address, len(residents))
	for i, r := range residents {
		names[i], addresses[i] = r.Name, r.Address
	}
	deleted, err := v.store.lookUpDeleted(ctx, names)
	if err != nil {
		return err
	}
	homes, err := v.store.lookUpHomes(ctx, names...)
	if err != nil {
		return err
	}
	read, err := v.store.callStandings(ctx, addresses, true)
	if err != nil {
		return err
	}
	for i, r := range residents {
		if read[i].revision == 0 || read[i].revision == -1 || read[i].generation != r.generation || deleted[i]*1000 > r.generation {
			continue
		}
		moving, err := v.arrives(ctx, r, homes[i].home)
		if err != nil {
			return err
		}
		if moving {
			continue
		}
		f := protocol.Finding{
			Kind: protocol.FoundUnregistered, Queue: r.Partition.Queue, Schedule: r.Name,
			Detail: "it is stored and runs, but the registry does not have it: it cannot be found by its name", Remedy: "it is registered again",
		}
		if at := homes[i]; at.err != nil || at.generation > r.generation {
			f.Detail, f.Remedy = "it is stored and runs, but the registry has it in another queue: it may run twice; delete it, and declare it again", ""
		} else if v.repair {
			if err := v.store.registerAgain(ctx, []resident{r}); err != nil {
				return err
			}
			left, err := v.unregistered(ctx, []resident{r})
			if err != nil {
				return err
			}
			f.Repaired = len(left) == 0
		}
		v.found(f)
	}
	return nil
}

// arrives reports whether a schedule is moving here from where the registry has it: then its mark is there, and the process that moves it
// changes the entry next, or another process that finds the mark does.
func (v *verifier) arrives(ctx context.Context, r resident, from home) (bool, error) {
	if from.queue == "" || from.queue == r.Partition.Queue {
		return false, nil
	}
	found, err := v.store.queues.lookUp(ctx, from.queue)
	if err != nil {
		return false, err
	}
	p := protocol.Partition{Queue: from.queue, Index: protocol.PartitionOf(r.Name, found[0].partitions)}
	read, err := v.store.callStandings(ctx, []protocol.Address{{Partition: p, Name: r.Name}}, true)
	if err != nil {
		return false, err
	}
	return read[0].revision == -1 && read[0].movedTo == r.Partition.Queue, nil
}
