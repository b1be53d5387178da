package redisstore

import (
	"cmp"
	"context"
	"errors"
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
	marks, err := v.unregisteredMarks(ctx)
	if err != nil || len(suspects)+len(v.unnamed)+len(marks) == 0 {
		return err
	}
	if err := v.pause(ctx); err != nil {
		return err
	}
	// copies first: one of them may be the schedule that an entry has lost
	for some := range slices.Chunk(v.unnamed, maxRegister) {
		if err := v.judgeUnnamed(ctx, some); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(suspects, maxRegister) {
		if err := v.judgeEntries(ctx, some); err != nil {
			return err
		}
	}
	for _, name := range marks {
		if err := v.judgeMarks(ctx, name); err != nil {
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

// withoutDefinition returns the entries that cannot be read or have no definition in their queue, except for moves under way.
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
		ended := false
		if r.revision == -1 { // a move is under way if the mark is owed
			_, err := v.store.client.ZScore(ctx, v.store.keys.partition(asked[i].Partition).owed, asked[i].Name).Result()
			if err != nil && !errors.Is(err, redis.Nil) {
				return nil, failure("verify", asked[i].Partition.Queue, err)
			}
			ended = err != nil
		}
		if r.revision == 0 || ended {
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
		restored := false
		if err == nil {
			if restored, err = v.restore(ctx, name, at, &f); err != nil {
				return err
			}
		}
		if v.repair && !restored {
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
