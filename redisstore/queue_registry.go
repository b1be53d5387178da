package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// The registry of queues is one hash of the namespace: queue → number of its partitions. The number is fixed when the queue is
// registered.

// Partitions returns the number of partitions of a queue. It registers a queue that is not registered. The number is read once and
// then known to this process.
func (s *store) Partitions(ctx context.Context, queue string) (int, error) {
	if s.bad != nil {
		return 0, s.bad
	}
	s.mu.Lock()
	n, known := s.partitions[queue]
	s.mu.Unlock()
	if known {
		return n, nil
	}
	return s.registerQueue(ctx, queue)
}

// registerQueue registers a queue unless it is registered, and returns its number of partitions. Every declaration and every
// announcement repeats it, so that a registry that the server has lost is written again.
func (s *store) registerQueue(ctx context.Context, queue string) (int, error) {
	pipe := s.client.Pipeline()
	stored := s.pipeRegisterQueue(ctx, pipe, queue)
	if _, err := pipe.Exec(ctx); err != nil {
		return 0, s.queuesFailure(ctx, "register queue", queue, err)
	}
	return s.checkPartitions(queue, stored.Val())
}

// pipeRegisterQueue adds to pipe the commands that register a queue unless it is registered, and read its number of partitions.
func (s *store) pipeRegisterQueue(ctx context.Context, pipe redis.Pipeliner, queue string) *redis.StringCmd {
	pipe.HSetNX(ctx, s.keys.queues(), queue, max(s.options.Partitions[queue], 1))
	return pipe.HGet(ctx, s.keys.queues(), queue)
}

// checkPartitions reads the number of partitions that is stored for a queue, refuses one that differs from the options', and keeps
// it for Partitions.
func (s *store) checkPartitions(queue, stored string) (int, error) {
	n, err := s.parsePartitions(queue, stored)
	if err != nil {
		return 0, err
	}
	if want := s.options.Partitions[queue]; want > 0 && n != want {
		return 0, fmt.Errorf("redisstore: %w: Options.Partitions says %d for queue %q, which was first seen with %d: keep that number, or use another queue", protocol.ErrUnfit, want, queue, n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.partitions[queue] = n
	return n, nil
}

// parsePartitions reads the number of partitions that is stored for a queue.
func (s *store) parsePartitions(queue, stored string) (int, error) {
	n, err := strconv.Atoi(stored)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("redisstore: %w: queue %q has %q partitions in %s", protocol.ErrUnfit, queue, stored, s.keys.queues())
	}
	return n, nil
}

// Queues returns every registered queue with its number of partitions.
func (s *store) Queues(ctx context.Context) (map[string]int, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	stored, err := s.client.HGetAll(ctx, s.keys.queues()).Result()
	if err != nil {
		return nil, s.queuesFailure(ctx, "list queues in", s.keys.queues(), err)
	}
	queues := make(map[string]int, len(stored))
	for queue, text := range stored {
		if queues[queue], err = s.parsePartitions(queue, text); err != nil {
			return nil, err
		}
	}
	return queues, nil
}

// registeredPartitions returns the numbers of partitions of queues, 0 for one that is not registered. It registers nothing.
func (s *store) registeredPartitions(ctx context.Context, queues ...string) ([]int, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	numbers := make([]int, len(queues))
	if len(queues) == 0 {
		return numbers, nil
	}
	stored := s.client.HMGet(ctx, s.keys.queues(), queues...)
	if err := cmp.Or(stored.Err(), complete(stored)); err != nil {
		return nil, s.queuesFailure(ctx, "look up queues in", s.keys.queues(), err)
	}
	for i, queue := range queues {
		text, ok := stored.Val()[i].(string)
		if !ok {
			continue
		}
		var err error
		if numbers[i], err = s.parsePartitions(queue, text); err != nil {
			return nil, err
		}
	}
	return numbers, nil
}

// queuesFailure is failure for the registry of queues: if its key is of another type, the error names the key and both types.
func (s *store) queuesFailure(ctx context.Context, act, subject string, err error) error {
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		if is, err := s.client.Type(ctx, s.keys.queues()).Result(); err == nil && is != "hash" {
			return foreign(s.keys.queues(), is, "hash")
		}
	}
	return failure(act, subject, err)
}
