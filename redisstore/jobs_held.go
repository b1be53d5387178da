package redisstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// Held returns how many jobs of queues each worker holds. It counts sessions, and reads nothing of what they hold. Sessions of a version
// that did not say whose they are count for nobody.
func (s *store) Held(ctx context.Context, queues []string) (map[string]int, error) {
	found, err := s.lookUpQueues(ctx, queues...)
	if err := cmp.Or(err, firstError(found)); err != nil {
		return nil, err
	}
	var partitions []partitionKeys
	for i, queue := range queues {
		for index := range found[i].partitions {
			partitions = append(partitions, s.keys.partition(protocol.Partition{Queue: queue, Index: index}))
		}
	}
	held := map[string]int{}
	for some := range slices.Chunk(partitions, maxCounted) {
		if err := s.addHeld(ctx, some, held); err != nil {
			return nil, failure("count what workers hold", "", err)
		}
	}
	return held, nil
}

// addHeld adds what the sessions of partitions hold to that of their workers.
func (s *store) addHeld(ctx context.Context, partitions []partitionKeys, held map[string]int) error {
	pipe := s.client.Pipeline()
	sessions := make([]*redis.StringSliceCmd, len(partitions))
	for i, k := range partitions {
		sessions[i] = pipe.ZRange(ctx, k.sessions, 0, -1)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	var keys []string
	for i, k := range partitions {
		for _, session := range sessions[i].Val() {
			keys = append(keys, k.inflight(session))
		}
	}
	for some := range slices.Chunk(keys, maxCounted) {
		pipe := s.client.Pipeline()
		headers, counts := make([]*redis.SliceCmd, len(some)), make([]*redis.IntCmd, len(some))
		for i, key := range some {
			headers[i], counts[i] = pipe.HMGet(ctx, key, self), pipe.HLen(ctx, key)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
		for i := range some {
			if worker := workerOf(reply(headers[i].Val()).text(0)); worker != "" {
				held[worker] += int(counts[i].Val()) - 1 // one field is the session's own
			}
		}
	}
	return nil
}

// A holder is a session with what it holds.
type holder struct {
	session string
	worker  string            // empty: not known
	held    map[string]string // job ID → fence, see keys.go
}

const heldPerCommand = 1000 // about so many jobs of a session are read by a command

// readHolders reads sessions, in order. What a session holds during the whole call is in the answer.
func (s *store) readHolders(ctx context.Context, k partitionKeys, sessions []string) ([]holder, error) {
	holders, scans := make([]holder, len(sessions)), make([]*redis.ScanCmd, len(sessions))
	pipe := s.client.Pipeline()
	for i, session := range sessions {
		holders[i] = holder{session: session, held: map[string]string{}}
		scans[i] = pipe.HScan(ctx, k.inflight(session), 0, "", heldPerCommand)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	for i := range holders {
		pairs, cursor, err := scans[i].Result()
		for {
			if err != nil {
				return nil, err
			}
			for j := 0; j+1 < len(pairs); j += 2 {
				holders[i].held[pairs[j]] = pairs[j+1]
			}
			if cursor == 0 {
				break
			}
			pairs, cursor, err = s.client.HScan(ctx, k.inflight(sessions[i]), cursor, "", heldPerCommand).Result()
		}
		holders[i].worker = workerOf(holders[i].held[self])
		delete(holders[i].held, self)
	}
	return holders, nil
}
