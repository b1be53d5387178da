package redisstore

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/redisstore/internal/sample"
)

// shapesTogether is the number of partitions whose shapes are read in a round trip: up to 32 KiB each.
const shapesTogether = 50

// Shapes returns the shapes of the last errors of a queue, partition after partition. It skips an entry that was edited by hand.
func (s *store) Shapes(ctx context.Context, queue string) ([]protocol.ErrorShape, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	n, err := s.registeredPartitions(ctx, queue)
	if err != nil {
		return nil, err
	}
	var shapes []protocol.ErrorShape
	indexes := make([]int, n)
	for i := range indexes {
		indexes[i] = i
	}
	for some := range slices.Chunk(indexes, shapesTogether) {
		pipe := s.client.Pipeline()
		read := make([]*redis.MapStringStringCmd, len(some))
		for i, index := range some {
			read[i] = pipe.HGetAll(ctx, s.keys.partition(protocol.Partition{Queue: queue, Index: index}).shapes)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, failure("read the errors of queue", queue, err)
		}
		for _, cmd := range read {
			for field, value := range cmd.Val() {
				if shape, ok := sample.ParseShape(field, value); ok {
					shapes = append(shapes, shape)
				}
			}
		}
	}
	return shapes, nil
}
