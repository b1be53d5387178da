package redisstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var announceScript = load("announce")

const (
	maxAnnounce           = 500             // handlers in a call
	announcementRetention = 5 * time.Minute // a worker announces every other minute what it handles
	maxServed             = 20_000          // handlers whose queues Served finds; those announced last
)

// Announce records that a live worker handles jobs of these names on these queues. It registers the queues too: schedulers reap and
// sweep the queues in the registry, and a server that was restarted empty has lost it.
func (s *store) Announce(ctx context.Context, handled []protocol.Handled) error {
	if s.bad != nil {
		return s.bad
	}
	var queues []string
	for _, h := range handled {
		if !slices.Contains(queues, h.Queue) {
			queues = append(queues, h.Queue)
		}
	}
	if len(queues) == 0 {
		return nil
	}
	known, err := s.lookUpQueues(ctx, queues...)
	if err != nil {
		return err
	}
	var failed []error
	for i, queue := range queues {
		switch n := s.learned(queue); {
		case known[i].err != nil:
			failed = append(failed, known[i].err)
		case known[i].partitions == 0 || n > 0 && n != known[i].partitions:
			if _, err := s.registerQueue(ctx, queue); err != nil {
				failed = append(failed, err)
			}
		}
	}
	for chunk := range slices.Chunk(handled, maxAnnounce) {
		args := make([]any, len(chunk))
		for i, h := range chunk {
			args[i] = handlerMember(h)
		}
		if err := s.run(ctx, s.client, newCall(&announceScript, []string{s.keys.handlers()}, args))[0].Err(); err != nil {
			return failure("announce handlers in", s.keys.handlers(), err)
		}
	}
	return errors.Join(failed...)
}

// Served returns the queues that workers have announced within the last five minutes, and those of also, as far as they are
// registered: each once, in the order of the names.
func (s *store) Served(ctx context.Context, also []string) ([]protocol.QueueSize, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	now, err := s.client.Time(ctx).Result()
	if err != nil {
		return nil, failure("look up handlers in", s.keys.handlers(), err)
	}
	since := strconv.FormatInt(now.Add(-announcementRetention).UnixMilli(), 10)
	live, err := s.client.ZRevRangeByScore(ctx, s.keys.handlers(), &redis.ZRangeBy{Min: since, Max: "+inf", Count: maxServed}).Result()
	if err != nil {
		return nil, failure("look up handlers in", s.keys.handlers(), err)
	}
	queues := slices.Clone(also)
	for _, member := range live {
		if queue, _, ok := strings.Cut(member, " "); ok {
			queues = append(queues, queue)
		}
	}
	slices.Sort(queues)
	queues = slices.Compact(queues)
	found, err := s.lookUpQueues(ctx, queues...)
	if err != nil {
		return nil, err
	}
	var served []protocol.QueueSize
	for i, queue := range queues {
		if found[i].err != nil {
			s.unreadable(ctx, queue, found[i].err)
		} else if found[i].partitions > 0 {
			served = append(served, protocol.QueueSize{Queue: queue, Partitions: found[i].partitions})
		}
	}
	return served, nil
}

// Unhandled returns those that no worker has announced within the last five minutes.
func (s *store) Unhandled(ctx context.Context, asked []protocol.Handled) ([]protocol.Handled, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	var missing []protocol.Handled
	for chunk := range slices.Chunk(asked, maxAnnounce) {
		members := make([]string, len(chunk))
		for i, h := range chunk {
			members[i] = handlerMember(h)
		}
		pipe := s.client.Pipeline()
		now, scores := pipe.Time(ctx), pipe.ZMScore(ctx, s.keys.handlers(), members...)
		cmds, err := pipe.Exec(ctx)
		if err := cmp.Or(err, complete(cmds...)); err != nil {
			return nil, failure("look up handlers in", s.keys.handlers(), err)
		}
		since := float64(now.Val().Add(-announcementRetention).UnixMilli())
		for i, score := range scores.Val() {
			if score < since {
				missing = append(missing, chunk[i])
			}
		}
	}
	return missing, nil
}

// handlerMember is the member for a job name on a queue; neither contains a space.
func handlerMember(h protocol.Handled) string { return h.Queue + " " + h.Name }
