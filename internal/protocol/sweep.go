package protocol

import "time"

// SweepAnswer is the answer for one partition.
type SweepAnswer struct {
	Err     error
	More    bool         // others remain: call again
	Now     time.Time    // by the store's clock
	Expired []ExpiredJob // parked jobs past their retention that may have an OnDeath, at most 50
	// MoreExpired: other expired jobs were not read. The choice is random, so that jobs that cannot be moved do not hide others
	// for long. Call again only if some of Expired were moved by Bury.
	MoreExpired bool
	Reports     bool // it has counts of batches that are to be reported
	Batches     bool // it has counts of batches
	Owes        bool // it has jobs for other partitions, or has had some: they are to be carried, or what was carried is to be confirmed
}

// An ExpiredJob is a parked job whose retention has passed, as it is stored.
type ExpiredJob struct {
	ID         string
	Body       []byte // empty: it is an occurrence without one
	Definition []byte // of an occurrence without a body: its schedule's
	Opened     []byte // the Definition with its secrets in clear; empty: they are not sealed, or this program cannot open them
	Crashes    int
	Last       bool   // twice the retention has passed: it no longer waits for a program that can read it
	List       string // where it is parked, for the store
	Entry      string // its entry there
}

// A Burial moves an expired job to the dead jobs.
type Burial struct {
	ExpiredJob
	Dead []byte // its new body; empty: unchanged
	// Follower is added in the same step, as Settlement.Follower; nil: none.
	Follower *Follower
}
