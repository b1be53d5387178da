//go:build real

package startup_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

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
