package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// Check returns nil if the server can be trusted with jobs: it answers, is Redis 7.0 or later, evicts nothing, and has a clock that may
// be right.
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
	return errors.Join(append(bad, checkClock(ctx, s.client))...)
}

// denied reports whether the user lacks a right, for the command itself or, as Redis 7.0 says it, for one of a script.
func denied(err error) bool {
	return err != nil && (redis.HasErrorPrefix(err, "NOPERM") || strings.Contains(err.Error(), "The user executing the script can't "))
}

// olderThan compares the first number of a version.
func olderThan(version string, major int) bool {
	var got int
	_, err := fmt.Sscanf(version, "%d.", &got)
	return err == nil && got < major
}
