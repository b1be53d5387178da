package redisstore

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// The queues that live workers serve are a sorted set of the namespace: schedulers look after these at each look, and after the other
// registered queues, of which there may be any number, in turn.

var serveScript = scripts.Load("workers/serve")

const (
	maxServed       = 10_000    // queues that Served finds: those announced last
	serveEvery      = time.Hour // and at once where the registry has lost the queue
	servedRetention = 3 * serveEvery
)

// serve records, once an hour, that a live worker serves the queues of what it handles. It registers them too, because a server that was restarted
// empty has lost the registry. A queue that cannot be registered is named in the error and holds up no other.
func (s *store) serve(ctx context.Context, handled []protocol.Handled) error {
	var queues []string
	for _, h := range handled {
		queues = append(queues, h.Queue)
	}
	slices.Sort(queues)
	queues = slices.Compact(queues)
	found, err := s.lookUpQueues(ctx, queues...)
	if err != nil {
		return err
	}
	var failed []error
	for i, queue := range queues {
		switch n := s.learned(queue); {
		case found[i].err != nil:
			failed = append(failed, found[i].err)
		case found[i].partitions == 0 || n > 0 && n != found[i].partitions:
			if _, err := s.registerQueue(ctx, queue); err != nil {
				failed = append(failed, err)
			}
			s.mu.Lock()
			delete(s.servedAt, queue)
			s.mu.Unlock()
		}
	}
	for some := range slices.Chunk(s.unserved(queues), protocol.MaxItems) {
		args := make([]any, len(some))
		for i, queue := range some {
			args[i] = queue
		}
		if err := s.run(ctx, s.client, newCall(&serveScript, []string{s.keys.served()}, args))[0].Err(); err != nil {
			failed = append(failed, failure("announce queues in", s.keys.served(), err))
			continue
		}
		s.mu.Lock()
		for _, queue := range some {
			s.servedAt[queue] = time.Now()
		}
		s.mu.Unlock()
	}
	return errors.Join(failed...)
}

// unserved returns those of queues that this process has not announced within serveEvery.
func (s *store) unserved(queues []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(queues), func(queue string) bool { return time.Since(s.servedAt[queue]) < serveEvery })
}

// Served returns the queues that live workers have announced within the last three hours, and those of also, as far as they are
// registered: each once, in the order of the names.
func (s *store) Served(ctx context.Context, also []string) ([]protocol.QueueSize, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	now, err := s.client.Time(ctx).Result()
	if err != nil {
		return nil, failure("look up served queues in", s.keys.served(), err)
	}
	since := strconv.FormatInt(now.Add(-servedRetention).UnixMilli(), 10)
	live, err := s.client.ZRevRangeByScore(ctx, s.keys.served(), &redis.ZRangeBy{Min: since, Max: "+inf", Count: maxServed}).Result()
	if err != nil {
		return nil, failure("look up served queues in", s.keys.served(), err)
	}
	queues := slices.Concat(also, live)
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
