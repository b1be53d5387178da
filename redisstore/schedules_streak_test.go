package redisstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A streakSchedule is the state of a schedule with PauseAfter after the calls so far.
type streakSchedule struct {
	name    string
	n       int // of PauseAfter; 0: none
	version int // of its arguments
	paused  bool
	noted   string   // by its own pause
	dead    []string // the dead occurrences that count
	used    int
	ahead   string          // placed, and due in the future
	at      time.Time       // its planned instant
	old     map[string]bool // due occurrence → it was planned before the last change, pause or resume
}

// A streakWalk makes random calls about schedules whose occurrences die, and compares the store with the model after each.
type streakWalk struct {
	*bench
	seed      uint64
	random    *rand.Rand
	schedules []*streakSchedule
	held      []protocol.TakenJob
	notes     []string
	clock     int // number of planned occurrences
}

// For all calls in any order: n consecutive occurrences that ended dead, planned after the last change, pause or resume, pause their
// schedule in the call that settles the last of them, with a note, and the placed occurrence that is not due is given back; a success resets
// the count; and a repeated call changes nothing.
func TestRandomDeathsPauseASchedule(t *testing.T) {
	seeds, steps := storesuite.WalkSize(3, 400)
	for _, seed := range seeds {
		onServersWith(t, randomCalls, func(b *bench) {
			w := &streakWalk{bench: b, seed: seed, random: rand.New(rand.NewPCG(seed, 4))}
			for i, n := range []int{0, 1, 2, 3, 5} {
				s := &streakSchedule{name: fmt.Sprint("s", i), n: n, old: map[string]bool{}}
				w.schedules = append(w.schedules, s)
				w.declareStreak(s)
			}
			for step := range steps {
				w.step()
				w.check()
				w.VerifiedNowAndThen(step)
			}
			w.Verified()
			if len(w.notes) < steps/2 {
				w.fatal("only %d calls", len(w.notes))
			}
		})
	}
}

func (w *streakWalk) fatal(format string, arguments ...any) {
	w.Helper()
	w.Fatalf("seed %d: %s\nthe last calls:\n%s", w.seed, fmt.Sprintf(format, arguments...), strings.Join(w.notes[max(0, len(w.notes)-25):], "\n"))
}

func (w *streakWalk) note(format string, arguments ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, arguments...))
}

func (w *streakWalk) declareStreak(s *streakSchedule) {
	w.Helper()
	answer := w.store.Declare(w.Context(), []protocol.Declaration{{
		Name: s.name, Queue: "default", Overlap: "allow", KeepRuns: w.random.IntN(3), PauseAfter: s.n, Body: fmt.Appendf(nil, `{"version":1,"job":"j","args":%d}`, s.version),
	}})[0]
	if answer.Err != nil || !answer.New && !answer.Changed {
		w.fatal("declared %s: %+v", s.name, answer)
	}
	if !answer.New {
		return
	}
	// as if it had been created long ago
	h, _ := parseHead(string(answer.Stored))
	h.created = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	w.client.HSet(w.Context(), w.keys().schedules, s.name, h.withState("live"))
	_, last, _ := strings.Cut(w.client.HGet(w.Context(), w.keys().last, s.name).Val(), " ")
	w.client.HSet(w.Context(), w.keys().last, s.name, "2020-01-01T00:00:00.000Z "+last)
}

func (w *streakWalk) step() {
	s := w.schedules[w.random.IntN(len(w.schedules))]
	switch n := w.random.IntN(24); {
	case n < 10:
		for _, s := range w.schedules {
			w.place(s)
		}
	case n < 20:
		w.settleSome()
	case n == 20:
		s.version++
		s.n = []int{s.n, s.n, w.random.IntN(4)}[w.random.IntN(3)]
		w.note("change %s, pause after %d", s.name, s.n)
		s.begin()
		w.declareStreak(s)
	default:
		w.pause(s)
		if s.paused && w.random.IntN(4) > 0 {
			w.pause(s)
		}
	}
}

// pause pauses a live schedule, or resumes it.
func (w *streakWalk) pause(s *streakSchedule) {
	w.Helper()
	w.note("pause %s: %v", s.name, !s.paused)
	if _, err := w.store.PauseSchedule(w.Context(), protocol.Pausing{Name: s.name, Paused: !s.paused}); err != nil {
		w.fatal("%v", err)
	}
	s.begin()
	s.paused, s.noted = !s.paused, ""
}

// begin resets the count, because the schedule is changed, paused or resumed; an occurrence in the future is withdrawn.
func (s *streakSchedule) begin() {
	if s.ahead != "" {
		s.ahead, s.used = "", s.used-1
	}
	s.dead = nil
}

func (w *streakWalk) find(s *streakSchedule) protocol.Stored {
	w.Helper()
	found, err := w.store.Find(w.Context(), []string{s.name})
	if err != nil {
		w.fatal("%v", err)
	}
	return found[0]
}

// place places the next occurrence of a live schedule that is owed one. The clocks of some servers cannot be set, so an occurrence after the last
// change is planned for tomorrow, one before it for last month; it is due a minute ago or in an hour.
func (w *streakWalk) place(s *streakSchedule) {
	if s.paused || s.ahead != "" || w.client.ZScore(w.Context(), w.keys().owed, s.name).Err() != nil {
		return
	}
	found := w.find(s)
	h, _ := parseHead(string(found.Definition))
	w.clock++
	s.at = time.Now().Add(24*time.Hour + time.Duration(w.clock)*time.Second).Truncate(time.Second)
	isOld, isAhead := w.random.IntN(4) == 0, w.random.IntN(3) == 0
	if isOld {
		s.at = s.at.AddDate(0, 0, -30)
	}
	due := time.Now().Add(-time.Minute)
	if isAhead {
		due = time.Now().Add(time.Hour)
	}
	id := storesuite.OccurrenceID(s.name, s.at)
	w.note("place %s, ahead %v", id, isAhead)
	placed := w.store.Place(w.Context(), []protocol.Placement{{
		Partition: storesuite.DefaultPartition, Name: s.name, Revision: h.revision, Cursor: found.Cursor, Instants: []time.Time{s.at}, Offset: due.Sub(s.at).Truncate(time.Millisecond),
	}})[0]
	if placed.Placed != 1 {
		w.fatal("placed %s: %+v", id, placed)
	}
	s.used++
	if isAhead {
		s.ahead = id
	} else {
		s.old[id] = isOld
	}
}

// settleSome settles some held occurrences in random ways, and takes more.
func (w *streakWalk) settleSome() {
	call, kept := protocol.WorkCall{Take: 1 + w.random.IntN(4)}, []protocol.TakenJob(nil)
	text := ""
	var paused []string
	for _, job := range w.held {
		n := w.random.IntN(8)
		settled := protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleDead, Failed: true, Body: []byte("\x01dead"), Run: &protocol.RunRecord{Outcome: "dead", Attempt: 1}}
		switch {
		case n < 2:
			kept = append(kept, job)
			continue
		case n == 2:
			settled = storesuite.Done(job)
		case n == 3:
			settled = protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleCancelled, Run: &protocol.RunRecord{Outcome: "cancelled"}}
		}
		call.Settle = append(call.Settle, settled)
		text += fmt.Sprintf(" %s %c", job.ID, settled.Kind)
		if s := w.settled(job.ID, settled.Kind); s != nil {
			paused = append(paused, s.name)
		}
	}
	w.note("settle%s, take %d", text, call.Take)
	answer := w.Work("w", call)
	var names []string
	for _, p := range answer.PausedSchedules {
		names = append(names, p.Name)
	}
	if len(answer.Refused) > 0 || !slices.Equal(names, paused) {
		w.fatal("refused %v, paused %+v, want %v", answer.Refused, answer.PausedSchedules, paused)
	}
	w.held = append(kept, answer.Taken...)
	if w.Numbers["w"] > 0 && w.random.IntN(3) == 0 {
		before := w.picture()
		if again := w.Repeat("w", call); again.Err != nil || len(again.Taken) != len(answer.Taken) {
			w.fatal("repeated: %+v, before %+v", again, answer)
		}
		if after := w.picture(); after != before {
			w.fatal("a repeated call wrote: before %s\nafter %s", before, after)
		}
	}
}

// settled records the end of an occurrence in the model, and returns its schedule if that pauses it.
func (w *streakWalk) settled(id string, kind protocol.SettleKind) *streakSchedule {
	name, _, _ := strings.Cut(id, "@")
	s := w.schedules[slices.IndexFunc(w.schedules, func(s *streakSchedule) bool { return s.name == name })]
	old := s.old[id]
	delete(s.old, id)
	switch {
	case kind == protocol.SettleDone:
		s.dead = nil
	case kind == protocol.SettleDead && !old && !s.paused && s.n > 0:
		if s.dead = append(s.dead, id); len(s.dead) == s.n {
			s.begin()
			s.paused, s.noted = true, fmt.Sprintf("%d occurrences in a row ended dead", s.n)
			if s.n == 1 {
				s.noted = "1 occurrence ended dead"
			}
			return s
		}
	}
	return nil
}

func (w *streakWalk) picture() string {
	k := w.keys()
	return fmt.Sprint(w.client.HGetAll(w.Context(), k.schedules).Val(), w.client.HGetAll(w.Context(), k.last).Val(), w.client.HGetAll(w.Context(), k.notes).Val(),
		w.client.HGetAll(w.Context(), k.cursors).Val(), w.client.ZRangeWithScores(w.Context(), k.due, 0, -1).Val(), w.client.ZRangeWithScores(w.Context(), k.owed, 0, -1).Val(),
		w.client.HGet(w.Context(), k.state, "fence").Val())
}

func (w *streakWalk) check() {
	w.Helper()
	fence, _ := strconv.ParseInt(w.client.HGet(w.Context(), w.keys().state, "fence").Val(), 10, 64)
	for _, id := range w.client.ZRange(w.Context(), w.keys().due, 0, -1).Val() {
		s := w.schedules[slices.IndexFunc(w.schedules, func(s *streakSchedule) bool { return strings.HasPrefix(id, s.name+"@") })]
		if _, ok := s.old[id]; !ok && id != s.ahead {
			w.fatal("%s was withdrawn, and is in due", id)
		}
	}
	for _, s := range w.schedules {
		found := w.find(s)
		h, _ := parseHead(string(found.Definition))
		owed := !found.Since.IsZero()
		due := w.client.ZScore(w.Context(), w.keys().due, storesuite.OccurrenceID(s.name, s.at)).Err() == nil
		waits := found.Waiting
		last := w.client.HGet(w.Context(), w.keys().last, s.name).Val()
		switch {
		case h.state == protocol.StatePaused != s.paused:
			w.fatal("%s is %s after %v died, of %d: %s", s.name, h.state, s.dead, s.n, last)
		case s.paused && owed, !s.paused && owed == waits:
			w.fatal("%s, paused %v, is owed: %v, and its next waits: %v", s.name, s.paused, owed, waits)
		case s.ahead != "" != (due && waits && found.Cursor.At.Equal(s.at) && w.client.ZScore(w.Context(), w.keys().due, s.ahead).Err() == nil):
			w.fatal("%s: placed ahead %q, in due: %v, cursor %+v", s.name, s.ahead, due, found.Cursor)
		case found.Cursor.Used != s.used:
			w.fatal("%s has used %d, want %d", s.name, found.Cursor.Used, s.used)
		case h.revision > fence:
			w.fatal("%s has the revision %d, and the last fence is %d", s.name, h.revision, fence)
		}
		if found.Note.Text != s.noted || s.noted != "" && (found.Note.By != "chime" || time.Since(found.Note.At).Abs() > time.Hour) {
			w.fatal("%s, paused %v, has the note %+v, want %q", s.name, s.paused, found.Note, s.noted)
		}
		if len(last) > 150+12*s.n {
			w.fatal("%s: %d bytes: %s", s.name, len(last), last)
		}
	}
}
