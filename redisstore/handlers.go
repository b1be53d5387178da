package redisstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

var announceScript = load("announce")

const (
	maxAnnounce           = 500             // handlers in a call
	announcementRetention = 5 * time.Minute // a worker announces every other minute what it handles
)

// Announce records that a live worker handles jobs of these names on these queues, and that it serves the queues.
func (s *store) Announce(ctx context.Context, handled []protocol.Handled) error {
	if s.bad != nil {
		return s.bad
	}
	unserved := s.serve(ctx, handled)
	for chunk := range slices.Chunk(handled, maxAnnounce) {
		args := make([]any, len(chunk))
		for i, h := range chunk {
			args[i] = handlerMember(h)
		}
		if err := s.run(ctx, s.client, newCall(&announceScript, []string{s.keys.handlers()}, args))[0].Err(); err != nil {
			return failure("announce handlers in", s.keys.handlers(), err)
		}
	}
	return unserved
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
