package redisstore

import (
	"context"
	"maps"
	"slices"

	"github.com/chimejobs/chime/internal/protocol"
)

// lookUp records the schedules about which the registry or a deletion may require something.
func (v *verifier) lookUp(ctx context.Context, residents []resident) error {
	found, err := v.store.suspects(ctx, residents)
	v.unnamed = append(v.unnamed, found...)
	v.unnamed = v.unnamed[:min(len(v.unnamed), maxVerifying)]
	return err
}

// survivalFaults describe the copies of schedules that Verify reports.
var survivalFaults = map[survival]protocol.Finding{
	isRegistered: {Kind: protocol.FoundUnregistered, Detail: "it is stored and runs, but the registry does not have it: it cannot be found by its name", Remedy: "it is registered again"},
	isRemoved:    {Kind: protocol.FoundUnregistered, Detail: "it was deleted, and has come back after a loss: it runs", Remedy: "it is deleted again"},
	yields:       {Kind: protocol.FoundUnregistered, Detail: "it is stored and runs here, and in the queue that the registry names: it runs twice", Remedy: "it runs only where the registry names it"},
	waitsForMove: {Kind: protocol.FoundUnregistered, Detail: "it is stored and runs, but the registry names a queue that it has left", Remedy: "the move from that queue is completed"},
	endsRemoval:  {Kind: protocol.FoundUnregistered, Detail: "it is stored and runs, but its deletion was interrupted", Remedy: "the deletion is completed"},
	takesHome:    {Kind: protocol.FoundUnregistered, Detail: "it is stored and runs, but the registry names a queue that has lost it: it cannot be found by its name", Remedy: "the registry names this queue"},
}

// judgeUnnamed reports the copies that do not survive where they are, and those that the registry does not name. A schedule that is about to be
// moved is not a fault.
func (v *verifier) judgeUnnamed(ctx context.Context, asked []protocol.Address) error {
	all, err := v.store.readHomes(ctx, asked, true)
	if err != nil {
		return err
	}
	for i := range all {
		j := &all[i]
		is := j.survival()
		f, wrong := survivalFaults[is]
		if j.err != nil && j.copy.kind == definitionCopy {
			f, wrong = survivalFaults[isRegistered], true
			f.Remedy = ""
		}
		if !wrong || j.copy.kind != definitionCopy || is == isRegistered && j.there.kind == markCopy && j.there.movedTo == j.copy.queue {
			continue // the process that moves it changes the entry next, or another process that finds the mark does
		}
		f.Queue, f.Schedule = j.Partition.Queue, j.Name
		if v.repair && j.err == nil {
			if err := v.store.settleHomes(ctx, []protocol.Address{j.Address}, true); err != nil {
				return err
			}
			left, err := v.store.readHomes(ctx, []protocol.Address{j.Address}, false)
			if err != nil {
				return err
			}
			f.Repaired = left[0].copy.kind == markCopy || left[0].survival() == survives
		}
		v.found(f)
	}
	return nil
}

// restore looks for what is left of a schedule whose entry has no definition: the mark of a later move there, a deletion that was interrupted, or
// the highest mark elsewhere from which it can arrive again. restored: the entry remains, because there is such a mark.
//
// Model: VERIFY in models/home.pml.
func (v *verifier) restore(ctx context.Context, name string, entry home, f *protocol.Finding) (restored bool, err error) {
	best, err := v.bestMark(ctx, name)
	if err != nil {
		return false, err
	}
	own := best != nil && best.copy.queue == entry.queue && best.copy.generation > entry.generation
	if !own {
		if best != nil && best.removal.hasBegun(best.there, entry) {
			best = nil
		}
		if best == nil {
			if v.repair {
				err = v.store.settleAbsent(ctx, name, entry)
			}
			return false, err
		}
	}
	f.Detail, f.Remedy = "the registry has it, but its definition is gone: it does not run; the mark of its move still has it", "it is created again from the mark"
	if !v.repair {
		return true, nil
	}
	if own {
		_, err = v.store.settle(ctx, name, best.copy)
	} else {
		_, err = v.store.arriveAnew(ctx, best, max(best.copy.generation, entry.generation, best.there.gone))
	}
	if err != nil {
		return false, err
	}
	found, err := v.store.Find(ctx, []string{name})
	f.Repaired = err == nil && len(found[0].Definition) > 0
	return true, err
}

// bestMark returns the mark with the highest generation of a schedule that was not deleted; nil: none.
func (v *verifier) bestMark(ctx context.Context, name string) (best *judged, err error) {
	all, err := v.store.readHomes(ctx, v.marks[name], true)
	for i := range all {
		if j := &all[i]; j.copy.kind == markCopy && !j.removal.isDead(j.copy) && (best == nil || j.copy.generation > best.copy.generation) {
			best = j
		}
	}
	return best, err
}

// unregisteredMarks returns the schedules that have marks, but no entry in the registry.
func (v *verifier) unregisteredMarks(ctx context.Context) (names []string, err error) {
	for some := range slices.Chunk(slices.Sorted(maps.Keys(v.marks)), maxRegister) {
		homes, err := v.store.lookUpHomes(ctx, some...)
		if err != nil {
			return nil, err
		}
		for i, h := range homes {
			if h.err == nil && h.queue == "" {
				names = append(names, some[i])
			}
		}
	}
	return names, nil
}

// judgeMarks reports a schedule of which only marks are left, without an entry in the registry.
func (v *verifier) judgeMarks(ctx context.Context, name string) error {
	best, err := v.bestMark(ctx, name)
	if err != nil || best == nil || best.survival() != arrivesAnew {
		return err
	}
	if slices.ContainsFunc(v.unnamed, func(at protocol.Address) bool { return at.Name == name }) {
		return nil // it is stored, and was reported
	}
	f := protocol.Finding{
		Kind: protocol.FoundUndefined, Queue: best.copy.queue, Schedule: name,
		Detail: "only the mark of its move is left: it does not run", Remedy: "it is created again from the mark",
	}
	if v.repair {
		if _, err := v.store.settle(ctx, name, best.copy); err != nil {
			return err
		}
		homes, err := v.store.homes(ctx, name)
		if err != nil {
			return err
		}
		f.Repaired = homes[0].queue != ""
	}
	v.found(f)
	return nil
}
