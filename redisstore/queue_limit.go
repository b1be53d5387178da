package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

var limitQueueScript = load("limit_queue")

// maxLimitTries is how often the sessions of a partition are read while others begin.
const maxLimitTries = 50

var errSessionsChange = errors.New("redisstore: sessions begin faster than they can be counted: try again")

// LimitQueue sets the limit of a queue, or takes it away with the zero limit, and counts what runs anew. It registers a queue that is to
// have a limit.
func (s *store) LimitQueue(ctx context.Context, queue string, limit protocol.QueueLimit) error {
	found, err := s.lookUpQueues(ctx, queue)
	if err := cmp.Or(err, firstError(found)); err != nil {
		return err
	}
	partitions := found[0].partitions
	switch none := limit == (protocol.QueueLimit{}); {
	case none && partitions != 1:
		return nil // a queue with several has none
	case partitions == 0:
		if partitions, err = s.registerQueue(ctx, queue); err != nil {
			return err
		}
	}
	if partitions != 1 {
		e := protocol.Invalid("queue", queue, "a queue with one partition: a limit holds for a whole queue")
		return protocol.Because(e, fmt.Sprintf("has %d partitions", partitions))
	}
	return s.limit(ctx, protocol.Partition{Queue: queue}, &limit)
}

// limit sets the limit of a partition and counts its flights anew; nil: it only counts them.
func (s *store) limit(ctx context.Context, p protocol.Partition, limit *protocol.QueueLimit) error {
	k := s.keys.partition(p)
	for range maxLimitTries {
		sessions, err := s.client.ZRange(ctx, k.sessions, 0, -1).Result()
		if err != nil {
			return failure("limit queue", p.Queue, err)
		}
		keys := []string{k.state, k.idle, k.due, k.ready, k.sessions}
		args := []any{s.keys.wake(), "", "", ""}
		if limit != nil {
			args = []any{s.keys.wake(), limit.Running, limit.Starts, perMilli(limit.Per)}
		}
		for _, session := range sessions {
			keys, args = append(keys, k.inflight(session)), append(args, session)
		}
		counted, err := s.run(ctx, s.client, newCall(&limitQueueScript, keys, args))[0].Int()
		if err != nil {
			return failure("limit queue", p.Queue, err)
		}
		if counted == 1 {
			return nil
		}
	}
	return errSessionsChange
}

// perMilli is a time in whole milliseconds, rounded up.
func perMilli(per time.Duration) int64 {
	return int64((per + time.Millisecond - 1) / time.Millisecond)
}

// parseLimit reads the field limit of …:state, see scripts/lib/queuelimit.lua. What cannot be read is no limit.
func parseLimit(text string) (limit protocol.QueueLimit) {
	fields := strings.Fields(text)
	if len(fields) != 6 {
		return limit
	}
	numbers := make([]int, len(fields))
	for i, field := range fields {
		n, err := strconv.Atoi(field)
		if err != nil || n < 0 || len(field) > 16 {
			return limit
		}
		numbers[i] = n
	}
	if per := numbers[2]; numbers[0] <= protocol.MaxLimit && numbers[1] <= protocol.MaxLimit && (per > 0 || numbers[1] == 0) && per <= int(protocol.MaxPer/time.Millisecond) {
		limit = protocol.QueueLimit{Running: numbers[0], Starts: numbers[1], Per: time.Duration(per) * time.Millisecond}
	}
	return limit
}
