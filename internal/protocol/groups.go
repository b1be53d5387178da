package protocol

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// GroupStore sets the rules of the groups of a queue, and shows the groups. A queue that is not registered is ErrNotFound; one with several partitions
// is an *InvalidError, because a group is in one partition.
type GroupStore interface {
	// SetGroup replaces a group's own rule. The zero rule removes it. A pause remains.
	SetGroup(ctx context.Context, queue, group string, rule GroupRule) error

	// SetGroups replaces the queue's rule for all of its groups. The zero rule removes it. It registers a queue that is not registered.
	SetGroups(ctx context.Context, queue string, rule GroupRule) error

	// PauseGroup pauses a group, or resumes it. The group's own rule remains. A group that is paused already keeps its note unless the call has one.
	PauseGroup(ctx context.Context, queue, group string, paused bool, note Note) error

	// PurgeGroup deletes the jobs of a group that wait, at most MaxItems a call. upTo is empty in the first call; each answer contains that of the
	// next call, so that jobs that join the group later remain.
	PurgeGroup(ctx context.Context, queue, group, upTo string) (PurgeAnswer, string, error)

	// PageGroups returns the next groups of a queue. It writes nothing.
	PageGroups(ctx context.Context, call GroupPageCall) (GroupPage, error)

	// CountGroups counts the groups of a queue that have jobs waiting: at most MaxItems groups after the group after, in the order of their keys. It
	// writes nothing.
	CountGroups(ctx context.Context, queue, after string) (GroupSum, error)
}

// ErrGroupFull: the group of a job has as many jobs waiting as its rule allows, and the job was not added.
var ErrGroupFull = errors.New("the group has as many jobs waiting as its rule allows")

// The limits of rules of groups.
const (
	MaxGroupWeight  = 1_000
	MaxGroupWaiting = 1_000_000_000
	MaxGroupRules   = 100_000 // own rules and pauses of a queue
	MaxGroupsPage   = 100
	NoGroupLimit    = -1
)

// The values of GroupRule.Ordered.
const (
	OrderUnset = 0
	OrderOn    = 1
	OrderOff   = 2
)

// A GroupRule is the rule of one group, or of a queue for all of its groups. Each zero field is not set. NoGroupLimit in Running, Starts and Waiting
// means that there is no such limit.
type GroupRule struct {
	Weight  int // 1 to MaxGroupWeight
	Running int // flights at once, at most MaxLimit
	Starts  int // within Per, at most MaxLimit
	Per     time.Duration
	Ordered int // one of the Order constants
	Waiting int // jobs that wait, at most MaxGroupWaiting
}

// GroupPageCall requests groups of a queue: first those with jobs that wait, in the order of their keys, then the others that have flights, a rule or a
// pause, in no order.
type GroupPageCall struct {
	Queue   string
	Key     string // only this group, also if nothing is known of it; empty: all groups. The other fields then have no effect
	Prefix  string // of the key; empty: all
	Waiting bool   // only groups with jobs that wait
	After   string // GroupPage.Next, or ListedGroup.Next; empty: from the beginning
	Limit   int    // at most MaxGroupsPage
}

// GroupPage is the answer to a GroupPageCall. It may be short, or empty, although there are more.
type GroupPage struct {
	Groups []ListedGroup
	Rule   GroupRule // of the queue
	Now    time.Time
	Next   string // continues after the last one; empty: there are no more
}

// The reasons for which a group starts nothing.
const (
	GroupPaused  = "paused"
	GroupRunning = "running" // as many of its jobs run as its rule allows
	GroupStarts  = "starts"  // as many of its jobs have started as its rule allows
	GroupOrdered = "ordered" // a job of it has not ended
)

// GroupCounts are the counts of the groups of a queue.
type GroupCounts struct {
	Jobs     int64     // jobs of groups in any state but done
	Waiting  int64     // those of them that wait to run now
	MayStart int64     // groups with jobs that wait, of which nothing but the queue's pause or limit holds up the next
	Rules    int64     // groups with a rule or a pause, and one more if the queue has a rule for its groups
	Rule     GroupRule // that rule
}

// GroupSum counts groups that have jobs waiting: those that may start a job, and the others by the reason that is first in the order of the reasons.
type GroupSum struct {
	MayStart, Paused, Ordered, Running, Starts GroupTally

	Now  time.Time
	Next string // the group after which to continue; empty: there are no more
}

// GroupTally counts groups of one kind. Key is the group whose first job has waited longest, and Since is since when, as far as it is known: requeued jobs
// do not count. Both are zero if it is not known of any group.
type GroupTally struct {
	Groups int64
	Since  time.Time
	Key    string
}

// ListedGroup is a group as the store holds it.
type ListedGroup struct {
	Key       string
	Own       GroupRule
	Effective GroupRule
	Paused    bool
	Note      Note // of the pause
	Waiting   int64
	Running   int64
	Oldest    string    // the ID of the first job in its line; empty: none waits
	Since     time.Time // about when that job began to wait; zero: it is not known
	Blocked   string    // one of the reasons; empty: it may start a job
	Until     time.Time // GroupStarts: when the next job may start
	By        string    // GroupOrdered: the ID of the job that has not ended; empty: it is not known
	Next      string    // continues after this group
}

// GroupOfPartitions is the error for a job with a group on a queue with several partitions.
func GroupOfPartitions(group, queue string, partitions int) error {
	e := Invalid("group", group, "no group, or a queue with one partition")
	return Because(e, fmt.Sprintf("is for queue %s with %d partitions", queue, partitions))
}
