package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var pauseQueueScript = load("pause_queue")

// PauseQueue stops taking from a queue, or resumes it, in all its partitions. Jobs are still added while it is paused. A partition
// that fails holds up no other; the call may be repeated.
func (s *store) PauseQueue(ctx context.Context, queue string, paused bool) error {
	n, err := s.registeredPartitions(ctx, queue)
	if err != nil {
		return err
	}
	if n[0] == 0 {
		return fmt.Errorf("redisstore: queue %q: %w", queue, protocol.ErrNotFound)
	}
	calls := make([]call, n[0])
	for i := range calls {
		k := s.keys.partition(protocol.Partition{Queue: queue, Index: i})
		calls[i] = newCall(&pauseQueueScript, []string{k.state, k.idle, k.due}, []any{flag(paused), s.keys.wake()})
	}
	var failed []error
	for _, cmd := range s.run(ctx, s.client, calls...) {
		if err := cmd.Err(); err != nil {
			failed = append(failed, failure("pause or resume queue", queue, err))
		}
	}
	return errors.Join(failed...)
}

// QueueStats counts queues, all partitions of each together. It registers nothing and writes nothing.
func (s *store) QueueStats(ctx context.Context, queues []string) ([]protocol.QueueStats, error) {
	numbers, err := s.registeredPartitions(ctx, queues...)
	if err != nil {
		return nil, err
	}
	stats := make([]protocol.QueueStats, len(queues))
	var counts []*partitionCount
	first := s.client.Pipeline()
	now := first.Time(ctx)
	for i, queue := range queues {
		stats[i] = protocol.QueueStats{Queue: queue, Partitions: numbers[i]}
		for index := range numbers[i] {
			c := &partitionCount{keys: s.keys.partition(protocol.Partition{Queue: queue, Index: index}), to: &stats[i]}
			c.ask(ctx, first)
			counts = append(counts, c)
		}
	}
	cmds, err := first.Exec(ctx)
	if err := cmp.Or(err, complete(cmds...)); err != nil {
		return nil, failure("count queues", "", err)
	}
	second := s.client.Pipeline()
	for _, c := range counts {
		c.askHeldAndParked(ctx, second)
	}
	if second.Len() > 0 {
		if _, err := second.Exec(ctx); err != nil {
			return nil, failure("count queues", "", err)
		}
	}
	for _, c := range counts {
		c.add()
	}
	for i := range stats {
		stats[i].Now = now.Val().UTC()
	}
	return stats, nil
}

// A partitionCount is what QueueStats reads of one partition: first the counts, the names of the sessions and the names of the
// parked jobs, then how many jobs each session holds and how many are parked under each name.
type partitionCount struct {
	keys partitionKeys
	to   *protocol.QueueStats

	ready, due, dead, schedules *redis.IntCmd
	sessions                    *redis.StringSliceCmd
	state, counters             *redis.SliceCmd
	enqueued                    *redis.FloatSliceCmd
	held, parked                []*redis.IntCmd
}

func (c *partitionCount) ask(ctx context.Context, pipe redis.Pipeliner) {
	k := c.keys
	c.ready, c.due, c.dead, c.schedules = pipe.LLen(ctx, k.ready), pipe.ZCard(ctx, k.due), pipe.ZCard(ctx, k.dead), pipe.HLen(ctx, k.schedules)
	c.sessions = pipe.ZRange(ctx, k.sessions, 0, -1)
	c.state = pipe.HMGet(ctx, k.state, "paused", "parked", "done")
	c.enqueued = pipe.ZMScore(ctx, k.callers, "#enqueued")
	c.counters = pipe.HMGet(ctx, k.counters, "/failed", "/retried", "/died")
}

func (c *partitionCount) askHeldAndParked(ctx context.Context, pipe redis.Pipeliner) {
	for _, session := range c.sessions.Val() {
		c.held = append(c.held, pipe.HLen(ctx, c.keys.inflight(session)))
	}
	for name := range strings.FieldsSeq(reply(c.state.Val()).text(1)) {
		c.parked = append(c.parked, pipe.ZCard(ctx, c.keys.parked(name)))
	}
}

func (c *partitionCount) add() {
	to, state, counters := c.to, reply(c.state.Val()), reply(c.counters.Val())
	to.Paused = to.Paused || state.text(0) != ""
	to.Waiting += c.ready.Val()
	to.Delayed += c.due.Val()
	to.Dead += c.dead.Val()
	to.Schedules += c.schedules.Val()
	to.Done += state.number(2)
	to.Failed += counters.number(0)
	to.Retried += counters.number(1)
	to.Died += counters.number(2)
	if enqueued := c.enqueued.Val(); len(enqueued) > 0 {
		to.Enqueued += int64(enqueued[0])
	}
	for _, n := range c.held {
		to.Running += max(n.Val()-1, 0) // one field is the session's own
	}
	for _, n := range c.parked {
		to.Parked += n.Val()
	}
}
