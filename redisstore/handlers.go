package redisstore

import (
	"context"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

var announceScript = load("announce")

const (
	announceBatch = 500
	announcedFor  = 5 * time.Minute // a worker says every other minute what it handles
)

// Announce says that a live worker handles jobs of these names on these queues. It writes the queues into the registry too, so
// that one lost with its server is known again to the schedulers, which reap and sweep what the registry lists.
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
	known, err := s.client.HMGet(ctx, s.keys.queues(), queues...).Result()
	if err != nil {
		return failure("look for the queues in", s.keys.queues(), err)
	}
	for i, queue := range queues {
		if known[i] == nil {
			if _, err := s.registerQueue(ctx, queue); err != nil {
				return err
			}
		}
	}
	for chunk := range slices.Chunk(handled, announceBatch) {
		args := make([]any, len(chunk))
		for i, h := range chunk {
			args[i] = h.Queue + " " + h.Name
		}
		if err := s.run(ctx, s.client, newCall(&announceScript, []string{s.keys.handlers()}, args))[0].Err(); err != nil {
			return failure("announce the handlers in", s.keys.handlers(), err)
		}
	}
	return nil
}

// Unhandled returns those that no live worker has announced.
func (s *store) Unhandled(ctx context.Context, asked []protocol.Handled) ([]protocol.Handled, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	var missing []protocol.Handled
	for chunk := range slices.Chunk(asked, announceBatch) {
		members := make([]string, len(chunk))
		for i, h := range chunk {
			members[i] = h.Queue + " " + h.Name
		}
		pipe := s.client.Pipeline()
		now, scores := pipe.Time(ctx), pipe.ZMScore(ctx, s.keys.handlers(), members...)
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, failure("look for handlers in", s.keys.handlers(), err)
		}
		since := float64(now.Val().Add(-announcedFor).UnixMilli())
		for i, score := range scores.Val() {
			if score < since {
				missing = append(missing, chunk[i])
			}
		}
	}
	return missing, nil
}
