//go:build real && unix

package real_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/redisstore"
)

// The pool has one connection, and another caller holds it while fifty handlers run: no call of the worker gets a connection. No session is lost,
// because heartbeats have their own one.
func TestAnExhaustedPoolLosesNoSession(t *testing.T) {
	t.Parallel() // it mostly waits
	server := redistest.Start(t, redistest.Options{})
	pool, direct := server.Client(&redis.Options{PoolSize: 1}), server.Client(nil)
	store := redisstore.New(pool, redisstore.Options{Logger: errorsOnly})
	worker := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 50, Logger: errorsOnly})
	var ran, lost atomic.Int64
	release := make(chan struct{})
	worker.Handle("mail", func(ctx context.Context, job *chime.Job) error {
		ran.Add(1)
		select {
		case <-ctx.Done():
			lost.Add(1)
		case <-release:
		}
		if job.Crashes > 0 {
			lost.Add(1)
		}
		return nil
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- chime.Run(ctx, worker) }()
	enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: errorsOnly})
	var callers sync.WaitGroup
	for i := range 100 {
		callers.Go(func() {
			if _, err := enqueuer.Enqueue(t.Context(), "mail", nil, chime.ID(fmt.Sprint("job-", i))); err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	until(t, "50 handlers run", func() bool { return ran.Load() == 50 })
	only := pool.Conn()
	if err := only.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	lapse, heartbeats := 0.0, -1 // the first reading is no heartbeat
	until(t, "three heartbeats have extended the session", func() bool {
		sessions := direct.ZRangeWithScores(t.Context(), "chime:{default}:sessions", 0, -1).Val()
		if len(sessions) == 1 && sessions[0].Score > lapse {
			lapse = sessions[0].Score
			heartbeats++
		}
		return heartbeats >= 3
	})
	if err := only.Close(); err != nil {
		t.Fatal(err)
	}
	close(release)
	until(t, "100 jobs are done", func() bool { return countsOf(t, direct, "default").Done == 100 })
	stop()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
	if ran.Load() != 100 || lost.Load() != 0 {
		t.Errorf("%d handlers ran and %d of them lost their session, want 100 and none", ran.Load(), lost.Load())
	}
}

// A worker whose server accepts no more clients continues when the server accepts them again. How often it tries meanwhile is tested under fake
// time, by TestAServerWithTooManyClientsIsTriedAtMostFiveTimesASecond.
func TestAWorkerSurvivesAServerWithTooManyClients(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	direct := server.Client(&redis.Options{PoolSize: 1})
	store := redisstore.New(server.Client(nil), redisstore.Options{Logger: errorsOnly})
	worker := chime.NewWorker(store, chime.WorkerOptions{Logger: errorsOnly})
	worker.Handle("mail", func(context.Context, *chime.Job) error { return nil })
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- chime.Run(ctx, worker) }()
	until(t, "the worker sleeps", func() bool { return direct.ZCard(t.Context(), "chime:{default}:idle").Val() == 1 })

	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(direct.ConfigSet(t.Context(), "maxclients", "1").Err())
	must(direct.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err())
	must(direct.Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub").Err())
	rejected := func() int {
		info, err := direct.InfoMap(t.Context(), "stats").Result()
		must(err)
		n, err := strconv.Atoi(info["Stats"]["rejected_connections"])
		must(err)
		return n
	}
	until(t, "the worker has tried several times", func() bool { return rejected() >= 8 })
	must(direct.ConfigSet(t.Context(), "maxclients", "100").Err())
	if _, err := chime.NewEnqueuer(redisstore.New(direct, redisstore.Options{}), chime.EnqueuerOptions{Logger: errorsOnly}).Enqueue(t.Context(), "mail", nil); err != nil {
		t.Error(err)
	}
	until(t, "the job has run", func() bool { return countsOf(t, direct, "default").Done == 1 })
	stop()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
}
