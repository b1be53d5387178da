package redisstore

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
	"github.com/chimejobs/chime/redisstore/internal/script"
)

// A moveWalk lets several processes declare, change, move, delete, pause, resume, place and take a few schedules over three queues,
// one command of one process at a time. It stops some of them permanently and repeats some calls much later.
type moveWalk struct {
	*bench
	seed      uint64
	random    *rand.Rand
	processes []*process
	started   int // processes so far
	ops       int
	models    map[string]*moveModel
	sent      []redis.Cmder     // calls of the scripts that may be repeated
	placed    map[string]string // occurrence → creation of its schedule
	taken     map[string]bool   // occurrence
	counted   map[string]int    // name and creation → occurrences taken
	halfGone  map[string]bool   // with a stopped deletion: its marks may be left until they are swept
	unwritten map[string]bool   // with a stopped or repeated creation or deletion: the registry may name it without a definition
	notes     []string
	failed    string // in a process's own goroutine

	goesBack bool // a slot may go back: what was taken and counted is not compared
	lost     bool // one has gone back since the last quiet: answers are not compared either
	hasBegun func(op *moveOp)
	hasEnded func(op *moveOp)
}

const (
	moveProcesses = 4
	movesPerQuiet = 40
)

var (
	moveQueues = map[string]int{"default": 1, "mail": 1, "wide": 3}
	moveNames  = []string{"s0", "s1", "s2"}
)

// For several processes that change schedules over three queues step by step, with any of them stopped half way and any calls repeated
// late: once all is quiet, an existing schedule lives in one queue, as one order of the operations explains, with one entry in the
// registry, the revision and creation of the answers, and the right runs and counts; a deleted one lives nowhere. No two creations of a
// name place the same occurrence, and none is taken twice. No name is stuck, and
// nothing is left after 7 days.
func TestRandomStepsOfManyProcessesLeaveEachScheduleInOnePlace(t *testing.T) {
	seeds, steps := storesuite.WalkSize(6, 300)
	for _, seed := range seeds {
		onServersWith(t, randomCalls, func(b *bench) {
			w := &moveWalk{
				bench: b, seed: seed, random: rand.New(rand.NewPCG(seed, 9)), models: map[string]*moveModel{}, placed: map[string]string{},
				taken: map[string]bool{}, counted: map[string]int{}, halfGone: map[string]bool{}, unwritten: map[string]bool{},
			}
			for _, name := range moveNames {
				w.models[name] = newMoveModel(name)
			}
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
			for range steps {
				w.step()
				if w.ops >= movesPerQuiet {
					w.quiet()
				}
			}
			w.quiet()
			for _, f := range w.Verify(false) {
				if f.Kind != protocol.FoundUndefined { // a process was killed between the registry and the definition
					w.Errorf("found %+v", f)
				}
			}
			w.end()
		})
	}
}

func (w *moveWalk) newProcess() *process {
	w.started++
	p := &process{walk: w, number: w.started, client: newClient(w.client), at: make(chan redis.Cmder), turn: make(chan verdict)}
	w.Cleanup(func() { p.client.Close() })
	guardKeys(w.T, p.client)
	p.client.AddHook(p)
	p.store = newStore(p.client, Options{Namespace: string(w.store.keys), Partitions: moveQueues, Logger: slog.New(slog.DiscardHandler)})
	return p
}

func (w *moveWalk) note(format string, arguments ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, arguments...))
}

// fatal ends the test with the steps that concern the name in the message.
func (w *moveWalk) fatal(format string, arguments ...any) {
	w.Helper()
	message := fmt.Sprintf(format, arguments...)
	about, first := "", len(message)
	for name := range w.models {
		if at := strings.Index(message, name); at >= 0 && at < first {
			about, first = name, at
		}
	}
	notes := slices.DeleteFunc(slices.Clone(w.notes), func(note string) bool { return !strings.Contains(note, about) && note != "quiet" })
	w.Fatalf("seed %d: %s\nthe last steps:\n%s", w.seed, message, strings.Join(notes[max(0, len(notes)-90):], "\n"))
}

// step lets one process continue, or repeats an old call.
func (w *moveWalk) step() {
	if w.SetClock != nil {
		w.pass(time.Duration(w.random.IntN(120)) * time.Millisecond)
	}
	if len(w.sent) > 0 && !w.goesBack && w.random.IntN(25) == 0 {
		w.again()
		return
	}
	p := w.processes[w.random.IntN(len(w.processes))]
	if p.waits == nil {
		w.begin(p)
		return
	}
	v := goOn
	if !p.runs(&workScript) { // its taken occurrences would be lost: another test covers this
		switch w.random.IntN(50) {
		case 0:
			v = stopBefore
		case 1:
			v = stopAfter
		}
	}
	w.grant(p, v)
}

// pass lets time pass, if the server's clock can be set.
func (w *moveWalk) pass(d time.Duration) {
	now, err := w.client.Time(w.Context()).Result()
	if err != nil {
		w.Fatal(err)
	}
	w.SetClock(now.Add(d))
}

func (w *moveWalk) grant(p *process, v verdict) {
	w.Helper()
	said := ""
	if v != goOn {
		said = [...]string{"", ": stopped before it", ": stopped after it"}[v]
	}
	w.note("%d: %s%s", p.number, describe(p.waits), said)
	p.grant(v)
	w.ended(p)
	w.look()
}

// begin lets a process begin a random operation.
func (w *moveWalk) begin(p *process) {
	queues := []string{"default", "mail", "wide"}
	op := &moveOp{name: moveNames[w.random.IntN(len(moveNames))], queue: queues[w.random.IntN(3)], version: w.random.IntN(3)}
	run := func() { p.tick(op) }
	w.ops++
	switch w.random.IntN(12) {
	case 0, 1, 2, 3:
		op.kind, run = declares, func() { p.declare(op) }
	case 4, 5:
		op.kind, run = removes, func() { p.remove(op) }
	case 6:
		op.kind, run = pauses, func() { p.pause(op, true) }
	case 7, 8:
		op.kind, run = resumes, func() { p.pause(op, false) }
	case 9:
		op.kind = places
	default:
		op.kind, run = places, func() { p.take(op) }
	}
	if op.kind != places {
		w.models[op.name].begin(op)
		if w.hasBegun != nil {
			w.hasBegun(op)
		}
		w.note("%d begins to %v", p.number, op)
	}
	p.start(op, run)
	w.ended(p)
}

// ended records the end of an operation, and starts another process in place of a stopped one.
func (w *moveWalk) ended(p *process) {
	w.Helper()
	if w.failed != "" {
		w.fatal("%s", w.failed)
	}
	if p.waits != nil {
		return
	}
	if op := p.op; op.kind != places {
		op.failed = op.failed || p.stopped
		if op.failed {
			w.unwritten[op.name] = true
			w.halfGone[op.name] = w.halfGone[op.name] || op.kind == removes
		}
		w.note("%d has done: %v: failed %v, %+v, revision %d", p.number, op, op.failed, op.answer, op.revision)
		if w.hasEnded != nil {
			w.hasEnded(op)
		}
		if !w.lost && !w.models[op.name].end(op) {
			w.fatal("%v answered %+v: no order of the operations explains that", op, op.answer)
		}
	}
	if !p.stopped {
		return
	}
	for i := range w.processes {
		if w.processes[i] == p {
			w.processes[i] = w.newProcess()
		}
	}
}

// look checks what holds after every step: no schedule places its occurrences in two queues.
func (w *moveWalk) look() {
	w.Helper()
	if w.lost {
		return // it may live in two until a sweep has found it
	}
	places := map[string]int{}
	for _, texts := range w.hashes(func(k *partitionKeys) string { return k.schedules }) {
		for name, text := range texts {
			if h, _ := parseHead(text); h.movedTo == "" {
				if places[name]++; places[name] > 1 {
					w.fatal("%s lives in two queues", name)
				}
			}
		}
	}
}

// partitions are those of all queues.
func (w *moveWalk) partitions() (all []protocol.Partition) {
	for _, queue := range []string{"default", "mail", "wide"} {
		for i := range moveQueues[queue] {
			all = append(all, protocol.Partition{Queue: queue, Index: i})
		}
	}
	return all
}

// hashes reads a hash of every partition.
func (w *moveWalk) hashes(key func(*partitionKeys) string) map[protocol.Partition]map[string]string {
	w.Helper()
	pipe := w.client.Pipeline()
	cmds := map[protocol.Partition]*redis.MapStringStringCmd{}
	for _, p := range w.partitions() {
		k := w.store.keys.partition(p)
		cmds[p] = pipe.HGetAll(w.Context(), key(&k))
	}
	if _, err := pipe.Exec(w.Context()); err != nil {
		w.Fatal(err)
	}
	values := map[protocol.Partition]map[string]string{}
	for p, cmd := range cmds {
		values[p] = cmd.Val()
	}
	return values
}

// carriedOut records a command that a process has executed.
func (w *moveWalk) carriedOut(cmd redis.Cmder) {
	for _, s := range []*script.Script{&registerSchedulesScript, &changeRegistryScript, &declareScript, &removeScript, &pauseScheduleScript, &placeScript,
		&moveBeginScript, &moveArriveScript, &moveEndScript} {
		if isCallOf(cmd, s) {
			w.sent = append(w.sent, redis.NewCmd(w.Context(), slices.Clone(cmd.Args())...))
		}
	}
	if isCallOf(cmd, &placeScript) {
		w.notePlaced(cmd.(*redis.Cmd))
	}
}

// notePlaced records the occurrences that a call has placed. Its process may be gone.
func (w *moveWalk) notePlaced(cmd *redis.Cmd) {
	values, _ := list("place", "", cmd)
	keys, _ := strconv.Atoi(fmt.Sprint(cmd.Args()[2]))
	schedules, data := fmt.Sprint(cmd.Args()[4]), cmd.Args()[4+keys:] // after the prefix of the channels
	for i := 1; len(data) > 0; i++ {
		name, instants := fmt.Sprint(data[0]), data[6].(int)
		for k := range max(values.number(i), 0) {
			id := name + "@" + fmt.Sprint(data[9+3*k])
			h, _ := parseHead(w.client.HGet(w.Context(), schedules, name).Val())
			if w.taken[id] && !w.goesBack {
				w.failed = fmt.Sprintf("%s was taken, for the creation at %s, and is placed again for that at %v", id, w.placed[id], h.created)
			}
			w.placed[id] = h.created.Format(time.RFC3339Nano)
		}
		data = data[9+3*instants:]
	}
}

// again repeats an old call. It must match nothing.
func (w *moveWalk) again() {
	w.Helper()
	cmd := w.sent[w.random.IntN(len(w.sent))]
	if isCallOf(cmd, &pauseScheduleScript) {
		data := cmd.Args()[3+cmd.Args()[2].(int):]
		if w.registered(fmt.Sprint(data[0])).generation == data[2].(int64) {
			return // it may match: after a pause and a resume a schedule is in its old state
		}
	}
	before := w.everything()
	again := redis.NewCmd(w.Context(), cmd.Args()...)
	again.SetFirstKeyPos(3)
	_ = w.client.Process(w.Context(), again)
	w.note("again: %s", describe(cmd))
	switch {
	case again.Err() != nil:
		w.fatal("again %s: %v", describe(cmd), again.Err())
	case isCallOf(cmd, &placeScript): // the occurrence that it places may have been withdrawn meanwhile, and still be the next one
		w.notePlaced(again)
		return
	case isCallOf(cmd, &registerSchedulesScript): // knows no generation: it draws one
		for name := range w.models {
			w.unwritten[name] = true
		}
		return
	}
	if after := w.everything(); !slices.Equal(after, before) {
		in := func(lines []string) func(string) bool {
			return func(line string) bool { return slices.Contains(lines, line) }
		}
		w.fatal("again %s: answered %v and wrote:\nbefore %q\nafter  %q", describe(cmd), again.Val(),
			slices.DeleteFunc(slices.Clone(before), in(after)), slices.DeleteFunc(slices.Clone(after), in(before)))
	}
}

// everything returns the stored data of schedules, one line for each key.
func (w *moveWalk) everything() []string {
	w.Helper()
	ctx, pipe := w.Context(), w.client.Pipeline()
	for _, p := range w.partitions() {
		k := w.store.keys.partition(p)
		for _, key := range []string{k.schedules, k.cursors, k.origins, k.counters, k.open, k.notes, k.owners} {
			pipe.HGetAll(ctx, key)
		}
		for _, key := range []string{k.due, k.owed, k.gone, k.behind, k.line} {
			pipe.ZRangeWithScores(ctx, key, 0, -1)
		}
	}
	pipe.ZRange(ctx, w.store.keys.registry(), 0, -1)
	pipe.ZRangeWithScores(ctx, w.store.keys.deleted(), 0, -1)
	cmds, err := pipe.Exec(ctx)
	if err != nil {
		w.Fatal(err)
	}
	var lines []string
	for _, cmd := range cmds {
		switch c := cmd.(type) {
		case *redis.MapStringStringCmd:
			if len(c.Val()) > 0 {
				lines = append(lines, fmt.Sprint(c.Args()[1], " ", c.Val()))
			}
		case *redis.ZSliceCmd:
			if len(c.Val()) > 0 {
				lines = append(lines, fmt.Sprint(c.Args()[1], " ", c.Val()))
			}
		default:
			lines = append(lines, cmd.String())
		}
	}
	return lines
}

// gaveUp reports whether an operation ended because its process was stopped, or because others moved the schedule all the time.
func (p *process) gaveUp(err error) bool {
	if err != nil && !p.stopped && !errors.Is(err, errKeepMoving) && !(p.walk.lost && errors.Is(err, protocol.ErrSessionLost)) {
		p.walk.failed = fmt.Sprintf("%v: %v", p.op, err)
	}
	return err != nil
}
