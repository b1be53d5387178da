package redisstore

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
)

var (
	sweepScript = load("sweep")
	queueScript = load("queue")
)

// partitionsOf lists the partitions of a queue with their keys.
func (s *Store) partitionsOf(ctx context.Context, queue string) ([]partitionKeys, error) {
	n, err := s.Partitions(ctx, queue)
	if err != nil {
		return nil, err
	}
	all := make([]partitionKeys, n)
	for i := range all {
		all[i] = s.keys.partition(chime.Partition{Queue: queue, Index: i})
	}
	return all, nil
}

// Sweep trims what only grows in a partition.
func (s *Store) Sweep(ctx context.Context, partition chime.Partition) (bool, error) {
	if s.bad != nil {
		return false, s.bad
	}
	k := s.keys.partition(partition)
	names, err := s.client.HGet(ctx, k.state, "parked").Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, failure("sweep", partition.Queue, err)
	}
	keys := []string{k.dead, k.jobs, k.callers, k.idle, k.state, k.crashes, k.schedules, k.cursors, k.owed, k.moved, k.counters}
	args := []any{s.options.DeadFor.Milliseconds(), s.options.DeadMost, s.options.ParkedFor.Milliseconds()}
	for name := range strings.FieldsSeq(names) {
		keys = append(keys, k.parked(name))
		args = append(args, name)
	}
	more, err := s.run(ctx, s.client, newCall(&sweepScript, keys, args))[0].Int()
	if err != nil {
		return false, failure("sweep", partition.Queue, err)
	}
	return more == 1, nil
}

// PauseQueue stops or resumes taking from a queue.
func (s *Store) PauseQueue(ctx context.Context, queue string, paused bool) error {
	partitions, err := s.partitionsOf(ctx, queue)
	if err != nil {
		return err
	}
	calls := make([]call, len(partitions))
	for i, k := range partitions {
		calls[i] = newCall(&queueScript, []string{k.state, k.idle, k.due}, []any{flag(paused), s.keys.wake()})
	}
	var failed []error
	for _, cmd := range s.run(ctx, s.client, calls...) {
		if err := cmd.Err(); err != nil {
			failed = append(failed, failure("pause or resume queue", queue, err))
		}
	}
	return errors.Join(failed...)
}

// Stats counts a queue, all its partitions together.
func (s *Store) Stats(ctx context.Context, queue string) (chime.Stats, error) {
	stats := chime.Stats{Queue: queue}
	partitions, err := s.partitionsOf(ctx, queue)
	if err != nil {
		return stats, err
	}
	for _, k := range partitions {
		if err := s.addStats(ctx, k, &stats); err != nil {
			return stats, failure("count queue", queue, err)
		}
	}
	return stats, nil
}

func (s *Store) addStats(ctx context.Context, k partitionKeys, stats *chime.Stats) error {
	pipe := s.client.Pipeline()
	now := pipe.Time(ctx)
	ready, due, dead, schedules := pipe.LLen(ctx, k.ready), pipe.ZCard(ctx, k.due), pipe.ZCard(ctx, k.dead), pipe.HLen(ctx, k.schedules)
	sessions := pipe.ZRange(ctx, k.sessions, 0, -1)
	state := pipe.HMGet(ctx, k.state, "paused", "parked", "done")
	enqueued := pipe.ZMScore(ctx, k.callers, "#enqueued")
	counts := pipe.HMGet(ctx, k.counters, "/failed", "/retried", "/died")
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	stats.Now = now.Val().UTC()
	stats.Waiting += ready.Val()
	stats.Delayed += due.Val()
	stats.Dead += dead.Val()
	stats.Schedules += schedules.Val()
	stats.Enqueued += int64(enqueued.Val()[0])
	fields := append(counts.Val(), state.Val()[2])
	for i, to := range []*int64{&stats.Failed, &stats.Retried, &stats.Died, &stats.Done} {
		text, _ := fields[i].(string)
		n, _ := strconv.ParseInt(text, 10, 64)
		*to += n
	}
	paused, _ := state.Val()[0].(string)
	stats.Paused = stats.Paused || paused != ""

	parked, _ := state.Val()[1].(string)
	pipe = s.client.Pipeline()
	var held, set []*redis.IntCmd
	for _, session := range sessions.Val() {
		held = append(held, pipe.HLen(ctx, k.inflight(session)))
	}
	for name := range strings.FieldsSeq(parked) {
		set = append(set, pipe.ZCard(ctx, k.parked(name)))
	}
	if len(held)+len(set) == 0 {
		return nil
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	for _, n := range held {
		stats.InFlight += max(n.Val()-1, 0) // one field is the session's own
	}
	for _, n := range set {
		stats.Parked += n.Val()
	}
	return nil
}
