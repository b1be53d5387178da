//go:build real && unix

package real_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/redisstore"
)

// A commandCounter is a hook of a client that counts commands. A call of a script is one command, whatever it runs.
type commandCounter struct{ commands atomic.Int64 }

func (c *commandCounter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *commandCounter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.commands.Add(1)
		return next(ctx, cmd)
	}
}

func (c *commandCounter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.commands.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}

// The pages of a queue with ten thousand groups, of which some have rules and some are paused, send at most 400 commands each, as all other pages
// (TestAPageSendsAtMost400Commands). It needs a server: the simulated one sorts all members of a sorted set whenever one is added.
func TestThePageOfAQueueWithTenThousandGroupsSendsAtMost400Commands(t *testing.T) {
	const groups, maxCommands = 10_000, 400
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(&redis.Options{})
	var counter commandCounter
	client.AddHook(&counter)
	store := redisstore.New(client, redisstore.Options{})
	enqueuer, queues := chime.NewEnqueuer(store, chime.EnqueuerOptions{}), chime.NewQueues(store)
	var items []chime.Item
	for i := range groups {
		items = append(items, chime.Item{Name: "export", Options: []chime.EnqueueOption{chime.Queue("exports"), chime.Group(fmt.Sprint("tenant-", i))}})
	}
	for some := range slices.Chunk(items, 500) {
		if _, err := enqueuer.EnqueueMany(t.Context(), some); err != nil {
			t.Fatal(err)
		}
	}
	err := queues.SetGroups(t.Context(), "exports", chime.GroupRule{Running: 2, Starts: 100, Per: time.Minute})
	for i := range 30 {
		err = errors.Join(err, queues.SetGroup(t.Context(), "exports", fmt.Sprint("tenant-", i), chime.GroupRule{Weight: 5}),
			queues.PauseGroup(t.Context(), "exports", fmt.Sprint("tenant-", 100+i), chime.Note{Text: "disk full"}))
	}
	if err != nil {
		t.Fatal(err)
	}
	for address, shows := range map[string]string{
		"queues/exports": "<h2>Groups</h2>", "queues/exports?group=tenant-7": "tenant-7", "queues": "exports", "jobs?q=state%3Awaiting+group%3Atenant-7": "tenant-7",
	} {
		d := dashboard.New(store, dashboard.Options{})
		before := counter.commands.Load()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/"+address, nil)
		r.RemoteAddr, r.Host = "127.0.0.1:50000", "localhost:7080"
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		d.Close()
		n := counter.commands.Load() - before
		t.Logf("%4d commands, %d bytes: %s", n, w.Body.Len(), address)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), shows) {
			t.Errorf("%q is answered with status %d, want 200 and %q:\n%.2000s", address, w.Code, shows, w.Body)
		}
		if n == 0 || n > maxCommands {
			t.Errorf("%q sends %d commands, want at most %d", address, n, maxCommands)
		}
	}
}
