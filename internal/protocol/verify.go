package protocol

import "context"

// Verifier looks for what breaks an invariant.
type Verifier interface {
	// Verify reads the whole namespace, while it is in use, and calls found for each thing that is wrong, one after the other. With repair it
	// mends what it can, and Finding.Repaired says so. A partition that fails is named in the error and hides no other.
	Verify(ctx context.Context, repair bool, found func(Finding)) (Verified, error)
}

// A Finding is one thing that is wrong. Queue, ID and Schedule are empty where it is not about one.
type Finding struct {
	Kind                string // one of the Found constants
	Queue, ID, Schedule string
	Detail              string // what is wrong, and what comes of it
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
	FoundParked       = "parked"
	FoundFlag         = "flag"
	FoundCount        = "count"
	FoundForeign      = "foreign"
)

// Verified is how much Verify has looked at.
type Verified struct {
	Queues, Partitions, Schedules, Jobs, Sessions int64
}
