package redisstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	deleteQueueScript = scripts.Load("queues/delete_queue")
	unlistQueueScript = scripts.Load("queues/unlist_queue")
)

// How many random entries of the registry a call looks at to find old ones of deleted queues.
const (
	unlistedSample = 40  // a deletion, which adds one
	sweptSample    = 500 // a sweep
)

// DeleteQueue deletes an empty queue, with all its partitions, in the order that scripts/queues/delete_queue.lua explains. It returns
// what is on the queue; if that is anything, the queue remains. It returns ErrNotFound if the queue is not registered and no deletion of
// it is unfinished.
func (s *store) DeleteQueue(ctx context.Context, queue string) (remains protocol.QueueRemains, err error) {
	found, err := s.queues.lookUp(ctx, queue)
	if err := cmp.Or(err, firstError(found)); err != nil {
		return remains, err
	}
	n := found[0].partitions
	if n == 0 {
		kept, err := s.queues.kept(ctx, queue)
		if err != nil || kept == 0 {
			return remains, cmp.Or(err, unknownQueue(queue))
		}
		return s.deleteUnlisted(ctx, queue, kept)
	}
	stats, err := s.QueueStats(ctx, []string{queue})
	if err != nil {
		return remains, err
	}
	if remains, err = s.emptyQueue(ctx, queue, n, false); err != nil || remains != (protocol.QueueRemains{}) {
		return remains, err
	}
	if err := s.unlist(ctx, queue, n, unlistedSample); err != nil {
		return remains, err
	}
	s.served.forget(queue)
	if err := s.client.ZRem(ctx, s.keys.served(), queue).Err(); err != nil {
		return remains, failure("delete queue", queue, err)
	}
	remains, err = s.emptyQueue(ctx, queue, n, true)
	if err != nil || remains == (protocol.QueueRemains{}) {
		return remains, err
	}
	if _, err := s.queues.register(ctx, queue); err != nil { // another process uses it
		return remains, err
	}
	if stats[0].Paused { // empty partitions have lost the pause
		err = s.PauseQueue(ctx, queue, true, stats[0].Note)
	}
	return remains, err
}

// unlist removes a queue from the registry, but keeps its number of partitions; if the queue has one partition, only for an hour. It also removes
// old entries of other deleted queues. If no queue is given, it only removes such entries.
func (s *store) unlist(ctx context.Context, queue string, partitions, sample int) error {
	call := newCall(&unlistQueueScript, []string{s.keys.queues()}, []any{queue, partitions, sample})
	if err := s.run(ctx, s.client, call)[0].Err(); err != nil {
		return s.queues.failure(ctx, "delete queue", queue, err)
	}
	return nil
}

func unknownQueue(queue string) error {
	return fmt.Errorf("redisstore: queue %q: %w", queue, protocol.ErrNotFound)
}

// deleteUnlisted completes the deletion of a queue if nobody knows whether it has ended. If it had, there is no such queue.
func (s *store) deleteUnlisted(ctx context.Context, queue string, n int) (remains protocol.QueueRemains, err error) {
	exists := make([]*redis.IntCmd, n)
	pipe := s.client.Pipeline()
	for i := range exists {
		exists[i] = pipe.Exists(ctx, s.keys.partition(protocol.Partition{Queue: queue, Index: i}).state)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return remains, failure("delete queue", queue, err)
	}
	if !slices.ContainsFunc(exists, func(cmd *redis.IntCmd) bool { return cmd.Val() > 0 }) {
		return remains, unknownQueue(queue)
	}
	if remains, err = s.emptyQueue(ctx, queue, n, true); err != nil || remains == (protocol.QueueRemains{}) {
		return remains, err
	}
	_, err = s.queues.register(ctx, queue)
	return remains, err
}

// emptyQueue counts what is on the partitions of a queue, and deletes the keys of the empty ones if requested.
func (s *store) emptyQueue(ctx context.Context, queue string, n int, deletes bool) (remains protocol.QueueRemains, err error) {
	token := ""
	if deletes {
		token = rand.Text()
	}
	calls, sessions := make([]call, n), make([]*redis.StringSliceCmd, n)
	pipe := s.client.Pipeline()
	for i := range sessions {
		sessions[i] = pipe.ZRange(ctx, s.keys.partition(protocol.Partition{Queue: queue, Index: i}).sessions, 0, protocol.MaxItems-1)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return remains, failure("delete queue", queue, err)
	}
	for i := range calls {
		k := s.keys.partition(protocol.Partition{Queue: queue, Index: i})
		keys, args := k.deleting(), []any{token, int64(max(s.options.ParkedRetention, time.Second) / time.Second)}
		for _, session := range sessions[i].Val() {
			keys, args = append(keys, k.inflight(session)), append(args, session)
		}
		calls[i] = newCall(&deleteQueueScript, keys, args)
	}
	var failed []error
	for _, cmd := range s.run(ctx, s.client, calls...) {
		values, err := list("delete queue", queue, cmd)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		for i, count := range []*int64{
			&remains.Waiting, &remains.Delayed, &remains.Sessions, &remains.Parked, &remains.Dead, &remains.Results, &remains.Schedules,
			&remains.Outbox, &remains.Batches,
		} {
			*count += values.number(1 + i)
		}
	}
	return remains, errors.Join(failed...)
}
