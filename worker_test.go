package chime

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
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

// pass lets time pass, and waits until everything that is due by then has happened.
func pass(d time.Duration) {
	fakeSchedules.Lock()
	//lint:ignore SA2001 it orders the test's reads before the writes that follow
	fakeSchedules.Unlock()
	time.Sleep(d) // fake time
	synctest.Wait()
}

// errFake is the error of a fake store's fault.
var errFake = errors.New("fake: connection reset")
