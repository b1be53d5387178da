package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	prunedRetention = 7 * 24 * time.Hour // how long it is known which version of an owner has pruned
	ownersPerCall   = 500                // records of who declared what that a command reads, or about
)

// Prune deletes the schedules of an owner whose version is lower: those of some queues, and then of the next. next is where to go on. What
// is to go is decided by the script that deletes it. When all queues have been looked at it is recorded that this version has pruned, so
// that no other process of it, or of a lower one, looks again.
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
	var failed []error // of schedules and partitions that hold up no other
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

// withOwners returns the partitions of queues where anybody has declared a schedule as an owner.
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
		return nil, failure("look for owners of schedules", "", err)
	}
	for i, p := range all {
		if lengths[i].Val() > 0 {
			owned = append(owned, p)
		}
	}
	return owned, nil
}

// hasPruned reports whether the pruning of this version of an owner, or of a higher one, is done.
func (s *store) hasPruned(ctx context.Context, owner protocol.Owner) (bool, error) {
	version, err := s.prunedVersion(ctx, owner.Name)
	return version >= owner.Version, err
}

// isSucceeded reports whether a higher version of an owner has pruned: see scripts/schedules/declare.lua. No owner is not.
func (s *store) isSucceeded(ctx context.Context, owner protocol.Owner) (bool, error) {
	if owner.Name == "" {
		return false, nil
	}
	version, err := s.prunedVersion(ctx, owner.Name)
	return version > owner.Version, err
}

// prunedVersion returns the highest version of an owner whose pruning is done; 0: none.
func (s *store) prunedVersion(ctx context.Context, owner string) (int64, error) {
	text, err := s.client.HMGet(ctx, s.keys.pruned(), owner).Result()
	if err != nil {
		return 0, failure("look up who has pruned in", s.keys.pruned(), err)
	}
	record, _ := text[0].(string)
	version, _ := parsePruned(record)
	return version, nil
}

func parsePruned(record string) (version int64, at time.Time) {
	text, ms, _ := strings.Cut(record, " ")
	version, _ = strconv.ParseInt(text, 10, 64)
	unix, _ := strconv.ParseInt(ms, 10, 64)
	return version, time.UnixMilli(unix)
}

// lowerOf lists the schedules of a partition that a lower version of an owner has declared, also those that were deleted, and those that
// this version has pruned: whoever did so may have been stopped before their entries in the registry were gone.
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

// withoutDefinition returns those of schedules that are not stored here.
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
		return nil, failure("look for schedules in", k.schedules, err)
	}
	for i, name := range names {
		if !stored[i].Val() {
			gone = append(gone, name)
		}
	}
	return gone, nil
}

// notePruned records that the pruning of a version is done, and forgets what was done long ago. Of two processes that record something
// the last one wins: at worst a pruning that is done is done again.
func (s *store) notePruned(ctx context.Context, owner protocol.Owner) error {
	all, err := s.client.HGetAll(ctx, s.keys.pruned()).Result()
	if err != nil {
		return failure("look up who has pruned in", s.keys.pruned(), err)
	}
	now, err := s.client.Time(ctx).Result()
	if err != nil {
		return failure("read the time to record who has pruned in", s.keys.pruned(), err)
	}
	pipe := s.client.Pipeline()
	for name, record := range all {
		if _, at := parsePruned(record); at.Before(now.Add(-prunedRetention)) {
			pipe.HDel(ctx, s.keys.pruned(), name)
		}
	}
	pipe.HSet(ctx, s.keys.pruned(), owner.Name, fmt.Sprintf("%d %d", owner.Version, now.UnixMilli()))
	if _, err := pipe.Exec(ctx); err != nil {
		return failure("record who has pruned in", s.keys.pruned(), err)
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
