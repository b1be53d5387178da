package redisstore

import (
	"context"

	"github.com/chimejobs/chime/internal/protocol"
)

var buryScript = scripts.Load("jobs/bury")

// Bury gives up parked jobs as Sweep has returned them.
func (s *store) Bury(ctx context.Context, p protocol.Partition, burials []protocol.Burial) (int, error) {
	if len(burials) == 0 {
		return 0, s.bad
	}
	k := s.keys.partition(p)
	keys := []string{k.state, k.jobs, k.dead, k.ready, k.crashes, k.schedules, k.due, k.idle, k.unhandled, k.last, k.history, k.counters}
	args := []any{s.options.ParkedRetention.Milliseconds(), s.options.MaxDead, s.keys.wake(), s.endedPrefix(p.Queue), 0}
	lists := map[string]int{} // name -> which one, from 1
	for i := range burials {
		name := burials[i].List
		if lists[name] == 0 {
			lists[name] = len(lists) + 1
			keys, args = append(keys, k.parked(name)), append(args, name)
		}
	}
	args[4] = len(lists)
	for i := range burials {
		b := &burials[i]
		read := b.Body
		if len(read) == 0 {
			read = b.Definition
		}
		args = append(args, b.Entry, lists[b.List], read, b.Dead, b.OnDeath)
	}
	values, err := s.runOne(ctx, "bury jobs of", p.Queue, newCall(&buryScript, keys, args))
	return int(values.number(1)), err
}
