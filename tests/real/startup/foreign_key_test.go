//go:build real

package startup_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/redisstore"
)

// A role that finds another program's key under one of chime's names fails at once with the key's name. Every role has the same error text.
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
