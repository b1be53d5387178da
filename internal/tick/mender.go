package tick

import (
	"context"
	"log/slog"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	mendPause   = time.Second      // between two steps of a round
	mendSeldom  = 10 * time.Second // and of a Watch, of which there may be many
	mendEvery   = 5 * time.Minute  // from the beginning of one round of the leader to that of the next, at least
	maxMendTold = 20               // schedules that one step logs; a key that is gone may have held very many
)

// A mender looks at every schedule in turn, some hundred at a time, and lets those go on that stand nowhere, because a hand, an eviction
// or a failover took what they wait for. What a step costs does not depend on how many schedules there are. It belongs to one goroutine.
type mender struct {
	store  protocol.ScheduleStore
	log    *slog.Logger
	cursor string // how far the round under way has come; empty: the next one begins
	began  time.Time
}

// step takes one step of a round, and returns whether more remain.
func (m *mender) step(ctx context.Context) (more bool, err error) {
	if m.cursor == "" {
		m.began = time.Now()
	}
	var mended []protocol.Mended
	m.cursor, mended, err = m.store.Mend(ctx, m.cursor)
	for i, s := range mended {
		if i == maxMendTold {
			m.log.Warn("chime: more schedules stood nowhere, they go on", "event", "schedule.mended", "count", len(mended)-i)
			break
		}
		m.log.Warn("chime: a schedule stood nowhere, it goes on", "event", "schedule.mended", "schedule", s.Name, "queue", s.Queue, "reason", s.Reason)
	}
	return m.cursor != "", err
}
