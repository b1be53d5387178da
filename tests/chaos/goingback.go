//go:build unix

package chaos

import (
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
)

const (
	// sweptAfter is the time from the return of a slot to the next sweep. The leader sweeps every five minutes, which is too rare for a short run.
	sweptAfter = 2 * time.Second

	// settledAfter is the time after the begin of a run, and after the server was emptied, in which no slot goes back: programs declare their schedules
	// then, and look for lost ones only every few minutes.
	settledAfter = 5 * time.Second
)

// A goingBack is a slot whose state was copied, and that will return to it.
type goingBack struct {
	slot  string
	at    time.Time
	state []any
}

// isOver reports whether the faults are over after this time: then the changer resumes its schedules, and no slot may lose that.
func (r *runner) isOver(in time.Duration) bool {
	return time.Now().Add(in + slack).After(r.began.Add(r.options.Length))
}

// copy copies the state of a slot. Only one slot goes back at a time, and none when the faults are over.
func (r *runner) copy(f Fault) {
	slot := slotNames[f.Slot%len(slotNames)]
	since := r.began
	if !r.history.Emptied.To.IsZero() {
		since = r.history.Emptied.To
	}
	if r.back != nil || time.Since(since) < settledAfter || r.isOver(f.For) {
		return
	}
	at := time.Now()
	state, err := copySlot(r.t.Context(), r.direct, slot)
	if err != nil {
		r.history.Problem("copy %s: %v", slot, err)
		return
	}
	r.back = &goingBack{slot, at, state}
}

// putBack lets the slot return to the state that was copied. It may come later than planned, because the faults before it took long: if it is too late,
// the slot keeps its state.
func (r *runner) putBack() {
	b := r.back
	r.back = nil
	if b == nil || r.isOver(0) {
		return
	}
	from := time.Now()
	if err := putBack(r.t.Context(), r.direct, b.slot, b.state); err != nil {
		r.history.Problem("put back %s: %v", b.slot, err)
	}
	r.history.Note(func() {
		r.history.Rollbacks = append(r.history.Rollbacks, Rollback{Slot: b.slot, State: b.at, Back: Window{From: from, To: time.Now()}})
	})
}

// sweep sweeps all queues, as the leader does every few minutes.
func (r *runner) sweep() {
	var partitions []protocol.Partition
	for queue := range queueWeights {
		for i := range max(queuePartitions[queue], 1) {
			partitions = append(partitions, protocol.Partition{Queue: queue, Index: i})
		}
	}
	begun := time.Now()
	for range 3 { // a move that has to be completed first needs another one
		for _, answer := range r.store.Protocol().Sweep(r.t.Context(), partitions, 0) {
			if answer.Err != nil {
				r.history.Problem("sweep: %v", answer.Err)
				return
			}
		}
	}
	r.history.Note(func() {
		for i := range r.history.Rollbacks {
			if b := &r.history.Rollbacks[i]; b.Swept.IsZero() && b.Back.To.Before(begun) {
				b.Swept = time.Now()
			}
		}
	})
}

// verify looks for damage when all processes have ended, and repairs it. Then every schedule has one home, and nothing is left to repair.
func (r *runner) verify() (found Findings) {
	r.sweep()
	for _, repair := range []bool{true, false} {
		verified, err := chime.Verify(r.t.Context(), r.store, chime.VerifyOptions{Repair: repair})
		if err != nil {
			r.t.Fatal(err)
		}
		for _, f := range verified.Findings {
			if !repair || f.Kind != chime.FoundUndefined { // a process killed between the registry and the definition leaves an entry
				found.add(Orphaned, "verify: %s", f)
			}
		}
	}
	homes, err := TakeHomes(r.t.Context(), r.direct)
	if err != nil {
		r.t.Fatal(err)
	}
	var names []string
	for _, d := range declared(time.Time{}) {
		names = append(names, d.name)
	}
	return append(found, CheckHomes(r.history, homes, names)...)
}
