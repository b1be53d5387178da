package redisstore

import (
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// walkGroups are the groups of schedules and jobs in a scheduleWalk; empty: none. One of them runs a job at a time, one runs its jobs in order, and
// one has no rule.
var walkGroups = []string{"", "one", "order", "free"}

func (w *scheduleWalk) setRules() {
	if err := w.store.SetGroups(w.Context(), "default", protocol.GroupRule{Weight: 1}); err != nil { // it registers the queue
		w.Fatal(err)
	}
	for group, rule := range map[string]protocol.GroupRule{"one": {Running: 1}, "order": {Ordered: protocol.OrderOn}} {
		if err := w.store.SetGroup(w.Context(), "default", group, rule); err != nil {
			w.Fatal(err)
		}
	}
}

// job returns an ordinary job, which may belong to a group.
func (w *scheduleWalk) job(id string) protocol.EnqueueItem {
	item := storesuite.Job(id)
	item.Group = walkGroups[w.random.IntN(len(walkGroups))]
	return item
}

// pauseGroup pauses a group, or resumes it.
func (w *scheduleWalk) pauseGroup() {
	group, paused := walkGroups[1+w.random.IntN(len(walkGroups)-1)], w.random.IntN(3) == 0
	w.note("pause group %s: %v", group, paused)
	if err := w.store.PauseGroup(w.Context(), "default", group, paused, protocol.Note{}); err != nil {
		w.Fatal(err)
	}
	w.seen(event{})
}

// inGroup reports whether an occurrence belongs to a group.
func (w *scheduleWalk) inGroup(o *modelOccurrence) bool {
	return w.client.HExists(w.Context(), w.keys().places, o.id).Val()
}

// checkGroups checks that each occurrence that has ended has left its group, each one in line has its place, and the groups are as the raw keys say.
func (w *scheduleWalk) checkGroups(p *picture) {
	w.Helper()
	for id, entry := range w.client.HGetAll(w.Context(), w.keys().places).Val() {
		if p.where[id] == "" {
			w.fatal("%s has the entry %q in places, and is in no list", id, entry)
		}
	}
	if faults := w.groupFaults(); len(faults) > 0 {
		w.fatal("%v", faults)
	}
}
