package work

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// announceEvery is how often a worker announces which jobs it handles.
const announceEvery = 4 * time.Minute

// An announcer is the loop that announces which jobs a worker handles. So whoever parks a job wakes a sleeping worker that handles it,
// and a scheduler can warn of schedules whose jobs no worker handles.
type announcer struct {
	store   protocol.JobStore
	log     *slog.Logger
	worker  string
	handled []protocol.Handled
}

func newAnnouncer(store protocol.JobStore, config *Config, worker string) *announcer {
	a := &announcer{store: store, log: config.Log, worker: worker}
	for queue := range config.Queues {
		for name := range config.Handlers {
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
		if err := a.store.Announce(call, a.worker, a.handled); err != nil && ctx.Err() == nil {
			level := slog.LevelDebug // an outage, which the worker's calls meet and log too
			if errors.Is(err, protocol.ErrUnfit) {
				level = slog.LevelWarn // such as another number of partitions than this worker serves, which no other call tells
			}
			a.log.Log(call, level, "chime: cannot announce what this worker handles", "event", "store.trouble", "action", "announce", "error", err)
		}
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
