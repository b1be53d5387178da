package batchmodel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A Mode is what may go back to an earlier state in a walk.
type Mode int

// The modes of a walk.
const (
	NothingGoesBack Mode = iota
	PartitionsGoBack
	HomesGoBack
)

// A Walk makes random calls on a System. Each actor is a process that makes one call at a time, and that may stop after any of them. Every call that changes
// something may be made once more, much later. After each call the ledger compares what the system has now.
//
// Each operation draws its numbers from a generator of its own, so that a walk from which some operations are left out makes the other ones alike.
type Walk struct {
	System
	mode   Mode
	calm   bool
	ledger *Ledger
	random *rand.Rand // of the operation
	now    time.Duration

	plans   map[string]*plan
	actors  []actor
	flights []Flight
	late    []lateCall
	saved   map[Place]savedPlace
	grown   map[string]bool // tokens whose jobs were added
	asked   map[Flight]bool // by place and ID: somebody has cancelled it while it ran
	items   int
	Calls   int // how many calls were made
	Ends    int // batches that have ended
	notes   []string
}

type savedPlace struct {
	saved Saved
	back  func()
	at    time.Duration
}

// A lateCall is a copy of a call that is made later.
type lateCall struct {
	name  string
	token bool // it adds a growth
	end   bool // it ends a batch
	call  func()
}

// A plan is a batch that somebody wants.
type plan struct {
	def   protocol.BatchDefinition
	items []planned
	gone  bool // its removal has begun
}

type planned struct {
	place Place
	id    string
}

// An actor is a process in the middle of its work. step makes its next call, and reports whether more follow.
type actor interface {
	step(w *Walk) (more bool)
	name() string
}

var ctx = context.Background()

// An Operation is one step of a walk, by the seed of its numbers.
type Operation uint64

// Operations returns the operations of a walk.
func Operations(seed uint64, n int) (ops []Operation) {
	random := rand.New(rand.NewPCG(seed, 41))
	for range n {
		ops = append(ops, Operation(random.Uint64()))
	}
	return ops
}

// NewWalk returns a walk that has made nothing.
func NewWalk(s System, mode Mode) *Walk {
	return &Walk{System: s, mode: mode, ledger: NewLedger(), plans: map[string]*plan{}, saved: map[Place]savedPlace{}, grown: map[string]bool{}, asked: map[Flight]bool{}}
}

// every is after how many operations all processes finish what they do.
const every = 60

// Run makes operations and returns an error at the first thing that is not allowed. The error lists the calls.
func (w *Walk) Run(ops []Operation) (err error) {
	defer w.recovered(&err)
	for i, op := range ops {
		w.random = rand.New(rand.NewPCG(uint64(op), 7))
		w.operate()
		if last := i == len(ops)-1; last || i%every == every-1 {
			w.rest(last || w.random.IntN(3) == 0)
		}
	}
	return nil
}

// recovered ends a walk that has failed.
func (w *Walk) recovered(err *error) {
	switch failed := recover().(type) {
	case nil:
	case failure:
		*err = fmt.Errorf("%w, after\n  %s", failed.error, strings.Join(w.notes[max(0, len(w.notes)-120):], "\n  "))
	default:
		panic(failed)
	}
}

// A failure ends a walk.
type failure struct{ error }

func (w *Walk) fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

func (w *Walk) note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
	if len(w.notes) > 400 {
		w.notes = slices.Delete(w.notes, 0, 200)
	}
}

// made notes a call, and compares what there is now. fates are those of the jobs that it may have ended.
func (w *Walk) made(fates map[string]Fate, format string, args ...any) {
	w.Calls++
	w.note(format, args...)
	before := w.ended()
	if err := w.ledger.See(w.See(), fates); err != nil {
		w.fail("%w", err)
	}
	w.Ends += w.ended() - before
}

// read notes a call that changes nothing.
func (w *Walk) read(format string, args ...any) {
	w.Calls++
	w.note(format, args...)
}

func (w *Walk) ended() (n int) {
	for id := range w.plans {
		if _, ended := w.ledger.Ended(id); ended {
			n++
		}
	}
	return n
}

// again notes a call that may come once more, later.
func (w *Walk) again(c lateCall) {
	if w.chance(3) {
		w.late = append(w.late, c)
		if len(w.late) > 40 {
			w.late = slices.Delete(w.late, 0, 10)
		}
	}
}

// lost reports whether the reply of a call is lost: its caller makes it again.
func (w *Walk) lost() bool { return w.chance(8) }

// chance reports whether something happens that happens once in n times. A calm walk loses nothing, and nothing comes late.
func (w *Walk) chance(n int) bool { return !w.calm && w.random.IntN(n) == 0 }

// operate makes one operation.
func (w *Walk) operate() {
	switch n := w.random.IntN(100); {
	case n < 4:
		w.plan()
	case n < 8:
		w.begin(&creator{plan: w.anyPlan()})
	case n < 34:
		w.act()
	case n < 48:
		w.take()
	case n < 64:
		w.settle()
	case n < 68:
		w.reap()
	case n < 72:
		w.begin(&reporter{place: w.anyPlace()})
	case n < 76:
		w.beginLook()
	case n < 84:
		w.carry()
	case n < 88:
		w.change()
	case n < 89:
		w.begin(&canceller{plan: w.anyPlan(), asks: w.random.IntN(3) == 0})
	case n < 92:
		w.begin(&voider{plan: w.anyPlan()})
	case n < 93:
		w.begin(&sealer{plan: w.anyPlan()})
	case n < 95:
		w.replay()
	case n < 96:
		w.forget()
	case n < 98:
		w.goBack()
	default:
		by := time.Duration(w.random.IntN(3000)) * time.Millisecond
		w.now += by
		w.Advance(by)
		w.made(nil, "the clock goes on by %v", by)
	}
}

func (w *Walk) begin(a actor) {
	if a.name() != "" && len(w.actors) < 12 {
		w.actors = append(w.actors, a)
	}
}

// act lets one actor make its next call, or ends it.
func (w *Walk) act() {
	if len(w.actors) == 0 {
		return
	}
	at := w.random.IntN(len(w.actors))
	a := w.actors[at]
	if w.random.IntN(15) == 0 {
		w.note("%s stops", a.name())
		w.actors = slices.Delete(w.actors, at, at+1)
		return
	}
	if !a.step(w) {
		if i := slices.Index(w.actors, a); i >= 0 {
			w.actors = slices.Delete(w.actors, i, i+1)
		}
	}
}

// hashOf is a running hash over items.
func hashOf(items []planned) string {
	if len(items) == 0 {
		return ""
	}
	h := sha256.New()
	for _, i := range items {
		fmt.Fprintf(h, "%s\t%s\n", i.place.Queue, i.id)
	}
	return hex.EncodeToString(h.Sum(nil))
}
