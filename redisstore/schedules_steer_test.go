package redisstore

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

var createdField = regexp.MustCompile(`"created":"[^"]*"`)

// create declares a schedule that does not exist, as if at the second after its last occurrence so far.
func (w *scheduleWalk) create(s *modelSchedule) {
	w.note("create %s", s.name)
	s.exists, s.state, s.used, s.cursor, s.counts, s.cancels = true, protocol.StateLive, 0, "", [4]int64{}, 0
	s.created++
	s.last, s.withdrawn = s.last.Add(time.Second), time.Time{}
	declared := protocol.Declaration{Name: s.name, Queue: "default", Overlap: s.policy, Body: []byte(s.body()), KeepRuns: s.keep}
	s.note = protocol.Note{}
	if s.owner = (protocol.Owner{}); s.mixed && w.random.IntN(2) == 0 {
		s.owner = protocol.Owner{Name: []string{"c", "d"}[w.random.IntN(2)], Version: 2}
		declared.Owner = s.owner
	}
	answer := w.store.Declare(w.Context(), []protocol.Declaration{declared})[0]
	if answer.Err != nil || !answer.New || answer.Owed == nil || answer.Owed.Cursor != (protocol.Cursor{}) {
		w.fatal("created: %+v, want a new one that is owed its first occurrence", answer)
	}
	s.revision = answer.Revision
	w.client.ZRem(w.Context(), w.store.keys.deleted(), removed(s.name)) // otherwise the earlier creation below would be that of a deleted schedule
	text := createdField.ReplaceAllString(string(answer.Stored), `"created":"`+s.last.UTC().Format("2006-01-02T15:04:05.000Z")+`"`)
	w.client.HSet(w.Context(), w.keys().schedules, s.name, text)
	last := w.client.HGet(w.Context(), w.keys().last, s.name).Val()
	_, last, _ = strings.Cut(last, " ")
	w.client.HSet(w.Context(), w.keys().last, s.name, s.last.UTC().Format("2006-01-02T15:04:05.000Z")+" "+last)
}

// body returns the definition without the fields that the store adds.
func (s *modelSchedule) body() string {
	return fmt.Sprintf(`{"version":1,"job":"j","recurrence":{"frequency":"second","interval":%d},"misfire":"catch_up","grace":"1m0s","group":%q,"args":%d}`, s.rule, s.group, s.version)
}

// steer changes, pauses, resumes, removes, prunes or creates a schedule.
func (w *scheduleWalk) steer() {
	names := w.names()
	s := w.schedules[names[w.random.IntN(len(names))]]
	if s.mixed && w.random.IntN(3) == 0 {
		if s.exists {
			w.own(s)
		}
		w.declareOutdated(s)
		w.prune()
		w.declareOutdated(s)
	}
	switch n := w.random.IntN(8); {
	case !s.exists:
		w.create(s)
		w.seen(event{})
	case n == 6:
		w.conflict(s)
	case s.state == protocol.StatePaused:
		w.pause(s, n == 5)
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

// withdraws reports whether a change or a pause withdraws the occurrence at the cursor, and records it in the model.
func (s *modelSchedule) withdraws(w *scheduleWalk) (waits bool) {
	if s.cursor == "" || !w.occurrences[s.cursor].fresh() || w.now.where[s.cursor] != "due" {
		return false
	}
	if o := w.occurrences[s.cursor]; o.future {
		s.cursor, s.withdrawn = "", o.at
		return false
	}
	return true
}

// pause pauses or resumes a schedule, or sets another note on a pause. A given revision is the stored one.
func (w *scheduleWalk) pause(s *modelSchedule, paused bool) {
	p := protocol.Pausing{Name: s.name, Paused: paused, SkipGap: !paused && w.random.IntN(2) == 0}
	if w.random.IntN(2) == 0 {
		p.Revision = s.revision
	}
	if paused && (s.state == protocol.StatePaused || w.random.IntN(2) == 0) {
		p.Note = &protocol.Note{Text: fmt.Sprintf("\"note\t%d", len(w.notes)), By: "anna"}
	}
	w.note("pause %s: %v, revision %d, note %v, skip %v", s.name, paused, p.Revision, p.Note, p.SkipGap)
	if p.SkipGap {
		first, err := w.store.PauseSchedule(w.Context(), p)
		if err != nil || !first.Recount || first.Owed != nil {
			w.fatal("resumed without a count of missed instants: %+v, %v; want a request for it", first, err)
		}
		w.seen(event{})
		p.Change = &protocol.Change{Revision: first.Revision, Cursor: first.Cursor, Until: first.Now, Missed: w.random.IntN(4)}
		s.counts[1] += int64(p.Change.Missed)
	}
	renoted := paused && s.state == protocol.StatePaused
	waits := !renoted && s.withdraws(w)
	if p.SkipGap {
		s.cursor, s.withdrawn, waits = "", time.Time{}, false
	}
	s.state, s.note = protocol.StateLive, protocol.Note{}
	if paused {
		s.state = protocol.StatePaused
	}
	if p.Note != nil {
		s.note = *p.Note
	}
	answer, err := w.store.PauseSchedule(w.Context(), p)
	if err != nil || (answer.Owed != nil) != (!paused && !waits) || answer.Revision <= s.revision {
		w.fatal("paused %v: %+v, %v, revision before %d; the occurrence at the cursor is due and untaken: %v", paused, answer, err, s.revision, waits)
	}
	s.revision = answer.Revision
	w.seen(event{withdrawn: s})
	w.unchanged(fmt.Sprintf("%s paused %v again", s.name, paused), func() error {
		p.Revision = s.revision - 1 // it is in the wanted state: no conflict
		_, err := w.store.PauseSchedule(w.Context(), p)
		return err
	})
}

// unchanged runs a call that must change nothing.
func (w *scheduleWalk) unchanged(what string, does func() error) {
	w.Helper()
	w.note("unchanged: %s", what)
	before := w.now.rest + w.kept()
	if err := does(); err != nil {
		w.fatal("%s: %v, want no error", what, err)
	}
	w.seen(event{})
	if after := w.now.rest + w.kept(); after != before {
		w.fatal("%s: it wrote: before %s\nafter %s", what, before, after)
	}
}

// kept returns the data that are kept in addition to definitions, and the registry.
func (w *scheduleWalk) kept() string {
	k := w.keys()
	notes, owners := w.client.HGetAll(w.Context(), k.notes).Val(), w.client.HGetAll(w.Context(), k.owners).Val()
	return fmt.Sprint(notes, owners, w.client.ZRange(w.Context(), w.store.keys.registry(), 0, -1).Val())
}

// conflict makes calls for another revision than the stored one, or for a schedule that does not exist.
func (w *scheduleWalk) conflict(s *modelSchedule) {
	stale := s.revision - 1 - w.random.Int64N(1000)
	declared := protocol.Declaration{Name: s.name, Queue: []string{"default", "mail"}[w.random.IntN(2)], Overlap: s.policy, Revision: stale,
		Body: []byte(strings.Replace(s.body(), `"args":`, `"args":1`, 1))}
	w.unchanged("conflicts of "+s.name, func() error {
		absent := declared
		absent.Revision, absent.Absent = 0, true
		for i, err := range []error{
			w.store.Declare(w.Context(), []protocol.Declaration{declared})[0].Err,
			w.store.Declare(w.Context(), []protocol.Declaration{absent})[0].Err,
			second(w.store.Remove(w.Context(), protocol.Removal{Name: s.name, Revision: stale})),
			second(w.store.PauseSchedule(w.Context(), protocol.Pausing{Name: s.name, Paused: s.state == protocol.StateLive, Revision: stale})),
		} {
			if i == 3 && s.state == protocol.StateCompleted && err == nil {
				continue // it cannot be paused nor resumed
			}
			if !errors.Is(err, protocol.ErrConflict) {
				return fmt.Errorf("action %d for revision %d: %v, want a conflict", i, stale, err)
			}
		}
		return nil
	})
	w.unchanged("equal for another revision: "+s.name, func() error {
		same := protocol.Declaration{Name: s.name, Queue: "default", Overlap: s.policy, Body: []byte(s.body()), Revision: stale}
		err := w.store.Declare(w.Context(), []protocol.Declaration{same})[0].Err
		same.Revision, same.Absent, same.Paused = 0, true, &protocol.Note{Text: "not this"}
		return errors.Join(err, w.store.Declare(w.Context(), []protocol.Declaration{same})[0].Err)
	})
}

func second[T any](_ T, err error) error { return err }

// declareOutdated declares a schedule in a lower version than its owner has declared or pruned it.
func (w *scheduleWalk) declareOutdated(s *modelSchedule) {
	if s.owner.Version < 2 {
		return
	}
	declared := protocol.Declaration{Name: s.name, Queue: []string{"default", "mail"}[w.random.IntN(2)], Overlap: s.policy, Body: []byte(s.body()),
		Owner: protocol.Owner{Name: s.owner.Name, Version: s.owner.Version - 1}}
	if w.random.IntN(2) == 0 {
		declared.Body = []byte(strings.Replace(s.body(), `"args":`, `"args":1`, 1))
	}
	if !s.exists {
		declared.Queue = "default" // where its owner is known
	}
	w.unchanged("declare "+s.name+" in a lower version", func() error {
		answer := w.store.Declare(w.Context(), []protocol.Declaration{declared})[0]
		if answer.Err == nil && (!answer.Outdated || answer.New || answer.Changed || answer.Owed != nil || s.exists && answer.Revision != s.revision) {
			return fmt.Errorf("%+v, want outdated", answer)
		}
		return answer.Err
	})
}

// own declares a schedule unchanged, in the same version of its owner, a higher one, or as another owner. A version of another owner that
// was succeeded by a pruning one changes nothing.
func (w *scheduleWalk) own(s *modelSchedule) {
	owner := protocol.Owner{Name: []string{"a", "b"}[w.random.IntN(2)], Version: 1 + w.random.Int64N(4)}
	if owner.Name == s.owner.Name {
		owner.Version = max(owner.Version, s.owner.Version)
	}
	w.note("own %s: %+v", s.name, owner)
	declared := protocol.Declaration{Name: s.name, Queue: "default", Overlap: s.policy, Body: []byte(s.body()), Owner: owner}
	if owner.Name != s.owner.Name && owner.Name == w.pruned.Name && owner.Version < w.pruned.Version {
		w.unchanged("own "+s.name+" in a version that is succeeded", func() error {
			if answer := w.store.Declare(w.Context(), []protocol.Declaration{declared})[0]; answer.Err != nil || !answer.Outdated || answer.Revision != s.revision {
				return fmt.Errorf("%+v, want outdated", answer)
			}
			return nil
		})
		return
	}
	answer := w.store.Declare(w.Context(), []protocol.Declaration{declared})[0]
	if answer.Err != nil || answer.Outdated || answer.Changed || answer.Revision != s.revision {
		w.fatal("%s declared by %+v: %+v, want the same", s.name, owner, answer)
	}
	s.owner = owner
	w.seen(event{})
}

// prune deletes the schedules that a lower version of an owner has declared.
func (w *scheduleWalk) prune() {
	owner := protocol.Owner{Name: []string{"a", "b"}[w.random.IntN(2)], Version: 1 + w.random.Int64N(4)}
	w.note("prune %+v", owner)
	w.client.Del(w.Context(), w.store.keys.pruned())
	w.pruned = owner
	var want []string
	e := event{pruned: map[string]bool{}}
	for _, name := range w.names() {
		s := w.schedules[name]
		if s.owner.Name != owner.Name || s.owner.Version >= owner.Version {
			continue
		}
		if s.exists {
			want, s.exists, s.owner = append(want, name), false, owner
			e.pruned[name] = true
		}
	}
	next, pruned, err := w.store.Prune(w.Context(), owner, "")
	slices.Sort(pruned)
	if err != nil || next != "" || fmt.Sprint(pruned) != fmt.Sprint(want) {
		w.fatal("pruned %v, %v, next %q; want %v", pruned, err, next, want)
	}
	w.seen(e)
}

// change declares a schedule with other arguments and, if its policy may change, another policy.
func (w *scheduleWalk) change(s *modelSchedule) {
	s.version++
	if s.mixed {
		s.policy = []string{"skip", "wait", "cancel", "allow"}[w.random.IntN(4)]
		s.group = walkGroups[w.random.IntN(len(walkGroups))]
	}
	w.note("change %s to version %d, %s, group %q", s.name, s.version, s.policy, s.group)
	waits := s.withdraws(w)
	if s.state != protocol.StatePaused {
		s.state = protocol.StateLive
	}
	declared := protocol.Declaration{Name: s.name, Queue: "default", Overlap: s.policy, Body: []byte(s.body()), KeepRuns: s.keep}
	w.changed(s, w.store.Declare(w.Context(), []protocol.Declaration{declared})[0], waits)
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
	declared := protocol.Declaration{Name: s.name, Queue: "default", Overlap: s.policy, Body: []byte(s.body()), KeepRuns: s.keep}
	first := w.store.Declare(w.Context(), []protocol.Declaration{declared})[0]
	if first.Err != nil || !first.Recount || first.Changed {
		w.fatal("declared with another rule: %v, recount %v, changed %v; want only a request to count", first.Err, first.Recount, first.Changed)
	}
	w.seen(event{})
	declared.Change = &protocol.Change{Revision: s.revision, Cursor: first.Cursor, Until: first.Now, Missed: w.random.IntN(4)}
	s.withdrawn = time.Time{} // the caller counts what was withdrawn before, and here it declares that the schedule continues from now
	s.withdraws(w)
	for _, id := range s.ids { // the catching up of the old recurrence ends; its due occurrences run like any others
		if w.now.where[id] == "due" {
			w.occurrences[id].caughtUp = false
		}
	}
	s.cursor = ""
	if s.state != protocol.StatePaused {
		s.state = protocol.StateLive
	}
	s.counts[1] += int64(declared.Change.Missed)
	w.changed(s, w.store.Declare(w.Context(), []protocol.Declaration{declared})[0], false)
}

// remove deletes a schedule, every other time with its waiting jobs: those vanish, except those in ready, which the take drops.
func (w *scheduleWalk) remove(s *modelSchedule) {
	r, e := protocol.Removal{Name: s.name, Waiting: w.random.IntN(2) == 0}, event{removed: s}
	if w.random.IntN(2) == 0 {
		r.Revision = s.revision
	}
	w.note("remove %+v", r)
	s.exists = false
	if r.Waiting {
		e.waiting = s
		for _, id := range s.ids {
			if o := w.occurrences[id]; w.now.held[id] == "" {
				o.body = ""
			}
		}
	}
	found, err := w.store.Remove(w.Context(), r)
	if err != nil || !found {
		w.fatal("removed %s: %v, %v", s.name, found, err)
	}
	w.seen(e)
	for _, id := range s.ids {
		where, o := w.now.where[id], w.occurrences[id]
		if o.fresh() && (where == "due" || where == "behind") {
			w.fatal("%s was removed, and %s is in %s", s.name, id, where)
		}
		if r.Waiting && w.now.held[id] == "" && (where != "" && where != "ready" || w.now.bodies[id] != "") {
			w.fatal("%s was removed with its waiting jobs, and %s is in %q with the body %q", s.name, id, where, w.now.bodies[id])
		}
	}
}
