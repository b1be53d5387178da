//go:build real && unix

package real_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/childproc"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
)

func TestMain(m *testing.M) {
	childproc.Main(m, map[string]childproc.Role{"worker": workerProcess, "scheduler": schedulerProcess, "starved": starvedProcess, "grouped": groupedProcess, "older": olderProcess, "batch creator": batchCreator, "batch worker": batchWorker, "batch carrier": batchCarrier})
}

// program is the configuration of a child process.
type program struct {
	Addr    string
	Work    time.Duration // the duration of every job
	Dies    bool          // the worker kills itself after a handler has succeeded and before it settles the job
	Retries int           // of its Redis client; 0: the client's default
}

// quickTTL is the session TTL of tests that wait until a crash is noticed. A heartbeat may come two seconds late before a live worker loses its
// session.
const quickTTL = 3 * time.Second

func (p program) store() *redisstore.Store {
	return redisstore.New(redis.NewClient(&redis.Options{Addr: p.Addr, MaxRetries: p.Retries}), redisstore.Options{})
}

var errorsOnly = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))

// run runs roles until the process gets a signal.
func run(c *childproc.Child, roles ...chime.Role) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		<-c.Signals
		stop()
	}()
	c.Say("ready")
	return chime.Run(ctx, roles...)
}

// workerProcess handles "beat". It sends an event when a run begins and when it ends.
func workerProcess(c *childproc.Child) error {
	var p program
	if err := c.Config(&p); err != nil {
		return err
	}
	worker := chime.NewWorker(p.store(), chime.WorkerOptions{Concurrency: 10, SessionTTL: quickTTL, Logger: errorsOnly})
	worker.Handle("beat", func(ctx context.Context, job *chime.Job) error {
		c.Say("began %s fence %d crashes %d attempt %d", job.ID, job.Fence, job.Crashes, job.Attempt)
		select {
		case <-time.After(p.Work):
		case <-ctx.Done():
			c.Say("cut %s: %v", job.ID, context.Cause(ctx))
			return context.Cause(ctx)
		}
		c.Say("ended %s fence %d", job.ID, job.Fence)
		return nil
	})
	if p.Dies {
		worker.Use(func(handle chime.Handler) chime.Handler {
			return func(ctx context.Context, job *chime.Job) error {
				if err := handle(ctx, job); err != nil {
					return err
				}
				return syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		})
	}
	return run(c, worker)
}

var everySecond = recurrence.Recurrence{Frequency: recurrence.Second}

// schedulerProcess declares "beat" for every second. It sends an event when it becomes the leader.
func schedulerProcess(c *childproc.Child) error {
	var p program
	if err := c.Config(&p); err != nil {
		return err
	}
	elected := &chime.Observer{Elected: func(leading bool, term int64) {
		if leading {
			c.Say("leads term %d", term)
		}
	}}
	scheduler := chime.NewScheduler(p.store(), chime.SchedulerOptions{LeaderTTL: quickTTL, Observers: []*chime.Observer{elected}, Logger: errorsOnly})
	if err := scheduler.Schedule("beat", everySecond, chime.Overlap(chime.OverlapAllow), chime.Misfire(chime.MisfireCatchUp)); err != nil {
		return err
	}
	return run(c, scheduler)
}

// settledRuns returns how often each occurrence was settled with an outcome, by its planned time.
func settledRuns(t *testing.T, client *redis.Client, outcome string) map[string]int {
	t.Helper()
	entries, err := client.XRange(t.Context(), "chime:{default}:runs", "-", "+").Result()
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string]int{}
	for _, entry := range entries {
		if entry.Values["outcome"] == outcome {
			runs[fmt.Sprint(entry.Values["planned"])]++
		}
	}
	return runs
}

// wantEachSecondOfRuns checks that each second from the first of the runs to the last was run once.
func wantEachSecondOfRuns(t *testing.T, runs map[string]int) {
	t.Helper()
	var first, last time.Time
	for planned, n := range runs {
		at, err := time.Parse(time.RFC3339, planned)
		if err != nil || n != 1 {
			t.Errorf("%s was done %d times, want once (%v)", planned, n, err)
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	if want := int(last.Sub(first)/time.Second) + 1; len(runs) != want {
		t.Errorf("%d occurrences from %v to %v were done, want all %d", len(runs), first, last, want)
	}
}

// until waits for a condition of the store, and checks it every 20 ms.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(3 * time.Minute) // real time: a condition that never holds fails the test
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("not within three minutes: %s", what)
		case <-tick.C:
		}
	}
}

// A schedule runs every second on three workers and two schedulers, all real processes. In the middle of the test, the leader is killed, and a
// worker during a run. Every occurrence must be done exactly once.
func TestEveryOccurrenceIsDoneOnceWhenProcessesAreKilled(t *testing.T) {
	const seconds = 16
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(nil)
	p := program{Addr: server.Addr(), Work: 300 * time.Millisecond}
	var schedulers, workers []*childproc.Process
	for range 2 {
		schedulers = append(schedulers, childproc.Start(t, "scheduler", p))
		schedulers[len(schedulers)-1].Await("ready")
	}
	for range 3 {
		workers = append(workers, childproc.Start(t, "worker", p))
	}
	until(t, "half of the occurrences are done", func() bool { return len(settledRuns(t, client, "done")) >= seconds/2 })
	workers[0].Await("began ")
	workers[0].Kill()
	schedulers[0].Kill()
	until(t, "all occurrences are done", func() bool { return len(settledRuns(t, client, "done")) >= seconds })
	pauseBeat(t, p)

	wantEachSecondOfRuns(t, settledRuns(t, client, "done"))
	if missed := client.HGet(t.Context(), "chime:{default}:counters", "beat/missed").Val(); missed != "" {
		t.Errorf("%s missed, want none", missed)
	}
}

// A worker is killed during a run. The job runs again on another worker with a larger fence, no attempt is used up, and the store counts one job
// done.
func TestAJobOfAKilledWorkerRunsAgainWithoutUsingAnAttempt(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(nil)
	p := program{Addr: server.Addr(), Work: time.Hour}
	first := childproc.Start(t, "worker", p)
	first.Await("ready")
	enqueuer := chime.NewEnqueuer(p.store(), chime.EnqueuerOptions{})
	if _, err := enqueuer.Enqueue(t.Context(), "beat", nil, chime.ID("one")); err != nil {
		t.Fatal(err)
	}
	began := fields(first.Await("began one"))
	first.Kill()
	p.Work = time.Millisecond
	second := childproc.Start(t, "worker", p)
	again := fields(second.Await("began one"))
	if again["attempt"] != "1" || again["crashes"] != "1" || again["fence"] <= began["fence"] {
		t.Errorf("the second run has %v, want attempt 1, crashes 1, a fence larger than %s", again, began["fence"])
	}
	second.Await("ended one")
	until(t, "the job is gone", func() bool { return client.HLen(t.Context(), "chime:{default}:jobs").Val() == 0 })
	if n := countsOf(t, client, "default").Done; n != 1 {
		t.Errorf("%d jobs done, want 1", n)
	}
}

// A worker is frozen for longer than its session TTL. The job runs on another worker, and the settlement that the frozen worker sends after Thaw is
// refused.
func TestAFrozenWorkerSettlesNothing(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(nil)
	p := program{Addr: server.Addr(), Work: time.Hour} // it does not end before its ctx
	first := childproc.Start(t, "worker", p)
	first.Await("ready")
	enqueuer := chime.NewEnqueuer(p.store(), chime.EnqueuerOptions{})
	if _, err := enqueuer.Enqueue(t.Context(), "beat", nil, chime.ID("one")); err != nil {
		t.Fatal(err)
	}
	first.Await("began one")
	first.Freeze()
	p.Work = time.Second
	second := childproc.Start(t, "worker", p)
	second.Await("began one")
	first.Thaw()
	if cause := first.Await("cut one"); !strings.Contains(cause, chime.ErrSessionLost.Error()) {
		t.Errorf("the context of the frozen worker's handler ended with %q, want ErrSessionLost", cause)
	}
	second.Await("ended one")
	until(t, "the job is gone", func() bool { return client.HLen(t.Context(), "chime:{default}:jobs").Val() == 0 })
	if n := countsOf(t, client, "default").Done; n != 1 {
		t.Errorf("%d jobs done, want 1: the other worker's", n)
	}
}

// On SIGTERM a worker lets a running job finish within the drain timeout, settles it and ends its session.
func TestAWorkerFinishesItsJobOnSIGTERM(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(nil)
	p := program{Addr: server.Addr(), Work: time.Second}
	worker := childproc.Start(t, "worker", p)
	worker.Await("ready")
	enqueuer := chime.NewEnqueuer(p.store(), chime.EnqueuerOptions{})
	if _, err := enqueuer.Enqueue(t.Context(), "beat", nil, chime.ID("one")); err != nil {
		t.Fatal(err)
	}
	worker.Await("began one")
	worker.Signal(syscall.SIGTERM)
	worker.Await("ended one")
	if state := worker.Wait(); !state.Success() {
		t.Errorf("the worker ended with %v, want success: %s", state, worker.Stderr())
	}
	if n := countsOf(t, client, "default").Done; n != 1 {
		t.Errorf("%d jobs done, want 1", n)
	}
	if n := client.ZCard(t.Context(), "chime:{default}:sessions").Val(); n != 0 {
		t.Errorf("%d sessions are left, want none", n)
	}
}

// A server that is killed and restarted with its append-only file loses nothing that it acknowledged, and work continues.
func TestNoJobIsLostWhenTheServerIsKilledAndRestarted(t *testing.T) {
	server := redistest.Start(t, redistest.Options{AppendOnly: true, Config: []string{"appendfsync always"}})
	client := server.Client(nil)
	p := program{Addr: server.Addr(), Work: time.Millisecond}
	worker := childproc.Start(t, "worker", p)
	worker.Await("ready")
	enqueuer := chime.NewEnqueuer(p.store(), chime.EnqueuerOptions{})
	enqueued := 0
	enqueue := func(n int) {
		for range n {
			if _, err := enqueuer.Enqueue(t.Context(), "beat", nil); err != nil {
				t.Fatal(err)
			}
			enqueued++
		}
	}
	enqueue(200)
	server.Kill()
	server.Up()
	enqueue(200)
	until(t, "all jobs are done", func() bool {
		return countsOf(t, client, "default").Done == int64(enqueued)
	})
	if n := client.HLen(t.Context(), "chime:{default}:jobs").Val(); n != 0 {
		t.Errorf("%d jobs are left", n)
	}
}

// fields parses "… fence 12 crashes 1 attempt 2" into a map.
func fields(line string) map[string]string {
	words := strings.Fields(line)
	values := map[string]string{}
	for i := 2; i+1 < len(words); i += 2 {
		values[words[i]] = words[i+1]
	}
	return values
}
