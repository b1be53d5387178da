package redisstore

// cancelOne cancels an occurrence in any place.
func (w *scheduleWalk) cancelOne() {
	var ids []string
	for _, id := range w.ids() {
		if w.occurrences[id].end == "" {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return
	}
	o := w.occurrences[ids[w.random.IntN(len(ids))]]
	want := "done"
	if w.now.held[o.id] != "" {
		want = "asked"
	}
	got := w.Cancel(o.id)
	if w.note("cancel %s in %q: %s", o.id, w.now.where[o.id], got); got != want {
		w.fatal("cancelling %s, in %q: %s, want %s", o.id, w.now.where[o.id], got, want)
	}
	w.seen(event{cancelled: o})
}

// cancelledFrom checks the effect of a cancellation on the occurrence.
func (w *scheduleWalk) cancelledFrom(o *modelOccurrence, from, to string) {
	switch s := o.schedule; {
	case w.now.held[o.id] != "":
		o.cancelled = true
		if to != from {
			w.fatal("%s was cancelled in flight and went from %q to %q", o.id, from, to)
		}
	case from == "due" && o.fresh() && s.exists && s.cursor == o.id && to == "due":
		o.marked = true
		w.hasEnded(o, "")
	default:
		w.hasEnded(o, to)
	}
}

// hasEnded records that an occurrence has ended because it was cancelled.
func (w *scheduleWalk) hasEnded(o *modelOccurrence, to string) {
	if to != "" {
		w.fatal("%s was cancelled and is in %q", o.id, to)
	}
	o.end = "cancelled"
	if o.current() {
		o.schedule.cancels++
	}
}
