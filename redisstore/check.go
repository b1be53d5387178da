package redisstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

const maxKeysChecked = 2000 // in a round trip

// Check returns nil if the server can be trusted with jobs: it answers, is Redis 7.0 or later, evicts nothing, has a clock that may be
// right, and has no keys of another program under the names of the namespace and of the queues that this process uses.
func (s *store) Check(ctx context.Context) error {
	if s.bad != nil {
		return s.bad
	}
	info, err := s.client.InfoMap(ctx).Result()
	if err != nil && denied(err) {
		s.options.Logger.WarnContext(ctx, "redisstore: INFO is denied, so version and eviction policy are not checked: use Redis 7.0 or later with maxmemory-policy noeviction",
			"event", "store.trouble", "action", "check", "error", err)
		err = s.client.Ping(ctx).Err()
	}
	if err != nil {
		return failure("check the server", "", err)
	}
	var bad []error
	if version, ok := info["Server"]["redis_version"]; ok && olderThan(version, 7) {
		bad = append(bad, fmt.Errorf("redisstore: %w: Redis %s: want 7.0 or later", protocol.ErrUnfit, version))
	}
	if policy, ok := info["Memory"]["maxmemory_policy"]; ok && policy != "noeviction" {
		bad = append(bad, fmt.Errorf("redisstore: %w: maxmemory-policy %s may evict jobs: set it to noeviction", protocol.ErrUnfit, policy))
	}
	return errors.Join(append(bad, checkClock(ctx, s.client), s.checkKeys(ctx))...)
}

// checkKeys refuses a namespace in which a key has another type than chime's, so that another program must have written it. It checks
// the namespace's own keys and those of the queues that this process uses: there may be any number of others.
func (s *store) checkKeys(ctx context.Context) error {
	want := map[string]string{s.keys.leader(): "hash", s.keys.queues(): "hash", s.keys.registry(): "zset", s.keys.deleted(): "zset", s.keys.handlers(): "zset", s.keys.served(): "zset"}
	for _, queue := range s.learnedQueues() {
		for i := range s.learned(queue) {
			k := s.keys.partition(protocol.Partition{Queue: queue, Index: i})
			for _, key := range []string{k.due, k.dead, k.sessions, k.callers, k.idle, k.owed, k.behind, k.gone} {
				want[key] = "zset"
			}
			for _, key := range []string{k.jobs, k.crashes, k.state, k.schedules, k.cursors, k.open, k.counters, k.origins} {
				want[key] = "hash"
			}
			want[k.ready], want[k.runs] = "list", "stream"
		}
	}
	var bad []error
	for keys := range slices.Chunk(slices.Sorted(maps.Keys(want)), maxKeysChecked) {
		pipe := s.client.Pipeline()
		types := make([]*redis.StatusCmd, len(keys))
		for i, key := range keys {
			types[i] = pipe.Type(ctx, key)
		}
		if _, err := pipe.Exec(ctx); err != nil && !denied(err) {
			return failure("check the keys of", string(s.keys), err)
		}
		for i, key := range keys {
			if is := types[i].Val(); is != "" && is != "none" && is != want[key] {
				bad = append(bad, foreign(key, is, want[key]))
			}
		}
	}
	return errors.Join(bad...)
}

// foreign is the error for a key of another type.
func foreign(key, is, want string) error {
	return fmt.Errorf("redisstore: %w: key %s is a %s, want a %s: it is not chime's", protocol.ErrUnfit, key, is, want)
}

// denied reports whether the user lacks the permission for a command.
func denied(err error) bool { return err != nil && redis.HasErrorPrefix(err, "NOPERM") }

// olderThan compares the first number of a version.
func olderThan(version string, major int) bool {
	var got int
	_, err := fmt.Sscanf(version, "%d.", &got)
	return err == nil && got < major
}
