//go:build real

package startup_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
)

// A program that only enqueues refuses a server with an eviction policy, and accepts it once its policy is noeviction.
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

// A program that only puts schedules does the same.
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
		t.Errorf("with noeviction: %v", err)
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

// A full server that evicts keys with an expiry keeps all jobs, those of a queue too that was deleted and is used again, and refuses new ones.
func TestAFullServerThatEvictsExpiringKeysLosesNoJob(t *testing.T) {
	client := redistest.Start(t, redistest.Options{Config: []string{"maxmemory-policy volatile-ttl"}}).Client(nil)
	store := redisstore.New(client, redisstore.Options{Logger: slog.New(slog.DiscardHandler)})
	enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
	enqueue := func(n int) {
		for i := range n {
			if _, err := enqueuer.Enqueue(t.Context(), "report", strings.Repeat("x", 1000), chime.ID(fmt.Sprint("job-", i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	enqueue(1)
	if _, err := chime.NewQueues(store).Purge(t.Context(), "default", "default", nil); err != nil {
		t.Fatal(err)
	}
	if err := chime.NewQueues(store).Delete(t.Context(), "default"); err != nil {
		t.Fatal(err)
	}
	enqueue(500)
	for i := range 100 { // of another program
		client.Set(t.Context(), fmt.Sprint("cache-", i), strings.Repeat("x", 10_000), time.Hour)
	}
	used, err := client.InfoMap(t.Context(), "memory").Result()
	if err != nil {
		t.Fatal(err)
	}
	bytes, _ := strconv.Atoi(used["Memory"]["used_memory"])
	client.ConfigSet(t.Context(), "maxmemory", strconv.Itoa(bytes-500_000))
	for i := range 10_000 {
		if _, err = enqueuer.Enqueue(t.Context(), "report", strings.Repeat("x", 10_000), chime.ID(fmt.Sprint("more-", i))); err != nil {
			break
		}
	}
	if !errors.Is(err, chime.ErrStoreFull) {
		t.Errorf("a full server answers %v, want ErrStoreFull", err)
	}
	if left := client.Keys(t.Context(), "cache-*").Val(); len(left) == 100 {
		t.Error("nothing was evicted: this test does not test what it should")
	}
	client.ConfigSet(t.Context(), "maxmemory", "0")
	for i := range 500 {
		if _, err := chime.NewJobs(store).Get(t.Context(), "default", fmt.Sprint("job-", i)); err != nil {
			t.Fatalf("job-%d: %v", i, err)
		}
	}
}
