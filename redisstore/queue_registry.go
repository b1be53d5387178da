package redisstore

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// Partitions returns the number of partitions of a queue and fixes it when the queue is first seen.
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

// registerQueue writes a queue into the registry if it is not there. It is repeated by every declaration and by workers, so
// that a registry lost with its server is written again.
func (s *store) registerQueue(ctx context.Context, queue string) (int, error) {
	pipe := s.client.Pipeline()
	number := s.askQueue(ctx, pipe, queue)
	if _, err := pipe.Exec(ctx); err != nil {
		return 0, s.queuesFailure(ctx, "register queue", queue, err)
	}
	return s.learnQueue(queue, number.Val())
}

// askQueue adds to pipe what writes a queue into the registry if it is not there, and asks for what is.
func (s *store) askQueue(ctx context.Context, pipe redis.Pipeliner, queue string) *redis.StringCmd {
	pipe.HSetNX(ctx, s.keys.queues(), queue, max(s.options.Partitions[queue], 1))
	return pipe.HGet(ctx, s.keys.queues(), queue)
}

// learnQueue takes what the registry says of a queue and refuses what is not as the options want it.
func (s *store) learnQueue(queue, stored string) (int, error) {
	n, err := strconv.Atoi(stored)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("redisstore: %w: queue %q has %q partitions in %s", protocol.ErrUnfit, queue, stored, s.keys.queues())
	}
	if want := s.options.Partitions[queue]; want > 0 && n != want {
		return 0, fmt.Errorf("redisstore: %w: Options.Partitions says %d for queue %q, which was first seen with %d: keep that number, or use another queue", protocol.ErrUnfit, want, queue, n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.partitions[queue] = n
	return n, nil
}

// Queues returns every queue ever seen with its number of partitions.
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
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("redisstore: %w: queue %q has %q partitions in %s", protocol.ErrUnfit, queue, text, s.keys.queues())
		}
		queues[queue] = n
	}
	return queues, nil
}

// registered returns the numbers of partitions of queues; 0: the queue is not registered.
func (s *store) registered(ctx context.Context, queues ...string) ([]int, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	numbers := make([]int, len(queues))
	if len(queues) == 0 {
		return numbers, nil
	}
	stored, err := s.client.HMGet(ctx, s.keys.queues(), queues...).Result()
	if err != nil {
		return nil, s.queuesFailure(ctx, "look up queues in", s.keys.queues(), err)
	}
	for i, queue := range queues {
		text, ok := stored[i].(string)
		if !ok {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("redisstore: %w: queue %q has %q partitions in %s", protocol.ErrUnfit, queue, text, s.keys.queues())
		}
		numbers[i] = n
	}
	return numbers, nil
}

// queuesFailure says what was tried with the registry of queues when err happened, and whose that is if it is no hash.
func (s *store) queuesFailure(ctx context.Context, act, subject string, err error) error {
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		if is, err := s.client.Type(ctx, s.keys.queues()).Result(); err == nil && is != "hash" {
			return foreign(s.keys.queues(), is, "hash")
		}
	}
	return failure(act, subject, err)
}
