package sim

import (
	"context"
	_ "embed"
	"log/slog"
	"time"
)

// The slots that go back, beside those of the queues: keys that all queues share.
const (
	slotRegistry = "the registry"
	slotDeleted  = "the record of deletions"
	slotLeader   = "the leader"
	slotBatches  = "the homes of batches" // all of them together
)

// patternsOf returns the keys of a slot.
func patternsOf(slot string) []any {
	switch slot {
	case slotRegistry:
		return []any{"chime:schedules"}
	case slotDeleted:
		return []any{"chime:deleted"}
	case slotLeader:
		return []any{"chime:leader"}
	case slotBatches:
		return []any{"chime:{/*}:*"}
	}
	return []any{"chime:{" + slot + "}:*"}
}

// copySlot returns what is needed to write the keys of a slot again, as commands; restoreSlot replaces the keys of the slot. Each is one step.
var (
	//go:embed copy_slot.lua
	copySlot string
	//go:embed restore_slot.lua
	restoreSlot string
)

// discard is a logger that logs nothing.
func (w *World) discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// beginFault begins a fault.
func (w *World) beginFault(f *Fault) {
	happened := Happened{Fault: *f, From: time.Now()}
	of := w.actors[f.On]
	switch f.Kind {
	case Kill, Terminate:
		if of == nil || of.live == nil {
			return
		}
		if f.Kind == Kill {
			of.kill()
		} else {
			of.stop()
		}
		w.hit(f.Kind)
	case Cut:
		w.faults.set(f, true)
		for _, a := range w.actors {
			if a.live != nil && f.concerns(a.Name) {
				a.live.gate.cut(false)
			}
		}
		w.hit(f.Kind)
	case GoBack:
		state, err := w.direct.Eval(context.Background(), copySlot, nil, patternsOf(f.On)...).Slice()
		if err != nil {
			w.history.problem(broken, "copy %s: %v", f.On, err)
			return
		}
		w.mu.Lock()
		w.copies = append(w.copies, slotCopy{f, state})
		w.mu.Unlock()
	case ClockStep:
		w.server.SetOffset(f.By)
		w.hit(f.Kind)
	case ScriptsOff:
		w.direct.ScriptFlush(context.Background())
		w.hit(f.Kind)
	default:
		w.faults.set(f, true)
	}
	w.history.note(func() { w.history.Faults = append(w.history.Faults, happened) })
}

// endFault ends a fault: it starts the process again, or lets a slot go back.
func (w *World) endFault(f *Fault) {
	switch f.Kind {
	case Kill, Terminate:
		if of := w.actors[f.On]; of != nil && of.live == nil {
			of.start()
		}
	case GoBack:
		time.Sleep(time.Millisecond) // fake time: what happened at this instant has earlier fences than what follows
		w.goBack(f)
	case ClockStep:
		w.server.SetOffset(0)
	default:
		w.faults.set(f, false)
	}
	w.history.note(func() {
		for i := range w.history.Faults {
			if h := &w.history.Faults[i]; h.Fault == *f && h.To.IsZero() {
				h.To = time.Now()
			}
		}
	})
}

func (w *World) hit(kind Kind) {
	w.faults.mu.Lock()
	defer w.faults.mu.Unlock()
	w.faults.hits[kind]++
}

// A slotCopy is the state of a slot that will go back to it.
type slotCopy struct {
	fault *Fault
	state []any
}

// goBack lets a slot return to the state of the beginning of a fault. Copies of the same slot that were made in between are void.
func (w *World) goBack(f *Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, c := range w.copies {
		if c.fault != f {
			continue
		}
		patterns := patternsOf(f.On)
		args := append(append([]any{len(patterns)}, patterns...), c.state...)
		if err := w.direct.Eval(context.Background(), restoreSlot, nil, args...).Err(); err != nil {
			w.history.problem(broken, "put back %s: %v", f.On, err)
		}
		w.copies = append(w.copies[:i:i], w.copies[i+1:]...)
		w.hit(f.Kind)
		w.back = true
		return
	}
}
