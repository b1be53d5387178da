package redisstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

const queuesTogether = 50 // that are asked in a round trip

// QueuesOf returns those of the queues on which a job of this ID may be. A job has a body, or its schedule lives or has lived on the queue, or it is
// one of those that stay for long: a dead one, or a result. It writes nothing.
func (s *store) QueuesOf(ctx context.Context, id string, queues []string) ([]string, error) {
	found, err := s.lookUpQueues(ctx, queues...)
	if err := cmp.Or(err, firstError(found)); err != nil {
		return nil, err
	}
	schedule, _, occurrence := protocol.CutOccurrence(id)
	var having []string
	for some := range slices.Chunk(queues, queuesTogether) {
		pipe := s.client.Pipeline()
		exist, scores := make([][]*redis.BoolCmd, len(some)), make([][]*redis.FloatSliceCmd, len(some))
		for i, queue := range some {
			n := found[i].partitions
			if n == 0 {
				continue // it was deleted meanwhile
			}
			k := s.keys.partition(protocol.Partition{Queue: queue, Index: protocol.PartitionOf(id, n)})
			exist[i] = append(exist[i], pipe.HExists(ctx, k.jobs, id))
			scores[i] = append(scores[i], pipe.ZMScore(ctx, k.dead, id), pipe.ZMScore(ctx, k.kept, id))
			if occurrence {
				exist[i] = append(exist[i], pipe.HExists(ctx, k.schedules, schedule))
				scores[i] = append(scores[i], pipe.ZMScore(ctx, k.gone, schedule))
			}
		}
		found = found[len(some):]
		if pipe.Len() == 0 {
			continue
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, failure("look for the queue of job", id, err)
		}
		for i, queue := range some {
			if slices.ContainsFunc(exist[i], func(c *redis.BoolCmd) bool { return c.Val() }) ||
				slices.ContainsFunc(scores[i], func(c *redis.FloatSliceCmd) bool { return len(c.Val()) > 0 && c.Val()[0] != 0 }) {
				having = append(having, queue)
			}
		}
	}
	return having, nil
}
