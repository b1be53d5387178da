package redisstore

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	registryScript = load("registry")
	registerScript = load("register")
)

const (
	registerAlone = 8   // schedules for which plain commands cost the server less than a script of the registry
	registerBatch = 500 // schedules a script of the registry
)

// register writes where some declarations live into the registry where it has nothing for them, and returns what it has.
// It writes their queues too, if told so: a few at most.
func (s *store) register(ctx context.Context, declarations []protocol.Declaration, which []int, queues bool) (reply, error) {
	if len(which) <= registerAlone {
		return s.registerFew(ctx, declarations, which, queues)
	}
	homes := make(reply, 0, len(which))
	for some := range slices.Chunk(which, registerBatch) {
		args := make([]any, 0, 2*len(some))
		for _, i := range some {
			args = append(args, declarations[i].Name, declarations[i].Queue)
		}
		values, err := s.one(ctx, "look up schedules in", s.keys.registry(), newCall(&registerScript, []string{s.keys.registry()}, args))
		if err != nil {
			return nil, err
		}
		homes = append(homes, values...)
	}
	return homes, nil
}

func (s *store) registerFew(ctx context.Context, declarations []protocol.Declaration, which []int, queues bool) (reply, error) {
	pipe := s.client.Pipeline()
	numbers := map[string]*redis.StringCmd{}
	homes := make([]*redis.StringCmd, len(which))
	for j, i := range which {
		d := &declarations[i]
		if queues && numbers[d.Queue] == nil {
			numbers[d.Queue] = s.askQueue(ctx, pipe, d.Queue)
		}
		pipe.HSetNX(ctx, s.keys.registry(), d.Name, d.Queue)
		homes[j] = pipe.HGet(ctx, s.keys.registry(), d.Name)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, failure("look up schedules in", s.keys.registry(), err)
	}
	for queue, number := range numbers {
		if _, err := s.learnQueue(queue, number.Val()); err != nil {
			return nil, err
		}
	}
	found := make(reply, len(homes))
	for j, home := range homes {
		found[j] = home.Val()
	}
	return found, nil
}

// home returns the partition in which a schedule of a queue lives.
func (s *store) home(ctx context.Context, queue, name string) (protocol.Partition, error) {
	n, err := s.Partitions(ctx, queue)
	if err != nil {
		return protocol.Partition{}, err
	}
	return protocol.Partition{Queue: queue, Index: protocol.PartitionOf(name, n)}, nil
}
