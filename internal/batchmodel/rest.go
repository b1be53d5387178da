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
	defer func(calm bool) { w.calm = calm }(w.calm)
	rounds := 2 // what one finds may be for another one that was looked at before
	if drain {
		rounds = 4
	}
	for round := range rounds {
		w.calm = w.calm || drain && round > 0 // nobody stops any more
		w.CarryAll()
		w.made(nil, "everything is carried")
		if drain {
			w.runAll()
		}
		loses := func() {}
		if drain && round == 0 && w.mode == HomesGoBack {
			loses = w.losesHomes()
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
		w.reportAll()
		loses()
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
		if err := w.ledger.Rest(id, &record, drain); err != nil {
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

// reportAll brings what is due in all partitions to the homes.
func (w *Walk) reportAll() {
	for _, queue := range Queues {
		for _, p := range Partitions(queue) {
			w.finish(&reporter{place: p})
		}
	}
}

// losesHomes returns a function that takes all homes back to what they are now, although they have confirmed reports since, and lets a day pass: then all partitions
// report once more, and each home has the counts of all of them, although nobody has asked.
func (w *Walk) losesHomes() func() {
	var saved []savedPlace
	for home := range protocol.BatchHomes {
		p := protocol.Home(home)
		saved = append(saved, savedPlace{w.ledger.Save(p), w.Save(p), w.now})
	}
	return func() {
		w.now += 5 * time.Second
		w.Advance(5 * time.Second) // a report may be due a second after the last one
		w.reportAll()
		for _, s := range saved {
			s.back()
			w.ledger.GoBack(s.saved)
		}
		w.late = nil // no call comes so late
		w.now += 25 * time.Hour
		w.Advance(25 * time.Hour)
		w.made(nil, "all homes go back, and a day passes")
		w.reportAll()
		for _, id := range slices.Sorted(maps.Keys(w.plans)) {
			if known, _ := w.ledger.Ended(id); !known {
				continue
			}
			if record, err := w.GetBatch(ctx, id); err == nil {
				if err := w.ledger.Counted(id, &record, true); err != nil {
					w.fail("a day later: %w", err)
				}
			}
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
