package redisstore

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// The model of schedules, for TestRandomCallsEndEachOccurrenceOnce: the rules for each occurrence, in plain Go. It does not
// predict which job a call takes. It reads the store before and after each call and decides whether the rules allow each
// step from one to the other.

// A modelSchedule is the state of a schedule after the calls so far.
type modelSchedule struct {
	name, policy string
	group        string // of its next occurrences; empty: none
	exists       bool
	state        string
	revision     int64
	version      int // of its definition's arguments
	rule         int // of its recurrence: the interval
	created      int // how many times the name was created
	count        int // of the rule; 0: endless
	keep         int // attempts of its history
	used         int
	cursor       string    // the occurrence at the cursor; empty: the cursor belongs to none
	last         time.Time // the latest instant in the past that was placed
	withdrawn    time.Time // the planned instant of the occurrence withdrawn since then; zero: none was
	counts       [4]int64  // skipped, missed, superseded, caught up: since it was created
	cancels      int64     // cancelled since then
	note         protocol.Note
	owner        protocol.Owner // that has declared it, even after it was removed
	mixed        bool           // its policy is changed, or it is removed and created again
	ids          []string       // of all its occurrences, of each creation
}

// A modelOccurrence is an occurrence that was placed.
type modelOccurrence struct {
	id       string
	schedule *modelSchedule
	at       time.Time
	created  int    // its schedule's
	future   bool   // it was placed in the future and never becomes due in this test
	caughtUp bool   // placed by misfire policy catch up
	taken    bool   // a call returned it
	begun    bool   // its handler began, once or more
	running  bool   // it is held and has begun
	crashes  int    // with its handler begun
	body     string // its last settlement's body
	retries  bool   // it was settled to be due later, and has not been taken since
	loose    bool   // it was taken while its schedule did not exist or let runs overlap
	end      string // done, dead, missed, skipped, superseded, withdrawn, dropped, cancelled

	cancelled bool // it was cancelled while it was held
	marked    bool // it was cancelled before its instant, and is still in due
}

// fresh reports whether it was not taken.
func (o *modelOccurrence) fresh() bool { return !o.taken && o.end == "" }

// current reports whether its schedule is the one that placed it, not one created again under the same name.
func (o *modelOccurrence) current() bool { return o.schedule.exists && o.schedule.created == o.created }

// bodiless reports whether it runs with its schedule's definition, so that it is dropped when that is gone.
func (o *modelOccurrence) bodiless() bool { return o.body == "" }

// check compares the store with the model between two calls.
func (w *scheduleWalk) check(p *picture) {
	w.Helper()
	for _, name := range w.names() {
		s := w.schedules[name]
		w.checkFlights(p, s)
		w.checkPlacing(p, s)
		w.checkCounters(p, s)
		w.checkHistory(p, s)
	}
	w.checkGroups(p)
	for name := range p.open {
		if w.schedules[name] == nil {
			w.fatal("open names %s", name)
		}
	}
}

func (w *scheduleWalk) checkFlights(p *picture, s *modelSchedule) {
	entry, inFlight, newBehind := p.open[s.name], "", ""
	for _, id := range s.ids {
		o := w.occurrences[id]
		if p.held[id] != "" && !o.loose {
			if inFlight != "" {
				w.fatal("%s and %s are in flight together under policy %s", inFlight, id, s.policy)
			}
			inFlight = id
		}
		if p.where[id] == "behind" && o.fresh() {
			if newBehind != "" {
				w.fatal("two new ones are behind: %s and %s", newBehind, id)
			}
			newBehind = id
		}
	}
	switch where := p.where[entry.id]; {
	case inFlight != "" && (entry.id != inFlight || entry.fence != strings.TrimLeft(p.held[inFlight], "-!")):
		w.fatal("%s is in flight with fence %s, and open is %+v", inFlight, p.held[inFlight], entry)
	case inFlight != "" && entry.session != where:
		w.fatal("%s is held by %s, and open is %+v", inFlight, where, entry)
	case inFlight == "" && entry.fence == "0" && where == "due" && w.occurrences[entry.id].crashes >= 2: // a suspect that waits for another one
	case inFlight == "" && entry.fence == "0" && where != "ready" && p.held[entry.id] == "":
		w.fatal("open is held for %s, which is in %q: %+v", entry.id, where, entry)
	case inFlight == "" && entry.fence == "-" && p.held[entry.id] == "" && (where != "due" && where != "ready" && !strings.HasPrefix(where, "parked") || entry.policy != "c"):
		w.fatal("open has %s waiting for a retry, it is in %q: %+v", entry.id, where, entry)
	case inFlight == "" && !entry.free() && entry.fence != "0" && p.held[entry.id] == "":
		w.fatal("nothing of %s is in flight, and open is %+v", s.name, entry)
	case len(p.behind[s.name]) > 0 && entry.free():
		w.fatal("behind nothing waits %v, open %+v", p.behind[s.name], entry)
	case newBehind != "" && s.name+"@"+entry.behind != newBehind, newBehind == "" && entry.behind != "" && s.name+"@"+entry.behind != entry.id:
		w.fatal("new behind %q, and open is %+v", newBehind, entry)
	}
	if s.policy != "cancel" || s.mixed || inFlight == "" {
		return
	}
	for _, id := range s.ids {
		if o := w.occurrences[id]; o.retries && p.where[id] == "due" && o.at.Before(w.occurrences[inFlight].at) {
			w.fatal("under cancel %s waits for a retry while %s runs", id, inFlight)
		}
	}
}

// checkPlacing checks that a live schedule is either in owed or has an untaken occurrence at its cursor, and that none waits for
// a flight that has ended.
func (w *scheduleWalk) checkPlacing(p *picture, s *modelSchedule) {
	found := p.found[s.name]
	score, owed := p.owed[s.name]
	if !s.exists {
		if found.Name != "" || owed {
			w.fatal("%s was removed: found %+v, owed %v", s.name, found, owed)
		}
		return
	}
	var head struct {
		Revision       int64
		State, Overlap string
	}
	if err := json.Unmarshal(found.Definition, &head); err != nil {
		w.fatal("%s has the definition %q: %v", s.name, found.Definition, err)
	}
	if head.Revision != s.revision || head.State != s.state || head.Overlap != s.policy {
		w.fatal("definition %.90s, want revision %d, %s, %s", found.Definition, s.revision, s.state, s.policy)
	}
	if n := found.Note; n.Text != s.note.Text || n.By != s.note.By || n.At.IsZero() != (s.note == protocol.Note{}) || found.Owner != s.owner {
		w.fatal("%s has the note %+v and the owner %+v, want %+v and %+v", s.name, found.Note, found.Owner, s.note, s.owner)
	}
	if found.Cursor.Used != s.used {
		w.fatal("%s has used %d runs, want %d", s.name, found.Cursor.Used, s.used)
	}
	if at := storesuite.OccurrenceID(s.name, found.Cursor.At); s.cursor != "" && at != s.cursor || s.cursor == "" && found.Cursor.Placed {
		w.fatal("%s has the cursor %+v, want %q", s.name, found.Cursor, s.cursor)
	}
	if s.cursor == "" && !s.withdrawn.IsZero() && !found.Cursor.At.Before(s.withdrawn) {
		w.fatal("%s has the cursor %+v after the occurrence planned for %v was withdrawn: it would not be placed again", s.name, found.Cursor, s.withdrawn)
	}
	untaken := s.cursor != "" && w.occurrences[s.cursor].fresh() && p.where[s.cursor] == "due"
	if s.cursor != "" && w.occurrences[s.cursor].marked { // it owes the next when it is dropped; a change of the schedule may have done so before
		untaken = !owed
	}
	if live := s.state == protocol.StateLive; owed != (live && !untaken) {
		w.fatal("%s is %s, the occurrence at its cursor %q waits untaken: %v; in owed: %v", s.name, s.state, s.cursor, untaken, owed)
	}
	if score >= passedOver && p.open[s.name].free() {
		w.fatal("%s waits in owed for the end of a flight, but is not in flight: open %+v", s.name, p.open[s.name])
	}
}

func (w *scheduleWalk) checkCounters(p *picture, s *modelSchedule) {
	if !s.exists {
		return
	}
	least, most := int64(0), int64(0)
	for _, id := range s.ids {
		if o := w.occurrences[id]; o.created == s.created && o.taken {
			most++
			if o.begun && o.end != "missed" {
				least++
			}
		}
	}
	found := p.found[s.name]
	got := [4]int64{found.Skipped, found.Missed, found.Superseded, found.CaughtUp}
	if found.Cancelled != s.cancels {
		w.fatal("%s: %d cancelled, want %d", s.name, found.Cancelled, s.cancels)
	}
	if got != s.counts || found.Placed != int64(s.used) {
		w.fatal("%s: skipped, missed, superseded, caught up %v, placed %d; want %v, %d", s.name, got, found.Placed, s.counts, s.used)
	}
	if found.Started < least || found.Started > most {
		w.fatal("%s: started %d; want at least %d that began and at most %d that were taken", s.name, found.Started, least, most)
	}
}
