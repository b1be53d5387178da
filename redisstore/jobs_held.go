package redisstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// Held returns how many jobs of queues each worker holds. It counts sessions, and reads nothing of what they hold. Sessions of a version
// that did not say whose they are count for nobody.
func (s *store) Held(ctx context.Context, queues []string) (map[string]int, error) {
	found, err := s.lookUpQueues(ctx, queues...)
	if err := cmp.Or(err, firstError(found)); err != nil {
		return nil, err
	}
	var partitions []partitionKeys
	for i, queue := range queues {
		for index := range found[i].partitions {
			partitions = append(partitions, s.keys.partition(protocol.Partition{Queue: queue, Index: index}))
		}
	}
	held := map[string]int{}
	for some := range slices.Chunk(partitions, maxCounted) {
		if err := s.addHeld(ctx, some, held); err != nil {
			return nil, failure("count what workers hold", "", err)
		}
	}
	return held, nil
}

// addHeld adds what the sessions of partitions hold to that of their workers.
func (s *store) addHeld(ctx context.Context, partitions []partitionKeys, held map[string]int) error {
	pipe := s.client.Pipeline()
	sessions := make([]*redis.StringSliceCmd, len(partitions))
	for i, k := range partitions {
		sessions[i] = pipe.ZRange(ctx, k.sessions, 0, -1)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	var keys []string
	for i, k := range partitions {
		for _, session := range sessions[i].Val() {
			keys = append(keys, k.inflight(session))
		}
	}
	for some := range slices.Chunk(keys, maxCounted) {
		pipe := s.client.Pipeline()
		headers, counts := make([]*redis.SliceCmd, len(some)), make([]*redis.IntCmd, len(some))
		for i, key := range some {
			headers[i], counts[i] = pipe.HMGet(ctx, key, self), pipe.HLen(ctx, key)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
		for i := range some {
			if worker := workerOf(reply(headers[i].Val()).text(0)); worker != "" {
				held[worker] += int(counts[i].Val()) - 1 // one field is the session's own
			}
		}
	}
	return nil
}
