package chime

import (
	"context"
	"log/slog"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// announceEvery is how often a worker says which jobs it handles.
const announceEvery = 2 * time.Minute

// An announcer is the loop that says what a worker handles, so that a scheduler can warn of schedules whose jobs nobody runs.
// Nothing else depends on it.
type announcer struct {
	store   protocol.Store
	log     *slog.Logger
	handled []protocol.Handled
}

func newAnnouncer(w *Worker) *announcer {
	a := &announcer{store: w.store, log: w.options.Logger}
	for queue := range w.options.Queues {
		for name := range w.handlers {
			a.handled = append(a.handled, protocol.Handled{Queue: queue, Name: name})
		}
	}
	return a
}

func (a *announcer) run(ctx context.Context) {
	ticker := time.NewTicker(announceEvery)
	defer ticker.Stop()
	for {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		if err := a.store.Announce(call, a.handled); err != nil && ctx.Err() == nil {
			a.log.Debug("chime: cannot say what this worker handles", "error", err)
		}
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
