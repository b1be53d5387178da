package redisstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	removeScript        = load("remove")
	pauseScheduleScript = load("pause_schedule")
)

// Remove deletes a schedule and its placed occurrence; found is false if there was none. What is in flight may finish.
func (s *store) Remove(ctx context.Context, name string) (found bool, err error) {
	if s.bad != nil {
		return false, s.bad
	}
	for range maxMovesFollowed {
		queue, err := s.client.HGet(ctx, s.keys.registry(), name).Result()
		if errors.Is(err, redis.Nil) {
			return false, nil
		}
		if err != nil {
			return false, failure("look up schedule", name, err)
		}
		partition, err := s.partitionOf(ctx, queue, name)
		if err != nil {
			return false, err
		}
		k := s.keys.partition(partition)
		cmd := s.run(ctx, s.client, newCall(&removeScript,
			[]string{k.schedules, k.cursors, k.owed, k.due, k.open, k.jobs, k.crashes, k.counters}, []any{name}))[0]
		if err := cmd.Err(); err != nil {
			return false, failure("remove schedule", name, err)
		}
		if mark, ok := cmd.Val().(string); ok {
			if _, err := s.finishMove(ctx, name, queue, mark); err != nil {
				return false, err
			}
			continue
		}
		removed, _ := cmd.Val().(int64)
		if err := s.run(ctx, s.client, newCall(&changeQueueScript, []string{s.keys.registry()}, []any{name, queue, ""}))[0].Err(); err != nil {
			return false, failure("remove from the registry schedule", name, err)
		}
		// A process that declared it again meanwhile found its name in the registry and did not write it: write it again.
		if exists, err := s.client.HExists(ctx, k.schedules, name).Result(); err == nil && exists {
			s.client.HSetNX(ctx, s.keys.registry(), name, queue)
		}
		return removed == 1, nil
	}
	return false, fmt.Errorf("redisstore: remove schedule %q: other processes keep moving it to another queue", name)
}

// PauseSchedule stops a schedule, or resumes it and returns what it is owed then. ErrNotFound if there is none of that name.
func (s *store) PauseSchedule(ctx context.Context, name string, paused bool) (protocol.Owed, error) {
	wanted := protocol.StateLive
	if paused {
		wanted = protocol.StatePaused
	}
	for range maxMovesFollowed {
		if s.bad != nil {
			return protocol.Owed{}, s.bad
		}
		queue, err := s.client.HGet(ctx, s.keys.registry(), name).Result()
		if errors.Is(err, redis.Nil) {
			return protocol.Owed{}, fmt.Errorf("redisstore: schedule %q: %w", name, protocol.ErrNotFound)
		}
		if err != nil {
			return protocol.Owed{}, failure("look up schedule", name, err)
		}
		partition, err := s.partitionOf(ctx, queue, name)
		if err != nil {
			return protocol.Owed{}, err
		}
		k := s.keys.partition(partition)
		values, err := s.runOne(ctx, "pause or resume schedule", name, newCall(&pauseScheduleScript,
			[]string{k.schedules, k.cursors, k.owed, k.due, k.jobs, k.crashes}, []any{name, wanted}))
		if err != nil {
			return protocol.Owed{}, err
		}
		text := values.text(2)
		if h, ok := parseHead(text); ok && h.movedTo != "" {
			if _, err := s.finishMove(ctx, name, queue, text); err != nil {
				return protocol.Owed{}, err
			}
			continue
		}
		if values.number(1) < 0 {
			return protocol.Owed{}, fmt.Errorf("redisstore: schedule %q: %w", name, protocol.ErrNotFound)
		}
		if paused || values.number(1) == 0 {
			return protocol.Owed{}, nil
		}
		return protocol.Owed{
			Partition: partition, Name: name, Definition: []byte(text), Cursor: parseCursor(values.text(3)),
			Since: values.now(), Now: values.now(),
		}, nil
	}
	return protocol.Owed{}, fmt.Errorf("redisstore: pause or resume schedule %q: other processes keep moving it to another queue", name)
}
