package pages

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A counter counts the commands of a client.
type counter struct{ commands atomic.Int64 }

func (c *counter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { c.commands.Add(1); return next(ctx, cmd) }
}

func (c *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.commands.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}

// A page of jobs costs at most 400 commands. What all pages have in common is not counted. A search for an ID asks each queue, with a dozen.
func TestPagesOfJobsCostSoManyCommandsAtMost(t *testing.T) {
	onShop(t, func(t *testing.T, server *embedded.Server) {
		enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
		for i := range 24 {
			var items []chime.Item
			for range 20 {
				items = append(items, chime.Item{Name: "wait", Options: []chime.EnqueueOption{chime.Queue(fmt.Sprintf("queue%03d", i))}})
			}
			if _, err := enqueuer.EnqueueMany(t.Context(), items); err != nil {
				t.Fatal(err)
			}
		}
		site := NewSite(server.Store(), Hooks{})
		if _, err := site.Standing(t.Context()); err != nil {
			t.Fatal(err)
		}
		var c counter
		server.Client().AddHook(&c)
		for name, load := range map[string]func() error{
			"a list":   func() error { _, err := readPage(t, site.Jobs, "limit=200"); return err },
			"a filter": func() error { _, err := readPage(t, site.Jobs, "q=older:1h"); return err },
			"failures": func() error { _, err := readPage(t, site.Failures, ""); return err },
			"a job":    func() error { _, err := readPage(t, site.Job, "", "queue", "media", "id", "r03"); return err },
			"a search": func() error { _, err := readPage(t, site.Search, "q=nothing"); return err },
		} {
			c.commands.Store(0)
			if err := load(); err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %d commands", name, c.commands.Load())
			if c.commands.Load() > 400 {
				t.Errorf("%s sends %d commands, want at most 400", name, c.commands.Load())
			}
		}
	})
}
