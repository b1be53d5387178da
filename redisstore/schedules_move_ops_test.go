package redisstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// The actions of the processes of a moveWalk.

// declare declares a schedule, as the reconciler of a scheduler does, and places its next occurrence.
func (p *process) declare(op *moveOp) {
	declared := protocol.Declaration{Name: op.name, Queue: op.queue, Overlap: "allow", Body: []byte(moveBody(op.version))}
	answer := p.store.Declare(p.walk.Context(), []protocol.Declaration{declared})[0]
	for range 4 {
		if answer.Err != nil || !answer.Recount {
			break
		}
		declared.Change = &protocol.Change{Revision: answer.Revision, Cursor: answer.Cursor, Until: answer.Now.Truncate(time.Second)}
		answer = p.store.Declare(p.walk.Context(), []protocol.Declaration{declared})[0]
	}
	if op.failed = p.gaveUp(answer.Err) || answer.Recount; op.failed {
		return
	}
	op.answer = moveAnswer{created: answer.New, changed: answer.Changed}
	op.revision, op.creation = answer.Revision, answer.Created.Format(time.RFC3339Nano)
	if answer.Owed != nil {
		p.place(*answer.Owed)
	}
}

// moveBody is a definition in one of three versions: the last has another recurrence.
func moveBody(version int) string {
	return fmt.Sprintf(`{"version":1,"job":"j","recurrence":{"frequency":"second","interval":%d},"misfire":"catch_up","args":%d}`, 1+version/2, version)
}

func (p *process) remove(op *moveOp) {
	found, err := p.store.Remove(p.walk.Context(), protocol.Removal{Name: op.name})
	op.failed = p.gaveUp(err)
	op.answer.found = found
}

func (p *process) pause(op *moveOp, paused bool) {
	call := protocol.Pausing{Name: op.name, Paused: paused}
	if paused {
		call.Note = &protocol.Note{Text: op.noteText()}
	}
	answer, err := p.store.PauseSchedule(p.walk.Context(), call)
	op.revision = answer.Revision
	if op.answer.found = err == nil; errors.Is(err, protocol.ErrNotFound) {
		return
	}
	if op.failed = p.gaveUp(err); !op.failed && answer.Owed != nil {
		p.place(*answer.Owed)
	}
}

// tick places owed occurrences, as a ticker does.
func (p *process) tick(*moveOp) { p.placeOwed() }

// placeOwed places occurrences that have been owed for some time, and returns the number of their schedules.
func (p *process) placeOwed() int {
	owed, err := p.store.Owed(p.walk.Context(), p.walk.partitions())
	if p.gaveUp(err) {
		return -1
	}
	for _, o := range owed {
		p.place(o)
	}
	return len(owed)
}

// place places the next occurrence: the instant of creation, then each second, and sometimes one far ahead. Every process that computes
// it gets the same.
func (p *process) place(o protocol.Owed) {
	h, ok := parseHead(string(o.Definition))
	if !ok || o.Unreadable {
		p.walk.failed = fmt.Sprintf("%s has the definition %q", o.Name, o.Definition)
		return
	}
	at := o.Cursor.At.Add(time.Second)
	if o.Cursor.At.IsZero() {
		at = h.created.Truncate(time.Second)
	} else if o.Cursor.At.Unix()%4 == 0 {
		at = o.Cursor.At.Add(time.Hour)
	}
	answer := p.store.Place(p.walk.Context(), []protocol.Placement{{
		Partition: o.Partition, Name: o.Name, Revision: h.revision, Cursor: o.Cursor, Instants: []time.Time{at}, Group: groupOfMoved(o.Name),
	}})[0]
	p.gaveUp(answer.Err)
}

// groupOfMoved returns the group of a schedule's occurrences; empty: none. So some of them wait in line when their schedule moves or is deleted.
func groupOfMoved(name string) string {
	return []string{"", "g"}[slices.Index(moveNames, name)%2]
}

// limitGroups lets the group run one job at a time, in each partition.
func (w *moveWalk) limitGroups() {
	for _, p := range w.partitions() {
		k := w.store.keys.partition(p)
		w.client.HSet(w.Context(), k.grules, "g", "0 1 0 0 0 0 0")
		w.client.HSet(w.Context(), k.state, "grules", "1 1")
	}
}

// take takes due occurrences in a partition, ends them and places the next ones, as a worker does.
func (p *process) take(op *moveOp) {
	all := p.walk.partitions()
	partition := all[int(p.walk.random.IntN(len(all)))]
	session := fmt.Sprintf("session-%d-%d", p.number, len(p.walk.notes))
	call := protocol.WorkCall{Partition: partition, Worker: session, Session: session, Number: 1, TTL: time.Hour, Take: 10}
	first := p.store.Work(p.walk.Context(), []protocol.WorkCall{call})[0]
	if p.gaveUp(first.Err) || len(first.Taken) == 0 {
		return
	}
	call.Number, call.Take = 2, 0
	for _, job := range first.Taken {
		p.walk.noteTaken(partition, job)
		call.Settle = append(call.Settle, protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleDone})
	}
	second := p.store.Work(p.walk.Context(), []protocol.WorkCall{call})[0]
	if p.gaveUp(second.Err) {
		return
	}
	for _, o := range append(first.Owed, second.Owed...) {
		p.place(o)
	}
}

// noteTaken records that an occurrence was taken: once, in one queue.
func (w *moveWalk) noteTaken(partition protocol.Partition, job protocol.TakenJob) {
	name, _, _ := strings.Cut(job.ID, "@")
	h, _ := parseHead(string(job.Definition))
	creation := h.created.Format(time.RFC3339Nano)
	switch {
	case w.goesBack:
	case !job.New || w.taken[job.ID]:
		w.failed = fmt.Sprintf("%s was taken twice, now in %v", job.ID, partition)
	case w.placed[job.ID] != creation:
		w.failed = fmt.Sprintf("%s was placed for the creation at %q and taken in %v for that of %s", job.ID, w.placed[job.ID], partition, creation)
	}
	w.taken[job.ID] = true
	w.counted[name+" "+creation]++
	w.note("taken %s in %v", job.ID, partition)
}
