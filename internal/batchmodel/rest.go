package batchmodel

import (
	"maps"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// rest ends all processes, and then lets somebody do alone what is left to do. Then each home must have what the ledger has. With drain it also runs all jobs
// and seals all batches: then each batch must have ended.
func (w *Walk) rest(drain bool) {
	w.note("all processes stop")
	w.actors = nil
	rounds := 2 // what one finds may be for another one that was looked at before
	if drain {
		rounds = 4
	}
	for range rounds {
		w.CarryAll()
		w.made(nil, "everything is carried")
		if drain {
			w.runAll()
		}
		for _, id := range slices.Sorted(maps.Keys(w.plans)) {
			known, _ := w.ledger.Ended(id)
			switch {
			case w.plans[id].gone:
				w.finish(&forgetter{plan: w.plans[id]})
			case known:
				w.tend(w.plans[id], drain)
			}
		}
		for _, queue := range Queues {
			for _, p := range Partitions(queue) {
				w.finish(&reporter{place: p})
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.plans)) {
		known, ended := w.ledger.Ended(id)
		if !known {
			continue
		}
		record, err := w.GetBatch(ctx, id)
		if err != nil {
			if w.mode == HomesGoBack {
				continue // it went back to before it was opened
			}
			w.fail("get %s: %w", id, err)
		}
		if err := w.ledger.Rest(id, &record); err != nil {
			w.fail("at rest: %w", err)
		}
		if drain && !ended {
			w.fail("batch %s has not ended: it is %s, %+v", id, record.State, record.Totals())
		}
		if drain && w.mode == NothingGoesBack && w.ledger.Counts(id).Dead == 0 {
			w.finish(&forgetter{plan: w.plans[id]})
		}
	}
}

// finish lets an actor make all its calls.
func (w *Walk) finish(a actor) {
	for range 200 {
		if !a.step(w) {
			return
		}
	}
	w.fail("%s does not come to an end", a.name())
}

// tend does for one batch what is left to do.
func (w *Walk) tend(p *plan, drain bool) {
	id := p.def.ID
	record, err := w.GetBatch(ctx, id)
	if err != nil {
		if drain && w.mode == HomesGoBack {
			w.finish(&creator{plan: p})
		}
		return
	}
	if drain && record.State == protocol.BatchOpen {
		w.finish(&creator{plan: p})
	}
	if record.Sealing || drain {
		for range 3 {
			w.finish(&sealer{plan: p})
		}
	}
	w.finish(&voider{plan: p})
	for range 3 {
		if record, err = w.GetBatch(ctx, id); err != nil {
			w.fail("get %s: %w", id, err)
		}
		for _, part := range record.Partition {
			call := protocol.CountCall{Partition: part.Partition, Batch: id, Above: part.Version, Cancel: record.State == protocol.BatchCancelled}
			a := w.CountBatch(ctx, []protocol.CountCall{call})[0]
			w.made(nil, "count %s in %s: %+v", id, part.Partition.Path(), a.Counts)
			report(w, protocol.BatchReport{Counts: a.Counts})
		}
		w.finish(&looker{plan: p})
	}
}

// runAll ends all sessions, and runs all jobs that wait.
func (w *Walk) runAll() {
	w.now += 2 * time.Minute // what waits after a failure or a crash is due then
	w.Advance(2 * time.Minute)
	for _, queue := range Queues {
		for _, p := range Partitions(queue) {
			fates, left := map[string]Fate{}, false
			for j, fate := range w.ledger.members[p] {
				fates[j.ID], left = Cancelled, left || fate == Left
			}
			if !left {
				continue
			}
			for _, session := range []string{"s0", "s1", "s2"} {
				w.Reap(p, session)
				w.made(fates, "%s is reaped in %s", session, p.Path())
			}
			for range 100 {
				flights := w.Take(p, "s0", 3)
				w.made(nil, "s0 takes all of %s: %v", p.Path(), ids(flights))
				if len(flights) == 0 {
					break
				}
				for _, f := range flights {
					w.Settle(f, Settlement{Fate: Done})
					w.made(map[string]Fate{f.ID: w.ends(p, f.ID, Done)}, "%s is done", f.ID)
				}
			}
		}
	}
	w.flights = nil
}
