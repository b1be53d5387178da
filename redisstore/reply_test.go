package redisstore

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// A shortener empties the reply to the nth HMGET or ZMSCORE of a client, as a broken proxy may.
type shortener struct {
	nth, seen int
}

func (s *shortener) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *shortener) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		s.shorten(cmd)
		return err
	}
}

func (s *shortener) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			s.shorten(cmd)
		}
		return err
	}
}

func (s *shortener) shorten(cmd redis.Cmder) {
	if name := cmd.Name(); name != "hmget" && name != "zmscore" && name != "evalsha_ro" {
		return
	}
	s.seen++
	if s.seen != s.nth {
		return
	}
	switch c := cmd.(type) {
	case *redis.SliceCmd:
		c.SetVal(nil)
	case *redis.FloatSliceCmd:
		c.SetVal(nil)
	case *redis.Cmd:
		c.SetVal([]any{})
	}
}

func TestAReplyWithoutAllValuesIsAnError(t *testing.T) {
	onServersWith(t, hookedCalls, func(b *bench) {
		b.Scheduled("s", "skip", time.Now().Add(time.Hour))
		handled := []protocol.Handled{{Queue: "default", Name: "j"}}
		cut := &shortener{}
		b.client.AddHook(cut)
		for name, call := range map[string]func() error{
			"Find":       func() error { _, err := b.store.Find(b.Context(), []string{"s"}); return err },
			"Soonest":    func() error { _, err := b.store.Soonest(b.Context(), 5, nil); return err },
			"Announce":   func() error { return b.store.Announce(b.Context(), "w", handled) },
			"Unhandled":  func() error { _, err := b.store.Unhandled(b.Context(), handled); return err },
			"QueueStats": func() error { _, err := b.store.QueueStats(b.Context(), []string{"default"}); return err },
			"FindJobs": func() error {
				_, err := b.store.FindJobs(b.Context(), "default", []string{"a"})
				return err
			},
			"PageJobs": func() error {
				_, err := b.store.PageJobs(b.Context(), protocol.JobPageCall{Queue: "default", State: protocol.JobDelayed, Limit: 1})
				return err
			},
		} {
			cut.nth, cut.seen = 0, 0
			if err := call(); err != nil || cut.seen == 0 {
				b.Fatalf("%s: %v with %d commands that can be cut, want none and some", name, err, cut.seen)
			}
			for nth := range cut.seen {
				cut.nth, cut.seen = nth+1, 0
				err := call()
				if err == nil || !strings.Contains(err.Error(), "answered 0 values, want") && !strings.Contains(err.Error(), errShortAnswer.Error()) {
					b.Errorf("%s: %v when reply %d is cut, want an error with that text", name, err, nth+1)
				}
			}
		}
	})
}
