package overview_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A counter counts the commands of a client, and their keys, fields and arguments.
type counter struct{ commands, names atomic.Int64 }

func (c *counter) count(cmds ...redis.Cmder) {
	for _, cmd := range cmds {
		c.commands.Add(1)
		c.names.Add(int64(len(cmd.Args())))
	}
}

func (c *counter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { c.count(cmd); return next(ctx, cmd) }
}

func (c *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { c.count(cmds...); return next(ctx, cmds) }
}

// onEmbedded runs a test on its own store under fake time.
func onEmbedded(t *testing.T, test func(t *testing.T, server *embedded.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		defer server.Close()
		test(t, server)
	})
}

// work runs roles for a while.
func work(t *testing.T, d time.Duration, roles ...chime.Role) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := chime.Run(ctx, roles...); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func everyMinutes(t *testing.T) recurrence.Recurrence {
	return must(recurrence.Cron("*/5 * * * *"))(t)
}

// fillWith puts n jobs of each kind and schedules into a store, and leaves failed jobs.
func fillWith(t *testing.T, store chime.Store, jobs, schedules int) {
	t.Helper()
	enqueuer, all := chime.NewEnqueuer(store, chime.EnqueuerOptions{}), chime.NewSchedules(store)
	var items []chime.Item
	for i := range jobs {
		items = append(items,
			chime.Item{Name: "bad", Options: []chime.EnqueueOption{chime.Queue("failing"), chime.MaxAttempts(1)}},
			chime.Item{Name: "retried", Options: []chime.EnqueueOption{chime.Queue("failing"), chime.MaxAttempts(9)}},
			chime.Item{Name: "later", Options: []chime.EnqueueOption{chime.Queue("idle"), chime.In(time.Duration(i) * time.Millisecond)}},
			chime.Item{Name: "waits", Options: []chime.EnqueueOption{chime.Queue("idle")}})
	}
	for len(items) > 0 {
		n := min(len(items), 500)
		must(enqueuer.EnqueueMany(t.Context(), items[:n]))(t)
		items = items[n:]
	}
	for i := range schedules {
		must(all.Put(t.Context(), fmt.Sprintf("schedule-%05d", i), everyMinutes(t), chime.Queue("idle")))(t)
	}
	worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"failing": 1}, Concurrency: 50})
	fails := func(_ context.Context, job *chime.Job) error { return fmt.Errorf("%s: refused", job.ID) }
	worker.Handle("bad", fails)
	worker.Handle("retried", fails, chime.Backoff(func(int) time.Duration { return time.Hour }))
	work(t, 3*time.Minute, worker)
}

func TestWhatAPollCostsDoesNotGrowWithTheStore(t *testing.T) {
	cost := func(jobs, schedules int) (commands, names int64) {
		onEmbedded(t, func(t *testing.T, server *embedded.Server) {
			fillWith(t, server.Store(), jobs, schedules)
			var c counter
			server.Client().AddHook(&c)
			poller := overview.NewPoller(server.Store())
			for i := range 12 { // each window three times
				c.commands.Store(0)
				c.names.Store(0)
				must(poller.Poll(t.Context(), overview.Window(i/3)))(t)
				commands, names = max(commands, c.commands.Load()), max(names, c.names.Load())
				time.Sleep(2 * time.Second)
			}
		})
		return commands, names
	}
	few, fewNames := cost(20, 20)
	many, manyNames := cost(2000, 500)
	t.Logf("few: a poll sends at most %d commands that name %d things; many: %d that name %d", few, fewNames, many, manyNames)
	if few > 120 || many > few+30 || manyNames > 6000 {
		t.Error("want at most 120 commands, at most 30 more for a hundred times as many jobs, and at most 6000 names")
	}
}

func TestASnapshotHasWhatTheStoreHas(t *testing.T) {
	onEmbedded(t, func(t *testing.T, server *embedded.Server) {
		store := server.Store()
		poller := overview.NewPoller(store)
		if s := must(poller.Poll(t.Context(), overview.Hour))(t); len(s.Queues)+len(s.Next)+len(s.Running)+len(s.Failures)+len(s.Workers) > 0 || *s.Leader != (chime.Leader{}) {
			t.Errorf("an empty store: %+v", s)
		}
		enqueuer, schedules := chime.NewEnqueuer(store, chime.EnqueuerOptions{}), chime.NewSchedules(store)
		must(schedules.Put(t.Context(), "report", everyMinutes(t)))(t)
		for range 3 {
			must(enqueuer.Enqueue(t.Context(), "send", nil, chime.MaxAttempts(1)))(t)
		}
		must(enqueuer.Enqueue(t.Context(), "slow", nil, chime.Queue("media"), chime.ID("a")))(t)
		must(enqueuer.Enqueue(t.Context(), "slow", nil, chime.Queue("media"), chime.ID("b")))(t)
		worker := chime.NewWorker(store, chime.WorkerOptions{})
		worker.Handle("send", func(_ context.Context, job *chime.Job) error { return fmt.Errorf("%q: mailbox %d full", job.ID, 17) })
		worker.Handle("report", func(context.Context, *chime.Job) error { return nil })
		full := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"media": 1}, Concurrency: 2})
		full.Handle("slow", func(ctx context.Context, job *chime.Job) error {
			_ = job.Progress(0.5)
			<-ctx.Done()
			return ctx.Err()
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- chime.Run(ctx, worker, full, chime.NewScheduler(store, chime.SchedulerOptions{})) }()
		time.Sleep(30 * time.Second)
		must(poller.Poll(t.Context(), overview.Hour))(t)
		time.Sleep(30 * time.Second)
		must(enqueuer.Enqueue(t.Context(), "later", nil, chime.In(time.Hour)))(t)
		s := must(poller.Poll(t.Context(), overview.Hour))(t)
		stop()
		<-ended

		if s.Leader == nil || s.Leader.Name == "" || s.Leader.Term != 1 {
			t.Errorf("leader %+v, want one in term 1", s.Leader)
		}
		if q := s.Queues; len(q) != 2 || q[0].Name != "default" || q[0].Dead != 3 || !q[0].Known || q[0].In != 2 || q[1].Running != 2 {
			t.Errorf("queues %+v, want default with 3 dead and 2 a minute in, and media with 2 running", q)
		}
		if len(s.Next) != 1 || s.Next[0].Name != "report" {
			t.Errorf("next %v, want report", s.Next)
		}
		if len(s.Running) != 2 || s.Running[0].ID != "a" || len(s.Running[0].Progress) == 0 || s.Held != 2 {
			t.Errorf("running %v, want a and b with their progress", s.Running)
		}
		if len(s.Failures) != 1 || s.Failures[0].Count != 3 || s.Failures[0].Error != "#: mailbox # full" || len(s.Failures[0].Jobs) != 3 {
			t.Errorf("failures %+v, want one group of 3", s.Failures)
		}
		if w := sortedByBusy(s.Workers); len(w) != 2 || !w[0].Full.IsZero() || w[1].Busy != 2 || s.At.Sub(w[1].Full) != 30*time.Second {
			t.Errorf("workers %+v, want one that has been full for 30 s, and one that is not full", w)
		}
	})
}

// If many jobs run, they are counted and not listed. Jobs that a worker has taken ahead do not make a slot busy.
func TestWorkersAreAsBusyWhereManyJobsRun(t *testing.T) {
	onEmbedded(t, func(t *testing.T, server *embedded.Server) {
		store := server.Store()
		enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
		var items []chime.Item
		for i := range 700 {
			queue := []string{"busy", "calm"}[i/550]
			items = append(items, chime.Item{Name: "slow", Options: []chime.EnqueueOption{chime.Queue(queue)}})
		}
		must(enqueuer.EnqueueMany(t.Context(), items))(t)
		var roles []chime.Role
		for queue, slots := range map[string]int{"busy": 400, "calm": 200} {
			worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{queue: 1}, Concurrency: slots})
			worker.Handle("slow", func(ctx context.Context, _ *chime.Job) error { <-ctx.Done(); return ctx.Err() })
			roles = append(roles, worker)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- chime.Run(ctx, roles...) }()
		time.Sleep(10 * time.Second)
		s := must(overview.NewPoller(store).Poll(t.Context(), overview.Hour))(t)
		stop()
		<-ended
		if s.Held <= 500 || s.Notes[overview.Running] == "" || len(s.Running) == 0 {
			t.Fatalf("%d jobs are running or taken, %d shown, note %q; want more than 500, of which some are shown", s.Held, len(s.Running), s.Notes[overview.Running])
		}
		w := sortedByBusy(s.Workers)
		if len(w) != 2 || w[0].Busy != 150 || w[1].Busy != 400 || !w[0].Counted || !w[0].Full.IsZero() || w[1].Full.IsZero() {
			t.Errorf("workers %+v, want one with 150 of 200 slots busy, and one with all of its 400", w)
		}
	})
}

// Jobs of vanished workers are not shown, but they are in the lists of running jobs.
func TestListsWithManyJobsOfVanishedWorkersAreNotRead(t *testing.T) {
	onEmbedded(t, func(t *testing.T, server *embedded.Server) {
		enqueuer, client := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{}), server.Client()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		run := func(jobs int) {
			items := slices.Repeat([]chime.Item{{Name: "slow"}}, jobs)
			for some := range slices.Chunk(items, 500) {
				must(enqueuer.EnqueueMany(t.Context(), some))(t)
			}
			worker := chime.NewWorker(server.Store(), chime.WorkerOptions{Concurrency: jobs})
			worker.Handle("slow", func(ctx context.Context, _ *chime.Job) error { <-ctx.Done(); return ctx.Err() })
			go func() { ended <- chime.Run(ctx, worker) }()
			time.Sleep(time.Second)
		}
		run(600)
		const sessions = "chime:{default}:sessions"
		vanishing := client.ZRange(ctx, sessions, 0, -1).Val()
		run(1)
		for _, session := range vanishing {
			client.ZAddXX(ctx, sessions, redis.Z{Score: float64(time.Now().Add(-time.Millisecond).UnixMilli()), Member: session})
		}
		s, err := overview.NewPoller(server.Store()).Poll(ctx, overview.Hour)
		stop()
		_, _ = <-ended, <-ended
		if err != nil || s.Held != 1 || s.Notes[overview.Running] == "" {
			t.Errorf("%d jobs run, note %q, %v; want one, and that only some of the jobs were read", s.Held, s.Notes[overview.Running], err)
		}
	})
}

// The dead jobs of the last hour are read at once, for any number of older dead jobs.
func TestTheFirstPollHasTheFailuresOfTheLastHour(t *testing.T) {
	onEmbedded(t, func(t *testing.T, server *embedded.Server) {
		fillWith(t, server.Store(), 1200, 0)
		time.Sleep(2 * time.Hour)
		enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
		must(enqueuer.Enqueue(t.Context(), "new", nil, chime.Queue("failing"), chime.MaxAttempts(1)))(t)
		worker := chime.NewWorker(server.Store(), chime.WorkerOptions{Queues: map[string]int{"failing": 1}})
		worker.Handle("new", func(context.Context, *chime.Job) error { return errors.New("disk full") })
		work(t, time.Minute, worker)
		s := must(overview.NewPoller(server.Store()).Poll(t.Context(), overview.Hour))(t)
		found := slices.ContainsFunc(s.Failures, func(g overview.Group) bool {
			return g.Job == "new" && g.Error == "disk full" && g.Count == 1 && len(g.Jobs) == 1
		})
		if note := s.Notes[overview.Failures]; !found || note != "" {
			t.Errorf("failures %+v, note %q; want new: disk full, and no note", s.Failures, note)
		}
	})
}

// For any number of dead jobs within the hour, the first poll has the newest of them, and costs no more than for some hundred.
func TestTheFirstPollHasTheNewestFailuresOfManyAtOnce(t *testing.T) {
	onEmbedded(t, func(t *testing.T, server *embedded.Server) {
		fillWith(t, server.Store(), 2500, 0)
		enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
		must(enqueuer.Enqueue(t.Context(), "new", nil, chime.Queue("failing"), chime.MaxAttempts(1)))(t)
		worker := chime.NewWorker(server.Store(), chime.WorkerOptions{Queues: map[string]int{"failing": 1}})
		worker.Handle("new", func(context.Context, *chime.Job) error { return errors.New("disk full") })
		work(t, time.Minute, worker)
		counted := &commandsOf{names: map[string]int{}}
		server.Client().AddHook(counted)
		s := must(overview.NewPoller(server.Store()).Poll(t.Context(), overview.Hour))(t)
		found := slices.ContainsFunc(s.Failures, func(g overview.Group) bool { return g.Job == "new" && g.Error == "disk full" })
		if note := s.Notes[overview.Failures]; !found || note != "" {
			t.Errorf("the failures contain new: disk full: %v, note %q; want true, and no note", found, note)
		}
		if n := counted.names["zrange dead"]; n > 3 {
			t.Errorf("dead jobs were listed %d times, want 3 at most", n)
		}
	})
}

// A poll reads some of the queues with failures, and the next one the others, so that no queue is left out.
func TestFailuresOfAllQueuesAreReadInTurn(t *testing.T) {
	onEmbedded(t, func(t *testing.T, server *embedded.Server) {
		const queues = 12
		weights := map[string]int{}
		enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
		for i := range queues {
			queue := fmt.Sprintf("queue-%02d", i)
			weights[queue] = 1
			for range 1 + i%3 {
				must(enqueuer.Enqueue(t.Context(), "fail-"+queue, nil, chime.Queue(queue), chime.MaxAttempts(1)))(t)
			}
		}
		worker := chime.NewWorker(server.Store(), chime.WorkerOptions{Queues: weights})
		for queue := range weights {
			worker.Handle("fail-"+queue, func(context.Context, *chime.Job) error { return errors.New("disk full") })
		}
		work(t, time.Minute, worker)
		poller := overview.NewPoller(server.Store())
		if s := must(poller.Poll(t.Context(), overview.Hour))(t); s.Notes[overview.Failures] == "" {
			t.Errorf("the first poll has no note, and %d groups", len(s.Failures))
		}
		time.Sleep(2 * time.Second)
		s := must(poller.Poll(t.Context(), overview.Hour))(t)
		if len(s.Failures) != queues || s.Notes[overview.Failures] != "" {
			t.Errorf("the second poll has %d groups and the note %q, want %d and none", len(s.Failures), s.Notes[overview.Failures], queues)
		}
		for _, g := range s.Failures {
			if g.Error != "disk full" || int64(len(g.Jobs)) != g.Count {
				t.Errorf("group %+v, want all its jobs", g)
			}
		}
	})
}

func sortedByBusy(workers []overview.Worker) []overview.Worker {
	return slices.SortedFunc(slices.Values(workers), func(a, b overview.Worker) int { return a.Busy - b.Busy })
}

func TestAStoreThatDoesNotAnswerFailsThePoll(t *testing.T) {
	onEmbedded(t, func(t *testing.T, server *embedded.Server) {
		poller := overview.NewPoller(server.Store())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if s, err := poller.Poll(ctx, overview.Hour); err == nil || !strings.Contains(err.Error(), "list queues") {
			t.Errorf("got %v, %v", s, err)
		}
	})
}

// commandsOf counts the commands of a client by name and by the last part of their key: "zcard dead".
type commandsOf struct {
	mu    sync.Mutex
	names map[string]int
}

func (c *commandsOf) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *commandsOf) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { c.count(cmd); return next(ctx, cmd) }
}

func (c *commandsOf) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { c.count(cmds...); return next(ctx, cmds) }
}

func (c *commandsOf) count(cmds ...redis.Cmder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cmd := range cmds {
		args, at := cmd.Args(), 1
		if strings.HasPrefix(cmd.Name(), "eval") {
			at = 3 // the first key of a script
		}
		if len(args) > at {
			_, key, _ := strings.Cut(fmt.Sprint(args[at]), "}:")
			c.names[cmd.Name()+" "+key]++
		}
	}
}

// Queues are counted once in each poll. If a queue never had a retry, its delayed jobs are not searched for retries: most of them are occurrences.
func TestAPollReadsNothingTwiceAndNothingInVain(t *testing.T) {
	onEmbedded(t, func(t *testing.T, server *embedded.Server) {
		store := server.Store()
		queues := map[string]int{}
		for i := range 5 {
			queue := fmt.Sprint("queue", i)
			queues[queue] = 1
			must(chime.NewSchedules(store).Put(t.Context(), queue, everyMinutes(t), chime.Queue(queue), chime.JobName("fail"), chime.MaxAttempts(1)))(t)
		}
		worker := chime.NewWorker(store, chime.WorkerOptions{Queues: queues})
		worker.Handle("fail", func(context.Context, *chime.Job) error { return errors.New("no") })
		work(t, 10*time.Minute, worker, chime.NewScheduler(store, chime.SchedulerOptions{})) // a worker that has just ended serves the queues
		counted := &commandsOf{names: map[string]int{}}
		server.Client().AddHook(counted)
		s := must(overview.NewPoller(store).Poll(t.Context(), overview.Hour))(t)
		if len(s.Failures) != 1 || len(s.Failures[0].Queues) != 5 {
			t.Fatalf("failures %+v, want one group on 5 queues", s.Failures)
		}
		if n := counted.names["evalsha_ro state"]; n != 5 { // count_queue.lua
			t.Errorf("5 queues were counted %d times: %v", n, counted.names)
		}
		if n := counted.names["hmget crashes"]; n > 5 { // one command for the dead jobs of each queue
			t.Errorf("the bodies of jobs were read %d times, want 5", n)
		}
	})
}
