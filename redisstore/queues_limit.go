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

var limitQueueScript = scripts.Load("queues/limit_queue")

// maxLimitTries is how often the sessions of a partition are read while others begin.
const maxLimitTries = 50

var errSessionsChange = errors.New("redisstore: sessions begin faster than they can be counted: try again")

// LimitQueue sets the limit of a queue, or removes it with the zero limit, and recounts the running jobs. It registers the queue if it
// sets a limit.
func (s *store) LimitQueue(ctx context.Context, queue string, limit protocol.QueueLimit) error {
	found, err := s.queues.lookUp(ctx, queue)
	if err := cmp.Or(err, firstError(found)); err != nil {
		return err
	}
	partitions := found[0].partitions
	switch none := limit == (protocol.QueueLimit{}); {
	case none && partitions != 1:
		return nil // a queue with several has no limit
	case partitions == 0:
		if partitions, err = s.queues.register(ctx, queue); err != nil {
			return err
		}
	}
	if partitions != 1 {
		e := protocol.Invalid("queue", queue, "a queue with one partition: a limit holds for a whole queue")
		return protocol.Because(e, fmt.Sprintf("has %d partitions", partitions))
	}
	return s.limit(ctx, protocol.Partition{Queue: queue}, &limit)
}

// limit sets the limit of a partition and recounts its flights; nil: it only counts them.
func (s *store) limit(ctx context.Context, p protocol.Partition, limit *protocol.QueueLimit) error {
	k := s.keys.partition(p)
	for range maxLimitTries {
		sessions, err := s.client.ZRange(ctx, k.sessions, 0, -1).Result()
		if err != nil {
			return failure("limit queue", p.Queue, err)
		}
		keys := []string{k.state, k.idle, k.due, k.ready, k.sessions, k.callers}
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

// perMilli returns a duration in whole milliseconds, rounded up.
func perMilli(per time.Duration) int64 {
	return int64((per + time.Millisecond - 1) / time.Millisecond)
}

// A storedLimit is the field limit of …:state, see scripts/lib/queuelimit.lua.
type storedLimit struct {
	protocol.QueueLimit
	flights, tokens, refilled int64 // refilled: Unix ms; a token is as many units as Per has ms
}

// parseLimit reads the field limit. A field that cannot be read is no limit.
func parseLimit(text string) (limit storedLimit) {
	fields := strings.Fields(text)
	if len(fields) != 6 {
		return limit
	}
	numbers := make([]int64, len(fields))
	for i, field := range fields {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil || n < 0 || len(field) > 16 {
			return limit
		}
		numbers[i] = n
	}
	running, starts, per := numbers[0], numbers[1], numbers[2]
	if running > protocol.MaxLimit || starts > protocol.MaxLimit || per > protocol.MaxPer.Milliseconds() || starts > 0 && per == 0 {
		return limit
	}
	return storedLimit{
		protocol.QueueLimit{Running: int(running), Starts: int(starts), Per: time.Duration(per) * time.Millisecond}, numbers[3], numbers[4], numbers[5],
	}
}

// state returns the current state of the limit, computed as the scripts do.
func (l *storedLimit) state(now time.Time) protocol.LimitState {
	switch {
	case l.QueueLimit == protocol.QueueLimit{}:
		return protocol.Unlimited
	case l.Running > 0 && l.flights >= int64(l.Running):
		return protocol.LimitFull
	case l.Starts > 0 && float64(l.tokens)+float64(max(now.UnixMilli()-l.refilled, 0))*float64(l.Starts) < float64(l.Per.Milliseconds()):
		return protocol.LimitSpent
	}
	return protocol.LimitOpen
}
