package redisstore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chimejobs/chime/internal/protocol"
)

// An event is a call to the store, with the data that concern occurrences.
type event struct {
	settled    map[string]protocol.Settlement
	taken      map[string]protocol.TakenJob
	session    string // that took jobs
	superseded []string
	skipped    []string
	reaped     string         // session
	withdrawn  *modelSchedule // it was changed, paused or removed
	removed    *modelSchedule
	cancelled  *modelOccurrence
	pruned     map[string]bool // names of schedules that were also removed
	waiting    *modelSchedule  // it was removed with its jobs that did not run
}

// moved checks the effect of a call on every occurrence, and records it.
func (w *scheduleWalk) moved(before, after *picture, e event) {
	w.Helper()
	for _, id := range e.superseded {
		if w.occurrences[id] == nil || after.where[id] != "" {
			w.fatal("%s was answered as superseded and is in %q", id, after.where[id])
		}
	}
	for _, id := range e.skipped {
		if w.occurrences[id] == nil || after.where[id] != "" {
			w.fatal("%s was answered as skipped and is in %q", id, after.where[id])
		}
	}
	for _, id := range w.ids() {
		o := w.occurrences[id]
		from, to := before.where[id], after.where[id]
		if o.marked && to == "" && (e.session != "" || e.removed == o.schedule || e.waiting == o.schedule || e.pruned[o.schedule.name]) {
			o.marked = false
			continue
		}
		if e.cancelled == o {
			w.cancelledFrom(o, from, to)
			continue
		}
		if o.end != "" {
			if e.waiting == o.schedule && from == "dead" && to == "" {
				continue
			}
			if from != to && !(from == "" && to == "") {
				w.fatal("%s has ended (%s) and went from %q to %q", id, o.end, from, to)
			}
			continue
		}
		settled, wasSettled := e.settled[id]
		switch {
		case wasSettled:
			w.settledTo(o, settled, to, before, after, e)
		case e.reaped != "" && from == e.reaped:
			w.reapedTo(o, to, before, after, e)
		case from == to:
		case to == "":
			w.vanished(o, from, before, after, e)
		case to == e.session && e.session != "":
			w.takenTo(o, from, before, e)
		case to == "ready" && from == "due" && w.inGroup(o) && !o.fresh() && e.session != "": // it was due, and waits for the turn of its group
			o.retries = false
		case to == "due" && from == "ready" && w.inGroup(o) && o.crashes >= 2: // a suspect that waits for another one
		case to == "ready" && strings.HasPrefix(from, "parked "): // served, but with too many crashes to be taken with others
		case to == "behind" && (from == "due" || from == "ready" || strings.HasPrefix(from, "parked ")):
			w.wentBehind(o, from, before, after, e)
		case from == "behind" && to == "ready":
			w.promoted(o, before, after, e)
		default:
			w.fatal("%s went from %q to %q", id, from, to)
		}
	}
}

// rival reports whether, when this call took, another occurrence of the same schedule was in flight, or the schedule was held for it:
// it had come from behind or was given back. later: only a later one counts, and one that waits for a retry does too.
func (w *scheduleWalk) rival(o *modelOccurrence, before, after *picture, e event, later bool) bool {
	name := o.schedule.name
	flightEnded := false
	for _, id := range o.schedule.ids {
		_, settled := e.settled[id]
		flightEnded = flightEnded || settled || e.reaped != "" && before.where[id] == e.reaped
	}
	entry, then := before.open[name], after.open[name]
	flightEnded = flightEnded || entry.fence == "0" // and dropped when it was taken
	for _, id := range o.schedule.ids {
		other := w.occurrences[id]
		if id == o.id || later && !other.at.After(o.at) {
			continue
		}
		_, settled := e.settled[id]
		_, taken := e.taken[id]
		heldOn := before.held[id] != "" && !settled && before.where[id] != e.reaped
		heldFor := entry.id == id && entry.fence == "0" || then.id == id && then.fence == "0" || later && (entry.id == id || then.id == id)
		if heldOn || taken || heldFor || flightEnded && before.where[id] == "behind" {
			return true
		}
	}
	return false
}

func (w *scheduleWalk) settledTo(o *modelOccurrence, s protocol.Settlement, to string, before, after *picture, e event) {
	if !o.running && (s.Kind != protocol.SettleBack && s.Kind != protocol.SettlePark && s.Kind != protocol.SettleMissed) {
		o.begun = true
	}
	o.running = false
	if o.cancelled {
		w.hasEnded(o, to)
		return
	}
	if len(s.Body) > 0 && s.Kind != protocol.SettleDone {
		o.body = string(s.Body)
	}
	want := ""
	switch s.Kind {
	case protocol.SettleDone:
		o.end = "done"
	case protocol.SettleDead:
		o.end, want = "dead", "dead"
	case protocol.SettleMissed:
		o.end = "missed"
		w.giveBack(o, 1)
	case protocol.SettleLater:
		o.retries, want = true, "due"
	case protocol.SettleBack:
		want = "ready"
	case protocol.SettlePark:
		want = "parked " + s.Name
	}
	switch {
	case to == want:
	case to == "ready" && s.Kind == protocol.SettlePark: // this call also serves the name on which it parks
	case o.end != "":
		w.fatal("%s was settled as %s and is in %q, want %q", o.id, o.end, to, want)
	case to == "":
		w.vanished(o, want, before, after, e)
	case to == e.session:
		w.takenTo(o, want, before, e)
	case to == "behind":
		w.wentBehind(o, want, before, after, e)
	default:
		w.fatal("%s was settled with %c and is in %q, want %q", o.id, s.Kind, to, want)
	}
}

func (w *scheduleWalk) reapedTo(o *modelOccurrence, to string, before, after *picture, e event) {
	if o.cancelled {
		w.hasEnded(o, to)
		return
	}
	if o.running {
		o.crashes++
	}
	o.running = false
	switch {
	case to == "ready" || to == "due" && o.crashes >= 2:
	case to == "dead" && o.crashes >= 3:
		o.end = "dead"
	case to == "behind" && w.rival(o, before, after, e, false):
	case to == "":
		w.vanished(o, "ready", before, after, e)
	default:
		w.fatal("%s crashed with its worker %d times and is in %q", o.id, o.crashes, to)
	}
}

func (w *scheduleWalk) takenTo(o *modelOccurrence, from string, before *picture, e event) {
	job, ok := e.taken[o.id]
	s := o.schedule
	switch {
	case !ok:
		w.fatal("%s is in flight, and the answer does not have it", o.id)
	case from == "due" && o.future && o.fresh():
		w.fatal("%s was taken before its time", o.id)
	case from == "behind" && w.loneFlight(o, before, e):
		w.fatal("%s was taken from behind, and no flight had ended", o.id)
	case job.New && o.taken:
		w.fatal("%s is new a second time", o.id)
	case !job.New && !o.taken && from == "due":
		w.fatal("%s was taken for the first time and is not new", o.id)
	case string(job.Body) != o.body:
		w.fatal("%s came with the body %q, want %q", o.id, job.Body, o.body)
	case o.bodiless() && !strings.Contains(string(job.Definition), fmt.Sprintf(`"args":%d`, s.version)):
		w.fatal("%s came with the definition %s, want version %d", o.id, job.Definition, s.version)
	case o.bodiless() && !o.current():
		w.fatal("%s was taken, and its schedule was removed: it has no body", o.id)
	}
	o.loose = !s.exists || s.policy == "allow"
	o.taken, o.retries, o.running = true, false, job.Begun
	o.begun = o.begun || job.Begun
}

// loneFlight reports whether no flight of o's schedule ended in this call and none is held open for o.
func (w *scheduleWalk) loneFlight(o *modelOccurrence, before *picture, e event) bool {
	for _, id := range o.schedule.ids {
		if _, settled := e.settled[id]; settled {
			return false
		}
	}
	return before.open[o.schedule.name].fence != "0"
}

func (w *scheduleWalk) wentBehind(o *modelOccurrence, from string, before, after *picture, e event) {
	s := o.schedule
	switch {
	case s.exists && s.policy == "allow" && !s.mixed:
		w.fatal("%s went behind under policy allow", o.id)
	case !w.rival(o, before, after, e, false):
		w.fatal("%s went from %s behind nothing", o.id, from)
	case o.fresh() && s.policy == "skip" && !o.caughtUp:
		w.fatal("%s is new and went behind under policy skip", o.id)
	case o.fresh() && o.future:
		w.fatal("%s went behind before its time", o.id)
	}
	o.retries = false
}

func (w *scheduleWalk) promoted(o *modelOccurrence, before, after *picture, e event) {
	if w.loneFlight(o, before, e) && (e.reaped == "" || !w.flewWith(o, before, e.reaped)) && e.removed != o.schedule && !e.pruned[o.schedule.name] {
		w.fatal("%s went from behind to ready, and no flight of %s ended", o.id, o.schedule.name)
	}
	name := o.schedule.name
	for _, id := range before.behind[name] {
		if id == o.id {
			return
		}
		other := w.occurrences[id]
		if after.where[id] == "behind" || other.end == "" && after.where[id] == "" {
			w.fatal("%s was moved to ready before %s, which is older", o.id, id)
		}
	}
}

// flewWith reports whether a session held an occurrence of o's schedule.
func (w *scheduleWalk) flewWith(o *modelOccurrence, before *picture, session string) bool {
	return slices.ContainsFunc(o.schedule.ids, func(id string) bool { return before.where[id] == session })
}

// vanished checks an occurrence that is in no place any more although its settlement did not end it.
func (w *scheduleWalk) vanished(o *modelOccurrence, from string, before, after *picture, e event) {
	s := o.schedule
	superseded := slices.Contains(e.superseded, o.id)
	switch {
	case superseded || e.reaped != "" && o.taken:
		if !o.taken && s.policy != "cancel" || !s.mixed && s.policy != "cancel" {
			w.fatal("%s was superseded under policy %s", o.id, s.policy)
		}
		if !w.rival(o, before, after, e, true) {
			w.fatal("%s was superseded, and no later one is in flight", o.id)
		}
		o.end = "superseded"
		if o.current() {
			s.counts[2]++
		}
	case !o.current() && (o.bodiless() || o.fresh()):
		o.end = "dropped"
	case e.withdrawn == s && o.fresh() && o.future && from == "due":
		o.end = "withdrawn"
		w.giveBack(o, -1)
	case !o.fresh():
		w.fatal("%s was begun and has vanished from %s (policy %s)", o.id, from, s.policy)
	case e.session == "":
		w.fatal("%s has vanished from %s", o.id, from)
	default:
		w.skipped(o, from, before, after, e)
	}
}

// skipped checks a new occurrence that a take dropped.
func (w *scheduleWalk) skipped(o *modelOccurrence, from string, before, after *picture, e event) {
	s := o.schedule
	rival := w.rival(o, before, after, e, false)
	entry, then := before.open[s.name], after.open[s.name]
	anotherNew := entry.behind != "" && entry.fence == "0" || then.behind != "" && then.fence == "0" || slices.ContainsFunc(before.behind[s.name], func(id string) bool { return w.occurrences[id].fresh() }) ||
		slices.ContainsFunc(after.behind[s.name], func(id string) bool { return w.occurrences[id].fresh() })
	switch {
	case !slices.Contains(e.skipped, o.id):
		w.fatal("%s was skipped, and the answer has %q as skipped", o.id, e.skipped)
	case from != "due":
		w.fatal("%s was dropped from %s", o.id, from)
	case o.future:
		w.fatal("%s was dropped before its time", o.id)
	case !rival:
		w.fatal("%s was skipped, and no other one was in flight", o.id)
	case s.policy == "allow":
		w.fatal("%s was skipped under policy allow", o.id)
	case s.policy != "skip" && !anotherNew:
		w.fatal("%s was skipped under policy %s, and no other new one waits", o.id, s.policy)
	case o.caughtUp && !s.mixed:
		w.fatal("%s was placed to be caught up and was skipped under policy %s", o.id, s.policy)
	}
	o.end = "skipped"
	w.giveBack(o, 0)
}

// giveBack gives the run of an occurrence back to its schedule's count, and counts it: 0 skipped, 1 missed, -1 neither.
func (w *scheduleWalk) giveBack(o *modelOccurrence, counter int) {
	s := o.schedule
	if !o.current() {
		return
	}
	s.used--
	if counter >= 0 {
		s.counts[counter]++
	}
	if s.state == protocol.StateCompleted {
		s.state = protocol.StateLive
	}
}
