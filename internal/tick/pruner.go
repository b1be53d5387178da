package tick

import (
	"context"
	"log/slog"

	"github.com/chimejobs/chime/internal/protocol"
)

// A pruner deletes the schedules that a lower version of the program has declared and this one has not. It begins when all declarations of this
// version are written, so that none of them has a lower version any more. Each step continues where the last one ended; a step that fails is
// repeated. Every process of the version does this, until one of them has finished and has recorded that.
type pruner struct {
	store protocol.ScheduleStore
	log   *slog.Logger
	owner protocol.Owner // version 0: nothing is to be pruned, or pruning is finished

	cursor string // position of the last step
}

// pending reports whether there is something left to do.
func (p *pruner) pending() bool { return p.owner.Version > 0 }

// prune deletes schedules while there is time.
func (p *pruner) prune(ctx context.Context, timeLeft func() bool) (errs []error) {
	for p.pending() && timeLeft() {
		next, pruned, err := p.store.Prune(ctx, p.owner, p.cursor)
		for _, name := range pruned {
			p.log.Info("chime: schedule pruned", "event", "schedule.pruned", "schedule", name)
		}
		if err != nil {
			return []error{err}
		}
		if p.cursor = next; next == "" {
			p.owner = protocol.Owner{}
		}
	}
	return nil
}
