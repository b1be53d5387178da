package redisstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Check returns nil if the servers can be trusted with jobs: each answers, is Redis 7.0 or later, evicts nothing, and has a clock that
// may be right.
func (s *store) Check(ctx context.Context) error {
	if s.bad != nil {
		return s.bad
	}
	return s.checkServers(ctx)
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
