package redisstore

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	changeQueueScript       = load("change_queue")
	registerSchedulesScript = load("register_schedules")
)

// The registry of schedules is one hash of the namespace: schedule → the queue it lives in. It decides where a schedule is.

const (
	maxRegisterPlainly = 8   // schedules for which plain commands cost the server less than the script
	maxRegister        = 500 // schedules in a call of the script
)

// registerSchedules registers the schedules of some declarations, those that which names, unless they are registered. It returns the
// queue that the registry has for each. With alsoQueues it registers the queues too, if the declarations are few.
func (s *store) registerSchedules(ctx context.Context, declarations []protocol.Declaration, which []int, alsoQueues bool) (reply, error) {
	if len(which) <= maxRegisterPlainly {
		return s.registerPlainly(ctx, declarations, which, alsoQueues)
	}
	queues := make(reply, 0, len(which))
	for some := range slices.Chunk(which, maxRegister) {
		args := make([]any, 0, 2*len(some))
		for _, i := range some {
			args = append(args, declarations[i].Name, declarations[i].Queue)
		}
		values, err := s.runOne(ctx, "register schedules in", s.keys.registry(), newCall(&registerSchedulesScript, []string{s.keys.registry()}, args))
		if err != nil {
			return nil, err
		}
		queues = append(queues, values...)
	}
	return queues, nil
}

// registerPlainly does the same with plain commands.
func (s *store) registerPlainly(ctx context.Context, declarations []protocol.Declaration, which []int, alsoQueues bool) (reply, error) {
	pipe := s.client.Pipeline()
	partitions := map[string]*redis.StringCmd{}
	stored := make([]*redis.StringCmd, len(which))
	for j, i := range which {
		d := &declarations[i]
		if alsoQueues && partitions[d.Queue] == nil {
			partitions[d.Queue] = s.pipeRegisterQueue(ctx, pipe, d.Queue)
		}
		pipe.HSetNX(ctx, s.keys.registry(), d.Name, d.Queue)
		stored[j] = pipe.HGet(ctx, s.keys.registry(), d.Name)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, failure("register schedules in", s.keys.registry(), err)
	}
	for queue, n := range partitions {
		if _, err := s.checkPartitions(queue, n.Val()); err != nil {
			return nil, err
		}
	}
	queues := make(reply, len(stored))
	for j, queue := range stored {
		queues[j] = queue.Val()
	}
	return queues, nil
}

// partitionOf returns the partition of a queue in which a schedule lives.
func (s *store) partitionOf(ctx context.Context, queue, name string) (protocol.Partition, error) {
	n, err := s.Partitions(ctx, queue)
	if err != nil {
		return protocol.Partition{}, err
	}
	return protocol.Partition{Queue: queue, Index: protocol.PartitionOf(name, n)}, nil
}
