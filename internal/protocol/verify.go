package protocol

import "context"

// Verifier finds violations of invariants.
type Verifier interface {
	// Verify reads the whole namespace, while it is in use, and calls found for each fault, one after the other. With repair it
	// repairs what it can, and sets Finding.Repaired. A failing partition is named in the error and does not hide the others.
	Verify(ctx context.Context, repair bool, found func(Finding)) (Verified, error)
}

// A Finding is one fault. Queue, ID and Schedule are empty if it is not about one.
type Finding struct {
	Kind                string // one of the Found constants
	Queue, ID, Schedule string
	Detail              string // the fault and its consequence
	Remedy              string // what a repair does; empty: nothing can be done
	Repaired            bool
}

// The kinds of findings.
const (
	FoundUnplaced     = "unplaced"
	FoundDoubled      = "doubled"
	FoundCursor       = "cursor"
	FoundHeld         = "held"
	FoundUnreadable   = "unreadable"
	FoundUnregistered = "unregistered"
	FoundUndefined    = "undefined"
	FoundOpen         = "open"
	FoundBehind       = "behind"
	FoundSession      = "session"
	FoundLost         = "lost"
	FoundEmpty        = "empty"
	FoundDuplicate    = "duplicate"
	FoundVoid         = "void"
	FoundMark         = "mark"
	FoundAfter        = "after"
	FoundProgress     = "progress"
	FoundResult       = "result"
	FoundHistory      = "history"
	FoundInGroup      = "group"
	FoundParked       = "parked"
	FoundFlag         = "flag"
	FoundCount        = "count"
	FoundForeign      = "foreign"
	FoundOutbox       = "outbox"
	FoundBatch        = "batch"
)

// Verified is how much Verify has read.
type Verified struct {
	Queues, Partitions, Schedules, Jobs, Sessions int64
}
