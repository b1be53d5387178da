package tick

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/chimejobs/chime/internal/observe"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
	"github.com/chimejobs/chime/internal/schedule"
)

// logLateAfter is how long a schedule may be owed its next occurrence before that is logged. Any ticker places it earlier.
const logLateAfter = time.Minute

// A placer computes the next occurrences of schedules and places them.
type placer struct {
	store    protocol.ScheduleStore
	log      *slog.Logger
	observer observe.Observer
	plans    schedule.Plans
	logged   retry.LogLimiter
}

// place places what is owed and returns how many schedules are no longer owed. It logs and postpones a schedule that cannot be computed here, so
// that it does not delay the others.
func (p *placer) place(ctx context.Context, owed []protocol.Owed) (settled int, failed error) {
	placements := p.plans.Next(owed, func(o *protocol.Owed, err error) {
		if p.logged.Allow("schedule "+o.Name, time.Now()) {
			p.log.Error("chime: cannot compute the next occurrence of a schedule, trying again in a minute", "event", "schedule.uncomputable",
				"schedule", o.Name, "queue", o.Partition.Queue, "error", err)
		}
		if err := p.store.Postpone(ctx, *o); err != nil {
			failed = err
			return
		}
		settled++
	})
	if len(placements) == 0 {
		return settled, failed
	}
	answers := p.store.Place(ctx, placements)
	p.observer.Places(placements, answers)
	for i, answer := range answers {
		if errors.Is(answer.Err, protocol.ErrUnreadable) { // it was edited by hand a moment ago: the next search finds it unreadable
			continue
		}
		if answer.Err != nil {
			failed = answer.Err
			continue
		}
		if !answer.Lost { // otherwise the next turn finds it again, if it is still owed
			settled++
		}
		if answer.Completed {
			p.log.Info("chime: schedule completed", "event", "schedule.completed", "schedule", placements[i].Name, "queue", placements[i].Partition.Queue)
		}
	}
	return settled, failed
}

// logLate warns, once a minute, of a schedule that has been owed for longer than logLateAfter.
func (p *placer) logLate(owed []protocol.Owed) {
	for i := range owed {
		if late := owed[i].Now.Sub(owed[i].Since); late > logLateAfter && p.logged.Allow("late", time.Now()) {
			p.log.Warn("chime: a schedule was not placed in time", "event", "schedule.unplaced",
				"schedule", owed[i].Name, "queue", owed[i].Partition.Queue, "late_ms", late.Milliseconds())
		}
	}
}
