package pages

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A counter counts the commands of a client, and their arguments.
type counter struct{ commands, arguments atomic.Int64 }

func (c *counter) count(cmds ...redis.Cmder) {
	for _, cmd := range cmds {
		c.commands.Add(1)
		c.arguments.Add(int64(len(cmd.Args())))
	}
}

func (c *counter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { c.count(cmd); return next(ctx, cmd) }
}

func (c *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.count(cmds...)
		return next(ctx, cmds)
	}
}

// A page of jobs costs few commands. Data that all pages share is not counted. A search for an ID sends five commands for each queue, and reads only
// the queues that may have it.
func TestPagesOfJobsCostSoManyCommandsAtMost(t *testing.T) {
	onShop(t, func(t *testing.T, server *embedded.Server) {
		const queues = 24
		enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
		for i := range queues {
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
		for _, page := range []struct {
			name string
			load func() error
			most int64
		}{
			{"a list", func() error { _, err := readPage(t, site.Jobs, "limit=200"); return err }, 120},
			{"a filter", func() error { _, err := readPage(t, site.Jobs, "q=older:1h"); return err }, 120},
			{"failures", func() error { _, err := readPage(t, site.Failures, ""); return err }, 60},
			{"a job", func() error { _, err := readPage(t, site.Job, "", "queue", "media", "id", "r03"); return err }, 40},
			{"a search", func() error { _, err := readPage(t, site.Search, "q=nothing"); return err }, 5*queues + 30},
			{"a search for an occurrence", func() error { _, err := readPage(t, site.Search, "q=no@2026-03-08T09:00:00Z"); return err }, 5*queues + 30},
			{"a search for a job", func() error { _, err := readPage(t, site.Search, "q=r03"); return err }, 5*queues + 40},
		} {
			c.commands.Store(0)
			if err := page.load(); err != nil {
				t.Fatal(err)
			}
			if c.commands.Load() > page.most {
				t.Errorf("%s sends %d commands, want at most %d", page.name, c.commands.Load(), page.most)
			}
		}
	})
}

// A list of schedules reads the runs of all shown schedules together. Data that all pages share and the list of all schedules are not counted.
func TestAListOfSchedulesReadsTheirRunsTogether(t *testing.T) {
	onShop(t, func(t *testing.T, server *embedded.Server) {
		schedules := chime.NewSchedules(server.Store())
		for i := range 20 {
			rule := recurrence.Recurrence{Cron: "* * * * *"}
			if _, err := schedules.Put(t.Context(), fmt.Sprintf("s%02d", i), rule, chime.Queue("media"), chime.JobName("resize"), chime.MaxAttempts(1)); err != nil {
				t.Fatal(err)
			}
		}
		worker := chime.NewWorker(server.Store(), chime.WorkerOptions{Queues: map[string]int{"media": 1}, Logger: slog.New(slog.DiscardHandler)})
		worker.Handle("resize", func(context.Context, *chime.Job) error { return nil })
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
		defer stop()
		if err := chime.Run(ctx, worker, chime.NewScheduler(server.Store(), chime.SchedulerOptions{Logger: slog.New(slog.DiscardHandler)})); err != nil {
			t.Fatal(err)
		}
		site := NewSite(server.Store(), Hooks{})
		for _, load := range []func(context.Context, *Request) (View, error){site.Overview, site.Schedules} {
			if _, err := site.Standing(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := site.directory.get(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			site.runs, site.lastRuns = newHistories(site.readRuns), lastRuns{}
			var c counter
			server.Client().AddHook(&c)
			view, err := readPage(t, load, "")
			if err != nil {
				t.Fatal(err)
			}
			if n := c.commands.Load(); n > 50 {
				t.Errorf("%s sends %d commands, want at most 50", view.Title, n)
			}
		}
	})
}

// A list of fifty delayed jobs reads only some of the delayed jobs.
func TestAListOfDelayedJobsReadsLittleMoreThanItShows(t *testing.T) {
	onShop(t, func(t *testing.T, server *embedded.Server) {
		items := make([]chime.Item, 500)
		for i := range items {
			items[i] = chime.Item{Name: "later", Options: []chime.EnqueueOption{chime.Queue("later"), chime.In(time.Hour)}}
		}
		if _, err := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{}).EnqueueMany(t.Context(), items); err != nil {
			t.Fatal(err)
		}
		site := NewSite(server.Store(), Hooks{})
		if _, err := site.Standing(t.Context()); err != nil {
			t.Fatal(err)
		}
		var c counter
		server.Client().AddHook(&c)
		if m := jobsPage(t, site, "state=delayed&queue=later"); len(m.Rows) != 50 {
			t.Fatalf("the list has %d jobs, want 50", len(m.Rows))
		}
		if n := c.arguments.Load(); n > 600 { // body and place of 200 jobs
			t.Errorf("the commands have %d arguments, want at most 600", n)
		}
	})
}
