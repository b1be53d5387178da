//go:build unix

package chaos

import (
	"slices"
	"time"
)

// A twoHomes is a span in which a schedule may have lived in two queues: a slot had lost where the schedule lives, and no sweep had found that yet. Either
// a queue had the definition again that had moved away, or the registry had another entry, or none, and a call that followed it created the schedule in
// the entry's queue, or in a new one.
type twoHomes struct {
	Window           // from the return of the slot to the end of the next sweep
	slot   string    // that went back
	since  time.Time // when the change began that the slot has lost: from then on occurrences may have run that the other copy runs again
}

// twoHomes returns these spans of a schedule, in order. A slot may also lose the end of such a span: then the next one begins when it went back.
func (h *History) twoHomes(schedule string) (spans []twoHomes) {
	s := h.Puts[schedule]
	if s == nil {
		return nil
	}
	changes := slices.Clone(s.changes)
	for _, b := range h.Rollbacks {
		if b.Slot == slotDeletions || b.Slot == slotLeader {
			continue
		}
		i := slices.IndexFunc(changes, func(c Window) bool { return c.reaches(b.State, b.Back.To) })
		if i < 0 {
			continue
		}
		span := twoHomes{Window{b.Back.From, b.Swept}, b.Slot, b.State}
		if changes[i].From.Before(span.since) {
			span.since = changes[i].From
		}
		spans, changes = append(spans, span), append(changes, span.Window)
	}
	return spans
}

// mayDouble reports whether an occurrence may have run twice because its schedule had two homes: in the two queues, or in one queue where a copy was
// replaced by the other one.
func (t twoHomes) mayDouble(s *PutSchedule, run, next Run) bool {
	taken := next.taken()
	if !t.reaches(taken, taken) || !run.settled().After(t.since) {
		return false
	}
	if t.slot == slotRegistry {
		return true
	}
	if run.Queue == next.Queue {
		return slices.ContainsFunc(s.changes, func(c Window) bool { return c.reaches(t.From, taken) })
	}
	return t.slot == run.Queue || t.slot == next.Queue
}

// doubled reports whether the schedule of two runs may have lived in two queues.
func (h *History) doubled(j *Job, r, next Run) bool {
	name := j.Schedule()
	return isChanged(name) && slices.ContainsFunc(h.twoHomes(name), func(t twoHomes) bool { return t.mayDouble(h.Puts[name], r, next) })
}

// hadTwoHomes reports whether two runs of an occurrence may belong to a schedule that lived in two queues.
func (h *History) hadTwoHomes(j *Job) bool {
	runs := j.byFence()
	for i := 1; i < len(runs); i++ {
		if h.doubled(j, runs[i-1], runs[i]) {
			return true
		}
	}
	return false
}

// ranElsewhere reports whether an occurrence ran in another queue than this one while its schedule may have lived in two: the copy in this queue may have
// counted it as missed or skipped.
func (h *History) ranElsewhere(j *Job, queue string) bool {
	name := j.Schedule()
	if !isChanged(name) {
		return false
	}
	spans := h.twoHomes(name)
	return slices.ContainsFunc(j.Runs, func(r Run) bool {
		taken := r.taken()
		return r.Queue != queue && slices.ContainsFunc(spans, func(t twoHomes) bool { return t.reaches(taken, taken) })
	})
}
