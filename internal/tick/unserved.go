package tick

import (
	"context"
	"log/slog"
	"slices"

	"github.com/chimejobs/chime/internal/protocol"
)

// maxStats is how many queues one check counts.
const maxStats = 1000

// An unserved finds queues with jobs that no worker takes: at two consecutive checks jobs waited or were overdue, none ran, and none had ended in
// between. It logs each queue once until its jobs are taken.
type unserved struct {
	store  protocol.QueueStore
	log    *slog.Logger
	before map[string]protocol.QueueStats // of the queues that may be unserved
	logged map[string]bool
}

// check counts queues, and logs those whose jobs were not taken since the last check. doubt means that another check, soon, may find more.
func (u *unserved) check(ctx context.Context, queues []string) (doubt bool, err error) {
	stats, err := u.store.QueueStats(ctx, queues[:min(len(queues), maxStats)])
	if err != nil {
		return false, err
	}
	waiting, logged := make(map[string]protocol.QueueStats), make(map[string]bool)
	for _, s := range stats {
		overdue := !s.FirstDue.IsZero() && s.FirstDue.Before(s.Now)
		if s.Waiting == 0 && !overdue || s.Running > 0 || s.Paused {
			continue
		}
		waiting[s.Queue] = s
		before, ok := u.before[s.Queue]
		if !ok || before.Done != s.Done || before.Failed != s.Failed || before.Died != s.Died {
			doubt = true
			continue
		}
		logged[s.Queue] = true
		if !u.logged[s.Queue] {
			u.log.Warn("chime: jobs wait on a queue and no worker takes them: no live worker serves it, or all slots are busy", "event", "queue.unserved",
				"queue", s.Queue, "count", max(s.Waiting, 1))
		}
	}
	u.before, u.logged = waiting, logged
	return doubt, nil
}

// namesOf lists the queues of partitions, each once, in their order.
func namesOf(partitions []protocol.Partition) (queues []string) {
	for _, p := range partitions {
		queues = append(queues, p.Queue)
	}
	slices.Sort(queues)
	return slices.Compact(queues)
}
