package redisstore_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
)

// A program that only enqueues refuses a server that evicts, and accepts it once its policy is noeviction.
func TestAnEnqueuerRefusesAServerThatEvicts(t *testing.T) {
	client := redistest.Start(t, redistest.Options{Config: []string{"maxmemory-policy allkeys-lru"}}).Client(nil)
	enqueuer := chime.NewEnqueuer(redisstore.New(client, redisstore.Options{}), chime.EnqueuerOptions{})
	_, err := enqueuer.Enqueue(t.Context(), "report", nil)
	if !errors.Is(err, chime.ErrUnfit) || !strings.Contains(err.Error(), "allkeys-lru") || !strings.Contains(err.Error(), "noeviction") {
		t.Errorf("one job: %v, want ErrUnfit that names both policies", err)
	}
	receipts, err := enqueuer.EnqueueMany(t.Context(), []chime.Item{{Name: "report"}, {Name: "report", Options: []chime.EnqueueOption{chime.Queue("mail")}}})
	if !errors.Is(err, chime.ErrUnfit) || len(receipts) != 2 {
		t.Errorf("many: %v, %v; want ErrUnfit", receipts, err)
	}
	if keys := client.Keys(t.Context(), "*").Val(); len(keys) > 0 {
		t.Errorf("%v were written", keys)
	}
	client.ConfigSet(t.Context(), "maxmemory-policy", "noeviction")
	if _, err := enqueuer.Enqueue(t.Context(), "report", nil); err != nil {
		t.Errorf("with noeviction: %v", err)
	}
}

// A program that only puts schedules does too.
func TestSchedulesArePutOnNoServerThatEvicts(t *testing.T) {
	client := redistest.Start(t, redistest.Options{Config: []string{"maxmemory-policy allkeys-lru"}}).Client(nil)
	schedules := chime.NewSchedules(redisstore.New(client, redisstore.Options{}))
	rule := recurrence.Recurrence{Cron: "0 9 * * *"}
	if _, err := schedules.Put(t.Context(), "report", rule); !errors.Is(err, chime.ErrUnfit) || !strings.Contains(err.Error(), "allkeys-lru") {
		t.Errorf("put: %v, want ErrUnfit that names the policy", err)
	}
	if keys := client.Keys(t.Context(), "*").Val(); len(keys) > 0 {
		t.Errorf("%v were written", keys)
	}
	client.ConfigSet(t.Context(), "maxmemory-policy", "noeviction")
	if _, err := schedules.Put(t.Context(), "report", rule); err != nil {
		t.Errorf("once it keeps everything: %v", err)
	}
}

// A nil pointer in an interface is not nil, and yet no client and no store.
func TestANilClientOrStoreIsAnError(t *testing.T) {
	var client *redis.Client
	if _, err := chime.NewEnqueuer(redisstore.New(client, redisstore.Options{}), chime.EnqueuerOptions{}).Enqueue(t.Context(), "report", nil); err == nil || !strings.Contains(err.Error(), "client is nil") {
		t.Errorf("a nil client: %v, want that it is nil", err)
	}
	for _, store := range []*redisstore.Store{nil, {}} {
		if _, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "report", nil); err == nil || !strings.Contains(err.Error(), "store is nil") {
			t.Errorf("a nil store: %v, want that it is nil", err)
		}
		if err := chime.Run(t.Context(), chime.NewWorker(store, chime.WorkerOptions{})); err == nil || !strings.Contains(err.Error(), "store is nil") {
			t.Errorf("a worker on a nil store: %v, want that it is nil", err)
		}
	}
}

// A role that finds a key of another program under one of chime's names fails at once and names the key, every role in the same words.
func TestForeignKeysAreRefusedByName(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(nil)
	for key, names := range map[string]string{
		"chime:{new}:due":   "key chime:{new}:due is a string, want a zset: it is not chime's",
		"chime:{new}:ready": "key chime:{new}:ready is a string, want a list: it is not chime's",
		"chime:queues":      "key chime:queues is a string, want a hash: it is not chime's",
		"chime:schedules":   "key chime:schedules is a string, want a zset: it is not chime's",
	} {
		client.FlushAll(t.Context())
		client.Set(t.Context(), key, "somebody else's", 0)
		store := redisstore.New(client, redisstore.Options{})
		quiet := slog.New(slog.DiscardHandler)
		worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"new": 1}, Logger: quiet})
		worker.Handle("report", func(context.Context, *chime.Job) error { return nil })
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		err := chime.Run(ctx, worker)
		if !errors.Is(err, chime.ErrUnfit) || !strings.Contains(err.Error(), names) {
			t.Errorf("%s: the worker returned %v, want %q", key, err, names)
		}
		cancel()
		if key != "chime:queues" {
			continue
		}
		if _, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "report", nil); !errors.Is(err, chime.ErrUnfit) || !strings.Contains(err.Error(), names) {
			t.Errorf("%s: the enqueuer returned %v, want %q", key, err, names)
		}
	}
}

func TestAWorkerWritesNothingIntoAServerThatItRefuses(t *testing.T) {
	client := redistest.Start(t, redistest.Options{Config: []string{"maxmemory-policy allkeys-lru"}}).Client(nil)
	worker := chime.NewWorker(redisstore.New(client, redisstore.Options{}), chime.WorkerOptions{Logger: slog.New(slog.DiscardHandler)})
	worker.Handle("report", func(context.Context, *chime.Job) error { return nil })
	if err := chime.Run(t.Context(), worker); !errors.Is(err, chime.ErrUnfit) {
		t.Errorf("%v, want ErrUnfit", err)
	}
	if keys := client.Keys(t.Context(), "*").Val(); len(keys) > 0 {
		t.Errorf("%v were written", keys)
	}
}
