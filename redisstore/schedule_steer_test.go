package redisstore

import (
	"fmt"
	"regexp"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

var createdField = regexp.MustCompile(`"created":"[^"]*"`)

// create declares a schedule that does not exist, as if at the second after its last occurrence so far.
func (w *scheduleWalk) create(s *modelSchedule) {
	w.note("create %s", s.name)
	s.exists, s.state, s.used, s.cursor, s.counts, s.cancels = true, protocol.StateLive, 0, "", [4]int64{}, 0
	s.created++
	s.last = s.last.Add(time.Second)
	answer := w.declare(s.name, s.policy, s.body())
	if !answer.New || answer.Owed == nil || answer.Owed.Cursor != (protocol.Cursor{}) {
		w.fatal("created: %+v, want a new one that is owed its first occurrence", answer)
	}
	s.revision = answer.Revision
	text := createdField.ReplaceAllString(string(answer.Stored), `"created":"`+s.last.UTC().Format("2006-01-02T15:04:05.000Z")+`"`)
	w.client.HSet(w.Context(), w.keys().schedules, s.name, text)
}

// body is the definition without what the store adds.
func (s *modelSchedule) body() string {
	return fmt.Sprintf(`{"version":1,"job":"j","recurrence":{"frequency":"second","interval":%d},"misfire":"catch_up","grace":"1m0s","args":%d}`, s.rule, s.version)
}

// steer changes, pauses, resumes, removes or creates a schedule.
func (w *scheduleWalk) steer() {
	names := w.names()
	s := w.schedules[names[w.random.IntN(len(names))]]
	switch n := w.random.IntN(6); {
	case !s.exists:
		w.create(s)
		w.seen(event{})
	case s.state == protocol.StatePaused:
		w.pause(s, false)
	case n == 0 && s.state == protocol.StateLive:
		w.pause(s, true)
	case n <= 2 && s.mixed:
		w.remove(s)
	case n == 3:
		w.changeRule(s)
	default:
		w.change(s)
	}
}

// withdraws reports whether a change or a pause withdraws the occurrence at the cursor, and says so to the model.
func (s *modelSchedule) withdraws(w *scheduleWalk) (waits bool) {
	if s.cursor == "" || !w.occurrences[s.cursor].fresh() || w.now.where[s.cursor] != "due" {
		return false
	}
	if w.occurrences[s.cursor].future {
		s.cursor = ""
		return false
	}
	return true
}

func (w *scheduleWalk) pause(s *modelSchedule, paused bool) {
	w.note("pause %s: %v", s.name, paused)
	waits := s.withdraws(w)
	s.state = protocol.StateLive
	if paused {
		s.state = protocol.StatePaused
	}
	owed, err := w.store.PauseSchedule(w.Context(), s.name, paused)
	if err != nil || (owed.Name == s.name) != (!paused && !waits) {
		w.fatal("paused %v: %+v, %v; the occurrence at the cursor is due and untaken: %v", paused, owed, err, waits)
	}
	w.seen(event{withdrawn: s})
}

// change declares a schedule with other arguments and, of those whose policy may change, another policy.
func (w *scheduleWalk) change(s *modelSchedule) {
	s.version++
	if s.mixed {
		s.policy = []string{"skip", "wait", "cancel", "allow"}[w.random.IntN(4)]
	}
	w.note("change %s to version %d, %s", s.name, s.version, s.policy)
	waits := s.withdraws(w)
	if s.state != protocol.StatePaused {
		s.state = protocol.StateLive
	}
	w.changed(s, w.declare(s.name, s.policy, s.body()), waits)
}

func (w *scheduleWalk) changed(s *modelSchedule, answer protocol.DeclareAnswer, waits bool) {
	if !answer.Changed || answer.New || answer.Revision <= s.revision || (answer.Owed != nil) != (s.state == protocol.StateLive && !waits) {
		w.fatal("changed %s: changed %v, new %v, revision %d after %d, owed %v; %s, the occurrence at the cursor is due and untaken: %v",
			s.name, answer.Changed, answer.New, answer.Revision, s.revision, answer.Owed != nil, s.state, waits)
	}
	s.revision = answer.Revision
	w.seen(event{withdrawn: s})
}

// changeRule declares a schedule with another recurrence, in the two steps that this takes.
func (w *scheduleWalk) changeRule(s *modelSchedule) {
	s.rule++
	w.note("change the rule of %s to %d", s.name, s.rule)
	declared := protocol.Declaration{Name: s.name, Queue: "default", Overlap: s.policy, Body: []byte(s.body())}
	first := w.store.Declare(w.Context(), []protocol.Declaration{declared})[0]
	if first.Err != nil || !first.Recount || first.Changed {
		w.fatal("declared with another rule: %v, recount %v, changed %v; want only what to count", first.Err, first.Recount, first.Changed)
	}
	w.seen(event{})
	declared.Change = &protocol.Change{Revision: s.revision, Cursor: first.Cursor, Until: first.Now, Missed: w.random.IntN(4)}
	s.withdraws(w)
	s.cursor = ""
	if s.state != protocol.StatePaused {
		s.state = protocol.StateLive
	}
	s.counts[1] += int64(declared.Change.Missed)
	w.changed(s, w.store.Declare(w.Context(), []protocol.Declaration{declared})[0], false)
}

func (w *scheduleWalk) remove(s *modelSchedule) {
	w.note("remove %s", s.name)
	s.exists = false
	found, err := w.store.Remove(w.Context(), s.name)
	if err != nil || !found {
		w.fatal("removed %s: %v, %v", s.name, found, err)
	}
	w.seen(event{removed: s})
	for _, id := range s.ids {
		if o := w.occurrences[id]; o.fresh() && (w.now.where[id] == "due" || w.now.where[id] == "behind") {
			w.fatal("%s was removed, and %s is in %s", s.name, id, w.now.where[id])
		}
	}
}
