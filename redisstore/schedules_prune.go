package redisstore

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var notePrunedScript = scripts.Load("schedules/note_pruned")

const (
	prunedRetention = 7 * 24 * time.Hour // how long it is recorded which version of an owner has pruned
	ownersPerCall   = 500                // about how many owner records a command reads
)

// Prune deletes the schedules in some queues that a lower version of the owner has declared. The next call continues with the queues after
// them, at next. The script that deletes a schedule decides whether it must go. After the last queue it is recorded that this version has
// pruned, so that no other process of it, or of a lower one, prunes again.
func (s *store) Prune(ctx context.Context, owner protocol.Owner, cursor string) (next string, pruned []string, err error) {
	if s.bad != nil {
		return "", nil, s.bad
	}
	if cursor == "" {
		done, err := s.hasPruned(ctx, owner)
		if err != nil || done {
			return "", nil, err
		}
	}
	queues, next, err := s.Queues(ctx, cursor)
	if err != nil {
		return "", nil, err
	}
	owned, err := s.withOwners(ctx, queues)
	if err != nil {
		return "", nil, err
	}
	var failed []error // of schedules and partitions; they do not stop the others
	for _, p := range owned {
		names, err := s.lowerOf(ctx, p, owner)
		failed = append(failed, err)
		for _, name := range names {
			found, err := s.Remove(ctx, protocol.Removal{Name: name, Owner: owner})
			switch {
			case errors.Is(err, protocol.ErrConflict): // it was declared again, or lives in another queue
			case err != nil:
				failed = append(failed, err)
			case found:
				pruned = append(pruned, name)
			}
		}
	}
	if err := errors.Join(failed...); err != nil || next != "" {
		return next, pruned, err
	}
	return "", pruned, s.notePruned(ctx, owner)
}

// withOwners returns the partitions of queues in which a schedule was declared with an owner.
func (s *store) withOwners(ctx context.Context, queues []protocol.QueueSize) (owned []protocol.Partition, err error) {
	pipe := s.client.Pipeline()
	var all []protocol.Partition
	var lengths []*redis.IntCmd
	for _, queue := range queues {
		for index := range queue.Partitions {
			p := protocol.Partition{Queue: queue.Queue, Index: index}
			all, lengths = append(all, p), append(lengths, pipe.HLen(ctx, s.keys.partition(p).owners))
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, failure("find owners of schedules", "", err)
	}
	for i, p := range all {
		if lengths[i].Val() > 0 {
			owned = append(owned, p)
		}
	}
	return owned, nil
}

// hasPruned reports whether the pruning of this version of an owner, or of a higher one, is complete.
func (s *store) hasPruned(ctx context.Context, owner protocol.Owner) (bool, error) {
	version, err := s.prunedVersion(ctx, owner.Name)
	return version >= owner.Version, err
}

// isSucceeded reports whether a higher version of an owner has pruned: see scripts/schedules/declare.lua. It is false without an owner.
func (s *store) isSucceeded(ctx context.Context, owner protocol.Owner) (bool, error) {
	if owner.Name == "" {
		return false, nil
	}
	version, err := s.prunedVersion(ctx, owner.Name)
	return version > owner.Version, err
}

// prunedVersion returns the highest version of an owner whose pruning is complete; 0: none.
func (s *store) prunedVersion(ctx context.Context, owner string) (int64, error) {
	found, err := s.prunings(ctx, []string{owner})
	return found[owner].version, err
}

// A pruning is the highest version of an owner whose pruning is complete, and when that was; it is later than the creation of every schedule that
// was pruned.
type pruning struct {
	version int64
	at      time.Time
}

// prunings reads the last prunings of owners. It skips empty names.
func (s *store) prunings(ctx context.Context, owners []string) (map[string]pruning, error) {
	owners = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(owners))), func(owner string) bool { return owner == "" })
	found := make(map[string]pruning, len(owners))
	if len(owners) == 0 {
		return found, nil
	}
	texts, err := s.client.HMGet(ctx, s.keys.pruned(), owners...).Result()
	if err != nil {
		return nil, failure("look up the last pruning in", s.keys.pruned(), err)
	}
	for i, text := range texts {
		record, _ := text.(string)
		version, at := parsePruned(record)
		found[owners[i]] = pruning{version, at}
	}
	return found, nil
}

func parsePruned(record string) (version int64, at time.Time) {
	text, ms, _ := strings.Cut(record, " ")
	version, _ = strconv.ParseInt(text, 10, 64)
	unix, _ := strconv.ParseInt(ms, 10, 64)
	return version, time.UnixMilli(unix)
}

// lowerOf lists the schedules of a partition that a lower version of an owner has declared, including deleted ones, and those that
// this version has pruned: that pruning may have been interrupted before their registry entries were removed.
func (s *store) lowerOf(ctx context.Context, p protocol.Partition, owner protocol.Owner) (names []string, err error) {
	k := s.keys.partition(p)
	for cursor := uint64(0); ; {
		var page []string
		if page, cursor, err = s.client.HScan(ctx, k.owners, cursor, "", ownersPerCall).Result(); err != nil {
			return names, failure("list the schedules of owner "+owner.Name+" in", p.Queue, err)
		}
		var same []string
		for i := 0; i+1 < len(page); i += 2 {
			switch by := parseOwner(page[i+1]); {
			case by.Name == owner.Name && by.Version < owner.Version:
				names = append(names, page[i])
			case by == owner:
				same = append(same, page[i])
			}
		}
		gone, err := s.withoutDefinition(ctx, k, same)
		if err != nil {
			return names, err
		}
		names = append(names, gone...)
		if cursor == 0 {
			return names, nil
		}
	}
}

// withoutDefinition returns the schedules that are not stored here.
func (s *store) withoutDefinition(ctx context.Context, k partitionKeys, names []string) (gone []string, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	pipe := s.client.Pipeline()
	stored := make([]*redis.BoolCmd, len(names))
	for i, name := range names {
		stored[i] = pipe.HExists(ctx, k.schedules, name)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, failure("find schedules in", k.schedules, err)
	}
	for i, name := range names {
		if !stored[i].Val() {
			gone = append(gone, name)
		}
	}
	return gone, nil
}

// notePruned records that the pruning of a version is complete, unless a higher version's is recorded.
func (s *store) notePruned(ctx context.Context, owner protocol.Owner) error {
	return s.writePruned(ctx, owner, 0)
}

// notePruning records an instant for the owner of a schedule that is about to be pruned, and that was created ahead of the clock. No record of a
// completed pruning is earlier, even if another process completes this one.
func (s *store) notePruning(ctx context.Context, owner string, at time.Time) error {
	return s.writePruned(ctx, protocol.Owner{Name: owner}, at.UnixMilli())
}

func (s *store) writePruned(ctx context.Context, owner protocol.Owner, ms int64) error {
	args := []any{owner.Name, owner.Version, prunedRetention.Milliseconds(), ms}
	if err := s.run(ctx, s.client, newCall(&notePrunedScript, []string{s.keys.pruned()}, args))[0].Err(); err != nil {
		return failure("record the pruning in", s.keys.pruned(), err)
	}
	return nil
}

// parseOwner reads "<owner> <version>".
func parseOwner(record string) protocol.Owner {
	name, text, _ := strings.Cut(record, " ")
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return protocol.Owner{}
	}
	return protocol.Owner{Name: name, Version: version}
}
