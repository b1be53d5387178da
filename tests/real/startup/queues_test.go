//go:build real

package startup_test

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
)

// A sent counts the commands of a client.
type sent struct{ commands atomic.Int64 }

func (s *sent) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *sent) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		s.commands.Add(1)
		return next(ctx, cmd)
	}
}

func (s *sent) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		s.commands.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}

// Every client that may enqueue may create queues. They cost the workers and schedulers of other queues almost nothing: the first job runs after
// few commands, and little memory is used.
func TestTheFirstJobComesAtOnceBesideAHundredThousandQueues(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	admin := server.Client(nil)
	names := make([]any, 0, 200_000)
	for i := range 100_000 {
		names = append(names, "q"+strconv.Itoa(i), 1)
	}
	for some := range slices.Chunk(names, 20_000) {
		if err := admin.HSet(t.Context(), "chime:queues", some...).Err(); err != nil {
			t.Fatal(err)
		}
	}

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	client, counter := server.Client(nil), new(sent)
	client.AddHook(counter)
	store := redisstore.New(client, redisstore.Options{})
	quiet := slog.New(slog.DiscardHandler)
	ran := make(chan string, 10)
	worker := chime.NewWorker(store, chime.WorkerOptions{Logger: quiet})
	handle := func(_ context.Context, job *chime.Job) error {
		ran <- job.Name
		return nil
	}
	worker.Handle("plain", handle)
	worker.Handle("scheduled", handle)
	scheduler := chime.NewScheduler(store, chime.SchedulerOptions{Logger: quiet})
	if err := scheduler.Schedule("scheduled", recurrence.Recurrence{Frequency: recurrence.Hour}); err != nil {
		t.Fatal(err)
	}
	if _, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: quiet}).Enqueue(t.Context(), "plain", nil); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- chime.Run(ctx, worker, scheduler) }()
	for range 2 {
		<-ran
	}
	commands := counter.commands.Load()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	// a page of the registry, a poll of 2,000 partitions for owed schedules and one for lapsed sessions; their sweep may have begun
	if commands > 10_000 {
		t.Errorf("%d commands were sent before both jobs had run, want at most 10,000", commands)
	}
	if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 100 {
		t.Errorf("%d MiB were allocated, want at most 100", mib)
	}
}
