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

var announceScript = scripts.Load("workers/announce")

const (
	maxAnnounce           = 500             // job names in a call
	announcementRetention = 9 * time.Minute // a worker announces every four minutes what it handles
)

// Announce records that a live worker handles jobs of these names, in every partition of their queues, and that it serves the queues.
func (s *store) Announce(ctx context.Context, worker string, handled []protocol.Handled) error {
	if s.bad != nil {
		return s.bad
	}
	var queues []string
	names := make(map[string][]string)
	for _, h := range handled {
		if names[h.Queue] == nil {
			queues = append(queues, h.Queue)
		}
		names[h.Queue] = append(names[h.Queue], h.Name)
	}
	failed := []error{s.serve(ctx, handled)}
	found, err := s.lookUpQueues(ctx, queues...)
	if err != nil {
		return errors.Join(append(failed, err)...)
	}
	var sent []call
	for i, queue := range queues {
		for index := range found[i].partitions {
			k := s.keys.partition(protocol.Partition{Queue: queue, Index: index})
			for chunk := range slices.Chunk(names[queue], maxAnnounce) {
				args := []any{worker}
				for _, name := range chunk {
					args = append(args, name)
				}
				sent = append(sent, newCall(&announceScript, []string{k.handlers}, args))
			}
		}
	}
	for chunk := range slices.Chunk(sent, maxAnnounce) {
		for _, cmd := range s.run(ctx, s.client, chunk...) {
			if err := cmd.Err(); err != nil {
				failed = append(failed, failure("announce handlers", "", err))
			}
		}
	}
	return errors.Join(failed...)
}

// Unhandled returns those that no worker has announced within the last nine minutes.
func (s *store) Unhandled(ctx context.Context, asked []protocol.Handled) ([]protocol.Handled, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	var missing []protocol.Handled
	for chunk := range slices.Chunk(asked, maxAnnounce) {
		pipe := s.client.Pipeline()
		now := pipe.Time(ctx)
		entries := make([]*redis.SliceCmd, len(chunk))
		for i, h := range chunk {
			k := s.keys.partition(protocol.Partition{Queue: h.Queue})
			entries[i] = pipe.HMGet(ctx, k.handlers, h.Name)
		}
		cmds, err := pipe.Exec(ctx)
		if err := cmp.Or(err, complete(cmds...)); err != nil {
			return nil, failure("look up handlers", "", err)
		}
		since := now.Val().Add(-announcementRetention).Unix()
		for i, entry := range entries {
			if announcedAt(reply(entry.Val()).text(0)) < since {
				missing = append(missing, chunk[i])
			}
		}
	}
	return missing, nil
}

// announcedAt returns when a worker has announced a name last, Unix s; 0: none has. The entry begins with that one.
func announcedAt(entry string) int64 {
	_, rest, _ := strings.Cut(entry, " ")
	at, _, _ := strings.Cut(rest, " ")
	s, _ := strconv.ParseInt(at, 10, 64)
	return s
}
