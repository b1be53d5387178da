package tick

import (
	"context"
	"log/slog"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	repairPause      = time.Second      // between two steps of a round
	watchRepairPause = 10 * time.Second // between two steps of a Watch, of which there may be many
	repairEvery      = 5 * time.Minute  // at least, from the beginning of one round of the leader to the beginning of the next
	maxRepairLogged  = 20               // schedules that one step logs; a lost key may have held very many
)

// A repairer checks every schedule in turn, some hundred in a step, and repairs orphaned ones: an edit by hand, an eviction or a failover has
// removed what they wait for. The cost of a step does not depend on the number of schedules. It belongs to one goroutine.
type repairer struct {
	store  protocol.ScheduleStore
	log    *slog.Logger
	cursor string // position of the round under way; empty: the next round begins
	began  time.Time
}

// step takes one step of a round, and returns whether more remain.
func (r *repairer) step(ctx context.Context) (more bool, err error) {
	if r.cursor == "" {
		r.began = time.Now()
	}
	var repaired []protocol.Orphan
	r.cursor, repaired, err = r.store.RepairOrphans(ctx, r.cursor)
	for i, s := range repaired {
		if i == maxRepairLogged {
			r.log.Warn("chime: more schedules were orphaned, they continue", "event", "schedule.repaired", "count", len(repaired)-i)
			break
		}
		r.log.Warn("chime: a schedule was orphaned, it continues", "event", "schedule.repaired", "schedule", s.Name, "queue", s.Queue, "reason", s.Reason)
	}
	return r.cursor != "", err
}
