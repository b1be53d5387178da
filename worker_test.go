package chime

import (
	"context"
	"log/slog"
	"testing"
	"time"
)

func TestRunReturnsBadWorkerOptions(t *testing.T) {
	for _, options := range []WorkerOptions{
		{Concurrency: -1},
		{SessionTTL: time.Millisecond},
		{Queues: map[string]int{"a": 0}},
		{MaxCrashes: -1},
	} {
		if err := NewWorker(nil, options).Run(context.Background()); err == nil {
			t.Errorf("Run with %+v returned nil, want an error", options)
		}
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
