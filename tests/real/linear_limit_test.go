//go:build real && unix

package real_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/faultproxy"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/redisstore"
)

// permits is the limit of running jobs.
const permits = 3

// permitModel is a semaphore. A permit is acquired before the handler begins, and released after it has ended. The history has the begin and the end
// of handlers: if that is too many at once, so is any earlier begin and any later end.
var permitModel = porcupine.Model{
	Init: func() any { return 0 },
	Step: func(state, input, _ any) (bool, any) {
		held := state.(int)
		if input.(string) == "acquire" {
			return held < permits, held + 1
		}
		return held > 0, held - 1
	},
	DescribeOperation: func(input, _ any) string { return input.(string) },
}

func TestALimitIsASemaphore(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	direct := redisstore.New(server.Client(nil), redisstore.Options{})
	queues := chime.NewQueues(direct)
	if err := queues.Limit(t.Context(), "default", chime.Limit{Running: permits}); err != nil {
		t.Fatal(err)
	}
	const jobs = 300
	l := &linear{t: t, began: time.Now()}
	enqueuer := chime.NewEnqueuer(direct, chime.EnqueuerOptions{})
	items := make([]chime.Item, jobs)
	for i := range items {
		items[i] = chime.Item{Name: "job"}
	}
	if _, err := enqueuer.EnqueueMany(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var ran atomic.Int64
	var all sync.WaitGroup
	for number := range 3 {
		proxy := faultproxy.Start(t, server.Addr())
		for _, script := range redisstore.Scripts() {
			proxy.Learn(script)
		}
		client := server.Client(&redis.Options{Addr: proxy.Addr(), MaxRetries: []int{3, -1}[number%2], ContextTimeoutEnabled: true})
		quiet := slog.New(slog.DiscardHandler)
		worker := chime.NewWorker(redisstore.New(client, redisstore.Options{Logger: quiet}), chime.WorkerOptions{Concurrency: 5, Logger: quiet})
		worker.Handle("job", func(ctx context.Context, job *chime.Job) error {
			began := time.Since(l.began).Nanoseconds()
			<-time.After(time.Duration(rand.IntN(8)) * time.Millisecond) // real work takes real time
			ended := time.Since(l.began).Nanoseconds()
			l.mu.Lock()
			defer l.mu.Unlock()
			l.operations = append(l.operations,
				porcupine.Operation{ClientId: number, Input: "acquire", Call: began - 1, Return: began},
				porcupine.Operation{ClientId: number, Input: "release", Call: ended, Return: ended + 1})
			ran.Add(1)
			return nil
		})
		all.Go(func() { disturb(ctx, proxy, rand.New(rand.NewPCG(uint64(number), 1))) })
		all.Go(func() {
			if err := chime.Run(ctx, worker); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
	}
	until(t, fmt.Sprintf("%d jobs have run", jobs), func() bool { return ran.Load() >= jobs })
	stop()
	all.Wait()
	l.judge(permitModel)
}
