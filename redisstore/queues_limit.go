package redisstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
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
	k, name := s.keys.partition(p), rand.Text()
	for range maxLimitTries {
		sessions, err := s.client.ZRange(ctx, k.sessions, 0, -1).Result()
		if err != nil {
			return failure("limit queue", p.Queue, err)
		}
		keys := []string{k.state, k.idle, k.due, k.ready, k.sessions, k.callers, k.turns, k.opens}
		args := []any{s.keys.wake(), "", "", "", name}
		if limit != nil {
			args = []any{s.keys.wake(), limit.Running, limit.Starts, perMilli(limit.Per), name}
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
	flights    int64
	pairs      []string // of starts
	unreadable bool
}

// limitPattern is the form of the field limit: the limit and its flights, then the tokens of a layout before 4, or the pairs of starts.
var limitPattern = regexp.MustCompile(`^(\d{1,7}) (\d{1,7}) (\d{1,10}) (\d{1,16})(?: (\d{1,16}) (\d{1,16})|((?: \d{1,16}[:]\d{1,13}[:]\d{1,7})*))$`)

// parseLimit reads the field limit as the scripts do; an empty text means that there is no limit.
func parseLimit(text string) storedLimit {
	if text == "" {
		return storedLimit{}
	}
	parts := limitPattern.FindStringSubmatch(text)
	if parts == nil {
		return storedLimit{unreadable: true}
	}
	var numbers [6]int64
	for i := range numbers {
		numbers[i], _ = strconv.ParseInt(parts[i+1], 10, 64) // tokens may be missing
	}
	running, starts, per := numbers[0], numbers[1], numbers[2]
	if running > protocol.MaxLimit || starts > protocol.MaxLimit || per > protocol.MaxPer.Milliseconds() || starts > 0 && per == 0 {
		return storedLimit{unreadable: true}
	}
	pairs := strings.Fields(parts[7])
	if parts[5] != "" && starts > 0 {
		pairs = []string{fmt.Sprintf("%d:0:%d", 1000*numbers[5], starts-min(numbers[4]/per, starts))}
	}
	return storedLimit{
		QueueLimit: protocol.QueueLimit{Running: int(running), Starts: int(starts), Per: time.Duration(per) * time.Millisecond}, flights: numbers[3], pairs: pairs,
	}
}

// state returns the current state of the limit, computed as the scripts do.
func (l *storedLimit) state(now time.Time) protocol.LimitState {
	switch {
	case l.unreadable, l.Running > 0 && l.flights >= int64(l.Running):
		return protocol.LimitFull
	case l.QueueLimit == protocol.QueueLimit{}:
		return protocol.Unlimited
	case l.Starts > 0 && l.used(now) >= l.Starts:
		return protocol.LimitSpent
	}
	return protocol.LimitOpen
}

// used returns how many starts count.
func (l *storedLimit) used(now time.Time) (n int) {
	for _, pair := range l.pairs {
		parts := strings.Split(pair, ":")
		last, _ := strconv.ParseInt(parts[0], 10, 64)
		if starts, err := strconv.Atoi(parts[2]); err == nil && now.UnixMicro()-last <= l.Per.Microseconds() {
			n += starts
		}
	}
	return n
}
