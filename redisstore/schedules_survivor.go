package redisstore

import (
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A schedule has one home: the queue and the generation that the registry names. After a fail-over one of the slots involved may be at an earlier
// state than the others: the old queue of a move, the new one, the registry, or the record of deletions. Then a schedule is found in a queue that
// the registry does not name, or is missing in the one that it names. The tables of judgeCopy and judgeMark decide which copy survives. They
// read in this order: the copy, the registry, what the registry's queue has, the deletions. Every step that follows compares again, in its own
// script, with the generation as it was read.
//
// The invariant, when no process is under way and sweeps have run: a schedule that was not deleted lives in exactly one queue, and the registry
// names this queue. A schedule whose deletion was carried out lives nowhere. No schedule is lost if any queue still has it.

// A copyKind is what a queue has of a schedule.
type copyKind int

const (
	noCopy copyKind = iota
	definitionCopy
	markCopy       // the schedule is moving, or has moved, to another queue
	unreadableCopy // it was edited by hand
)

// A copyRead is what was read of a schedule in a queue.
type copyRead struct {
	queue      string
	kind       copyKind
	generation int64
	revision   int64
	created    time.Time // moves keep it. It is later than all deletions that were known when the schedule was created
	movedTo    string    // of a mark
	gone       int64     // the last generation that has left this queue, or was deleted or barred here
	owner      protocol.Owner
}

func (c copyRead) home() home { return home{c.queue, c.generation} }

// A removalRead is what is recorded about deletions of a schedule.
type removalRead struct {
	intended int64     // when a deletion began, Unix µs. It may have been refused since, so it proves nothing alone
	done     int64     // when the definition was deleted, Unix µs
	pruned   int64     // the highest version of the copy's owner whose pruning is complete
	prunedAt time.Time // when it was
}

// A survival is what happens to a copy.
type survival int

const (
	survives     survival = iota // it is where it should be, or nothing can be decided yet
	isRegistered                 // the registry gets its entry
	isRemoved                    // it is deleted, with the registry's entry if that names it
	yields                       // the definition becomes a mark: the schedule lives where the registry names it
	waitsForMove                 // the move from the registry's queue is completed first: it may lead here
	endsRemoval                  // a deletion has passed the point of no return: it is completed
	takesHome                    // it is the last copy: the registry's queue is barred, and the registry names this one
	movesOn                      // of a mark: its move is completed
	arrivesAnew                  // of a mark: it is the last copy, and creates the schedule in its new queue
	moveEnded                    // of a mark: the schedule has arrived, or the mark is outdated
)

// isDead reports whether a copy belongs to a schedule whose deletion was carried out, or that was pruned. It compares with the creation, because a
// late move may draw a generation that is later than the deletion.
func (r removalRead) isDead(c copyRead) bool {
	return r.done > c.created.UnixMicro() || c.owner.Name != "" && r.pruned > c.owner.Version && r.prunedAt.After(c.created)
}

// hasBegun reports whether a deletion has removed the definition from the queue that the registry names. there is the copy in that queue. An intent
// alone is not enough. A generation that is gone is not enough either, because a bar leaves the registry's own generation.
func (r removalRead) hasBegun(there copyRead, entry home) bool {
	if there.kind == definitionCopy || there.kind == unreadableCopy || there.kind == markCopy && there.generation > entry.generation {
		return false
	}
	return there.gone > entry.generation && r.intended > entry.generation
}

// judgeCopy decides about a definition. entry is the registry's, there is what its queue has.
//
//	registry              its queue                                 the copy
//	any                   any; the copy is dead                     isRemoved
//	names it, ≥           –                                         survives
//	a lower generation    a definition of a higher revision         yields
//	a lower generation    else                                      isRegistered
//	none                  –                                         isRegistered
//	another queue, ≥      a definition of any generation            yields
//	                      a mark above the entry                    waitsForMove
//	                      nothing; a deletion has begun             endsRemoval
//	                      nothing                                   takesHome
//
// Model: RULEOF in models/home.pml.
func judgeCopy(c copyRead, entry home, there copyRead, r removalRead) survival {
	elsewhere := entry.queue != c.queue
	switch {
	case c.kind != definitionCopy:
		return survives
	case r.isDead(c):
		return isRemoved
	case entry.queue == "":
		return isRegistered
	case entry.generation < c.generation:
		if elsewhere && there.kind == definitionCopy && there.revision > c.revision {
			return yields
		}
		return isRegistered
	case !elsewhere || there.kind == unreadableCopy:
		return survives
	case there.kind == definitionCopy:
		return yields
	case there.kind == markCopy && there.generation > entry.generation:
		return waitsForMove
	case r.hasBegun(there, entry):
		return endsRemoval
	}
	return takesHome
}

// judgeMark decides about a mark. entry is the registry's, there is what its queue has.
//
//	registry                  its queue                               the mark
//	none                      –; the mark is dead                     isRemoved
//	none                      –                                       arrivesAnew
//	this queue, lower         –                                       movesOn
//	the mark's new one        the schedule, or a later mark           moveEnded
//	                          nothing; dead, or a deletion has begun  endsRemoval
//	                          nothing                                 arrivesAnew
//	another                   –                                       moveEnded
func judgeMark(c copyRead, entry home, there copyRead, r removalRead) survival {
	switch {
	case c.kind != markCopy:
		return survives
	case entry.queue == "" && r.isDead(c):
		return isRemoved
	case entry.queue == "":
		return arrivesAnew
	case entry.queue == c.queue && entry.generation < c.generation:
		return movesOn
	case entry != home{c.movedTo, c.generation} || there.kind == definitionCopy || there.kind == unreadableCopy || there.kind == markCopy && there.generation > c.generation:
		return moveEnded
	case r.isDead(c) || r.hasBegun(there, entry):
		return endsRemoval
	}
	return arrivesAnew
}
