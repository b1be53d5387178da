package redisstore

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/chimejobs/chime/internal/storesuite"
)

// A backWalk is a moveWalk in which a slot goes back once between two quiet moments: its keys return to a state of some steps ago, while the other
// slots keep theirs, and operations of several processes are under way. It may have lost what was answered since that state. So the answers after it
// are not compared with a model, only where each schedule lives in the end.
type backWalk struct {
	*moveWalk
	state  slotSnapshot
	slot   int // in backSlots; -1: no state was copied since the last quiet
	wait   int // steps until the state is copied, and then until the slot goes back
	before map[string]*backFacts
}

// backFacts are what is certain about a schedule whatever slot goes back.
type backFacts struct {
	existed   bool // in every order of the operations it existed when the state was copied, and no deletion has begun since
	absent    bool // likewise it did not exist, and no declaration has begun since
	deleted   bool // a deletion that found it has ended, and no declaration was under way when it began or has begun since
	declaring int  // declarations of live processes under way
	begun     int  // declarations so far
}

// backSlots are the slots that may go back alone.
var backSlots = []struct {
	name string
	has  func(key string) bool
}{
	{"default", func(key string) bool { return strings.Contains(key, ":{default}:") }},
	{"mail", func(key string) bool { return strings.Contains(key, ":{mail}:") }},
	{"wide", func(key string) bool { return strings.Contains(key, ":{wide}:") || strings.Contains(key, ":{wide/") }},
	{"registry", func(key string) bool { return strings.HasSuffix(key, ":schedules") && !strings.Contains(key, "{") }},
}

const backOps = 12 // operations between two quiet moments

// A slot goes back while several processes declare, move, delete, pause, resume, place and take schedules, any of them stopped half way. After sweeps
// and a repair no schedule lives in two queues, and the registry names the queue in which it lives; one that existed before that state lives; and one
// whose deletion was carried out does not.
func TestASlotThatGoesBackLeavesEachScheduleInOnePlace(t *testing.T) {
	seeds, steps := storesuite.WalkSize(20, 1500)
	for _, seed := range seeds {
		onServersWith(t, randomCalls|hookedCalls, func(b *bench) {
			w := &backWalk{slot: -1, before: map[string]*backFacts{}, moveWalk: &moveWalk{
				bench: b, seed: seed, random: rand.New(rand.NewPCG(seed, 11)), models: map[string]*moveModel{}, placed: map[string]string{},
				taken: map[string]bool{}, counted: map[string]int{}, halfGone: map[string]bool{}, unwritten: map[string]bool{}, goesBack: true,
			}}
			for _, name := range moveNames {
				w.models[name], w.before[name] = newMoveModel(name), &backFacts{absent: true}
			}
			w.hasBegun, w.hasEnded = w.factsBegin, w.factsEnd
			w.use(newStore(b.client, Options{Namespace: string(b.store.keys), Partitions: moveQueues}))
			for queue := range moveQueues {
				if _, err := w.store.Partitions(w.Context(), queue); err != nil {
					w.Fatal(err)
				}
			}
			w.limitGroups()
			for range moveProcesses {
				w.processes = append(w.processes, w.newProcess())
			}
			w.wait = w.random.IntN(60)
			for range steps {
				w.step()
				w.back()
				if w.ops >= backOps && w.lost {
					w.quiet()
				}
			}
			w.quiet()
		})
	}
}

// back copies the state of a slot, or lets the slot return to it.
func (w *backWalk) back() {
	if w.wait--; w.wait > 0 || w.lost {
		return
	}
	if w.slot < 0 {
		w.slot, w.wait = w.random.IntN(len(backSlots)), 1+w.random.IntN(40)
		w.state = w.slotSnapshot(backSlots[w.slot].has)
		for _, name := range moveNames {
			w.models[name].expand()
			facts := w.before[name]
			facts.existed, facts.absent = true, true
			for p := range w.models[name].possible {
				facts.existed, facts.absent = facts.existed && p.state.exists, facts.absent && !p.state.exists
			}
		}
		w.note("quiet: the state of %s is copied", backSlots[w.slot].name)
		return
	}
	w.goBack(backSlots[w.slot].has, w.state)
	w.lost = true
	w.note("quiet: %s goes back", backSlots[w.slot].name)
}

func (w *backWalk) factsBegin(op *moveOp) {
	facts := w.before[op.name]
	switch op.kind {
	case declares:
		facts.declaring++
		facts.begun++
		facts.absent, facts.deleted = false, false
	case removes:
		facts.existed = false
		if op.declared = facts.begun; facts.declaring > 0 {
			op.declared = -1
		}
	}
}

func (w *backWalk) factsEnd(op *moveOp) {
	facts := w.before[op.name]
	switch op.kind {
	case declares:
		facts.declaring--
	case removes:
		facts.deleted = !op.failed && op.answer.found && op.declared == facts.begun
	}
}

// quiet lets every process end its operation, and sweeps and repairs the store. Then it checks where each schedule lives.
func (w *backWalk) quiet() {
	w.Helper()
	for _, p := range slices.Clone(w.processes) {
		w.finish(p)
	}
	w.settle()
	w.repairHomes("quiet", w.partitions())
	w.note("quiet")
	texts := w.hashes(func(k *partitionKeys) string { return k.schedules })
	for _, name := range moveNames {
		var lives []home
		for partition, definitions := range texts {
			if h, ok := parseHead(definitions[name]); ok && h.movedTo == "" {
				lives = append(lives, home{partition.Queue, h.generation})
			}
		}
		facts, entry := w.before[name], w.registered(name)
		switch {
		case len(lives) > 1:
			w.fatal("%s lives in %v", name, lives)
		case len(lives) == 1 && (entry.queue != lives[0].queue || entry.generation < lives[0].generation):
			w.fatal("%s lives in %v, and the registry has %v", name, lives[0], entry)
		case len(lives) == 0 && entry.queue != "":
			w.fatal("%s lives nowhere, and the registry has %v", name, entry)
		case len(lives) == 0 && facts.existed:
			w.fatal("%s is lost", name)
		case len(lives) == 1 && (facts.deleted || facts.absent):
			w.fatal("%s was deleted (%v) or never created, and lives in %v", name, facts.deleted, lives[0])
		}
		w.models[name] = newMoveModel(name)
		w.models[name].possible = map[possibility]bool{{state: w.stateOf(name)}: true}
		*facts = backFacts{existed: len(lives) == 1, absent: len(lives) == 0, begun: facts.begun}
	}
	w.ops, w.slot, w.lost, w.wait = 0, -1, false, w.random.IntN(60)
}

// stateOf returns the stored state of a schedule, for the model.
func (w *backWalk) stateOf(name string) (s moveState) {
	for partition, definitions := range w.hashes(func(k *partitionKeys) string { return k.schedules }) {
		if h, ok := parseHead(definitions[name]); ok && h.movedTo == "" {
			return moveState{exists: true, queue: partition.Queue, version: h.version(w.T), paused: h.state == "paused"}
		}
	}
	return s
}
