package redisstore

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The model of where a schedule lives, for TestRandomStepsOfManyProcessesLeaveEachScheduleInOnePlace. For a user each operation happens
// at one instant between its beginning and its end (a move and its change: at two instants). So for each name the model keeps
// every possible state: for each order of the running operations, with the resulting answers. An answer excludes the
// others. An operation of a process that was stopped happens at any time, or never.

// A moveState is a schedule as a user sees it.
type moveState struct {
	exists  bool
	queue   string
	version int
	paused  bool
	noted   int // the last operation that paused it; 0: before the last quiet, or none
	created int // operation that created it; 0: before the last quiet
	changed int // the last operation that changed it; 0: before the last quiet
}

type moveKind int

const (
	declares moveKind = iota
	removes
	pauses
	resumes
	places // moves nothing, like all other actions of a ticker or a worker
)

// A moveOp is one operation on a name.
type moveOp struct {
	number  int // 1, 2, … of the name since the last quiet
	kind    moveKind
	name    string
	queue   string
	version int
	failed  bool // its process was stopped, or it stopped trying

	answer   moveAnswer
	revision int64  // the revision in the answer of a declaration
	creation string // likewise
	declared int    // for a backWalk: declarations that had begun when a deletion began; -1: one was under way
}

func (o *moveOp) String() string {
	return [...]string{"declare", "remove", "pause", "resume", "place"}[o.kind] + fmt.Sprintf(" %s in %q, version %d", o.name, o.queue, o.version)
}

// noteText returns the note of a pause.
func (o *moveOp) noteText() string { return fmt.Sprintf("pause %d of %d", o.number, o.version) }

// A moveAnswer is the answer of an operation.
type moveAnswer struct {
	found   bool // of a deletion, a pause and a resumption
	created bool
	changed bool
}

// A possibility is a state, with the operations that have happened in it and their answers.
type possibility struct {
	state moveState
	done  uint64    // bit of each operation
	bits  [3]uint64 // found, created, changed
}

func (p possibility) happened(op *moveOp, state moveState, a moveAnswer) possibility {
	bit := uint64(1) << op.number
	p.state, p.done = state, p.done|bit
	for i, set := range []bool{a.found, a.created, a.changed} {
		if set {
			p.bits[i] |= bit
		}
	}
	return p
}

// A moveModel is the model of one name.
type moveModel struct {
	name     string
	ops      []*moveOp // since the last quiet
	under    []*moveOp // the running or stopped ones of these
	possible map[possibility]bool
	revision int64  // at the last quiet
	created  string // likewise
	note     string // likewise
}

func newMoveModel(name string) *moveModel {
	return &moveModel{name: name, possible: map[possibility]bool{{}: true}}
}

// begin adds an operation.
func (m *moveModel) begin(op *moveOp) {
	op.number = len(m.ops) + 1
	m.ops, m.under = append(m.ops, op), append(m.under, op)
}

// end processes the answer of an operation. It is false if no order explains the answer.
func (m *moveModel) end(op *moveOp) bool {
	if op.failed {
		return true
	}
	m.expand()
	bit := uint64(1) << op.number
	maps.DeleteFunc(m.possible, func(p possibility, _ bool) bool {
		got := moveAnswer{p.bits[0]&bit != 0, p.bits[1]&bit != 0, p.bits[2]&bit != 0}
		return p.done&bit == 0 || got != op.answer
	})
	m.under = slices.DeleteFunc(m.under, func(o *moveOp) bool { return o == op })
	return len(m.possible) > 0
}

// expand adds the possible effects of running operations.
func (m *moveModel) expand() {
	for fresh := slices.Collect(maps.Keys(m.possible)); len(fresh) > 0; {
		p := fresh[0]
		fresh = fresh[1:]
		for _, op := range m.under {
			if p.done&(1<<op.number) != 0 {
				continue
			}
			for _, next := range p.after(op) {
				if !m.possible[next] {
					m.possible[next] = true
					fresh = append(fresh, next)
				}
			}
		}
	}
}

// after returns the possible results of an operation on a state.
func (p possibility) after(op *moveOp) []possibility {
	s := p.state
	switch op.kind {
	case declares:
		switch {
		case !s.exists:
			s = moveState{exists: true, queue: op.queue, version: op.version, created: op.number, changed: op.number}
			return []possibility{p.happened(op, s, moveAnswer{created: true})}
		case s.queue != op.queue: // first it moves
			p.state.queue = op.queue
			return []possibility{p}
		case s.version != op.version:
			s.version, s.changed = op.version, op.number
			return []possibility{p.happened(op, s, moveAnswer{changed: true})}
		}
		return []possibility{p.happened(op, s, moveAnswer{})}
	case removes:
		if s.exists {
			return []possibility{p.happened(op, moveState{}, moveAnswer{found: true})}
		}
		// the registry may name a schedule whose creation or deletion is not complete
		return []possibility{p.happened(op, s, moveAnswer{}), p.happened(op, s, moveAnswer{found: true})}
	case pauses, resumes:
		switch {
		case s.exists && op.kind == pauses: // its note is another one
			s.paused, s.noted, s.changed = true, op.number, op.number
		case s.exists && s.paused:
			s.paused, s.noted, s.changed = false, 0, op.number
		}
		return []possibility{p.happened(op, s, moveAnswer{found: s.exists})}
	}
	return nil
}

// quiet records that no operation is running, and the state of the store. It returns what no order explains.
func (m *moveModel) quiet(seen moveState, revision int64, created, note string) string {
	m.expand()
	explained := ""
	for p := range m.possible {
		s, wantRevision, wantCreated, wantNote := p.state, m.revision, m.created, m.note
		if s.noted > 0 {
			wantNote = m.ops[s.noted-1].noteText()
		} else if !s.paused {
			wantNote = ""
		}
		if s.changed > 0 {
			wantRevision = m.ops[s.changed-1].revision
		}
		if s.created > 0 {
			wantCreated = m.ops[s.created-1].creation
		}
		s.changed, s.created, s.noted = 0, 0, 0
		switch { // the answer to a stopped process is unknown
		case s != seen:
		case s.exists && wantRevision > 0 && wantRevision != revision:
			explained = fmt.Sprintf("revision %d, want %d", revision, wantRevision)
		case s.exists && wantCreated != "" && wantCreated != created:
			explained = fmt.Sprintf("created %s, want %s", created, wantCreated)
		case s.exists && wantNote != note:
			explained = fmt.Sprintf("note %q, want %q", note, wantNote)
		default:
			*m = moveModel{name: m.name, possible: map[possibility]bool{{state: seen}: true}, revision: revision, created: created, note: note}
			return ""
		}
	}
	if explained != "" {
		return explained
	}
	return fmt.Sprintf("%+v; possible: %s", seen, m)
}

func (m *moveModel) String() string {
	var lines []string
	for p := range m.possible {
		lines = append(lines, fmt.Sprintf("%+v", p.state))
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), " or ")
}
