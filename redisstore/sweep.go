package redisstore

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var sweepScript = load("sweep")

// Sweep removes what is old in a partition, at most 500 items a call; more reports whether others remain.
func (s *store) Sweep(ctx context.Context, partition protocol.Partition) (more bool, err error) {
	if s.bad != nil {
		return false, s.bad
	}
	k := s.keys.partition(partition)
	names, err := s.client.HGet(ctx, k.state, "parked").Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, failure("sweep", partition.Queue, err)
	}
	keys := []string{k.dead, k.jobs, k.callers, k.idle, k.state, k.crashes, k.schedules, k.cursors, k.owed, k.gone}
	args := []any{s.options.DeadRetention.Milliseconds(), s.options.MaxDead, s.options.ParkedRetention.Milliseconds()}
	for name := range strings.FieldsSeq(names) {
		keys = append(keys, k.parked(name))
		args = append(args, name)
	}
	answer, err := s.run(ctx, s.client, newCall(&sweepScript, keys, args))[0].Int()
	if err != nil {
		return false, failure("sweep", partition.Queue, err)
	}
	if answer == 0 {
		err = s.freeOpens(ctx, partition)
	}
	return answer == 1, err
}
