package redisstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

const maxCounted = 350 // partitions, or sessions, that are counted in a round trip

// Held returns how many jobs of queues each worker holds. It counts sessions, and does not read the jobs in them. A session that
// has lapsed is not counted, and neither is one of an older version, which did not record its worker.
func (s *store) Held(ctx context.Context, queues []string) (map[string]int, error) {
	found, err := s.queues.lookUp(ctx, queues...)
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
			return nil, failure("count the jobs of workers", "", err)
		}
	}
	return held, nil
}

// addHeld adds the jobs that the sessions of partitions hold to the counts of their workers.
func (s *store) addHeld(ctx context.Context, partitions []partitionKeys, held map[string]int) error {
	pipe := s.client.Pipeline()
	sessions, now := make([]*redis.ZSliceCmd, len(partitions)), pipe.Time(ctx)
	for i, k := range partitions {
		sessions[i] = pipe.ZRangeWithScores(ctx, k.sessions, 0, -1)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	var keys []string
	for i, k := range partitions {
		names, gone := lapsedSessions(sessions[i].Val(), now.Val())
		for _, session := range names {
			if _, lapsed := gone[session]; !lapsed {
				keys = append(keys, k.inflight(session))
			}
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

// lapsedSessions returns the names of the sessions, sorted by name, and of those that have lapsed the last sign of life of their workers.
func lapsedSessions(all []redis.Z, now time.Time) (names []string, gone map[string]time.Time) {
	gone = map[string]time.Time{}
	for _, z := range all {
		name, _ := z.Member.(string)
		names = append(names, name)
		if lapse := time.UnixMilli(int64(max(0, min(z.Score, 1e14)))).UTC(); lapse.Before(now) {
			ttl, _ := protocol.SessionTTL(name)
			gone[name] = lapse.Add(-ttl)
		}
	}
	slices.Sort(names)
	return names, gone
}

// A holder is a session with what it holds.
type holder struct {
	session string
	gone    time.Time         // last sign of life of its worker, if it has lapsed
	worker  string            // empty: not known
	held    map[string]string // job ID → fence, see keys.go
}

const heldPerCommand = 1000 // about how many jobs of a session a command reads

// readHolders reads sessions, in order. A job that a session holds during the whole call is in the answer.
func (j *jobReader) readHolders(ctx context.Context, sessions []string, gone map[string]time.Time) ([]holder, error) {
	holders, scans := make([]holder, len(sessions)), make([]*redis.ScanCmd, len(sessions))
	pipe := j.client.Pipeline()
	for i, session := range sessions {
		holders[i] = holder{session: session, gone: gone[session], held: map[string]string{}}
		scans[i] = pipe.HScan(ctx, j.keys.inflight(session), 0, "", heldPerCommand)
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
			for at := 0; at+1 < len(pairs); at += 2 {
				holders[i].held[pairs[at]] = pairs[at+1]
			}
			if cursor == 0 {
				break
			}
			pairs, cursor, err = j.client.HScan(ctx, j.keys.inflight(sessions[i]), cursor, "", heldPerCommand).Result()
		}
		holders[i].worker = workerOf(holders[i].held[self])
		delete(holders[i].held, self)
	}
	return holders, nil
}

// idsAt returns the IDs at these positions.
func idsAt(ids []string, positions []int) []string {
	some := make([]string, len(positions))
	for i, at := range positions {
		some[i] = ids[at]
	}
	return some
}
