package protocol

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// QueueStore is the registry of queues, with the operators' calls on a queue.
type QueueStore interface {
	// Partitions returns the number of partitions of a queue. It registers a new queue, which fixes the number.
	Partitions(ctx context.Context, queue string) (int, error)

	// Queues returns some registered queues, unsorted, and the cursor of the next call. The cursor "" begins; next is "" at the
	// end. The cost of a call depends on what it returns. A queue that is registered during all the calls is returned at least once. An invalid
	// entry of the registry is not returned.
	Queues(ctx context.Context, cursor string) (queues []QueueSize, next string, err error)

	// Served returns the queues that live workers have announced within the last three hours, and those of also, if they are
	// registered: each once, in the order of the names.
	Served(ctx context.Context, also []string) ([]QueueSize, error)

	// QueueStats counts queues, all partitions of each together, in the order of the names. It writes nothing. The Partitions of a
	// queue that is not registered are 0.
	QueueStats(ctx context.Context, queues []string) ([]QueueStats, error)

	// PauseQueue stops (or resumes) taking from a queue; placing and enqueuing continue. ErrNotFound if it is not registered. A queue that is
	// paused already keeps its note unless the call has one.
	PauseQueue(ctx context.Context, queue string, paused bool, note Note) error

	// EndPauses ends the pauses in partitions, of queues, groups and schedules, whose Note.Until has come: some of them in a call.
	EndPauses(ctx context.Context, partitions []Partition) (EndedPauses, error)

	// BeginPurge begins to purge the waiting jobs in a partition of a registered queue, and returns what it has deleted already. After that,
	// PurgeStep deletes these jobs, at most MaxItems a call, until More is false; later jobs remain. If the caller stops, Sweep
	// continues.
	BeginPurge(ctx context.Context, partition Partition) (PurgeAnswer, error)
	PurgeStep(ctx context.Context, partition Partition) (PurgeAnswer, error)

	// DeleteQueue deletes an empty queue, and returns what is on it: if that is anything, the queue remains. A deleted queue
	// keeps its number of partitions. The other calls do not return it any more until a process registers or uses it
	// again. ErrNotFound if it is not registered.
	DeleteQueue(ctx context.Context, queue string) (QueueRemains, error)

	// LimitQueue sets the limit of a queue, or removes it, and recounts the running jobs. It registers a queue that is not registered, except
	// for the zero limit. It refuses a queue with several partitions with an *InvalidError.
	LimitQueue(ctx context.Context, queue string, limit QueueLimit) error
}

// EndedPauses is the answer of EndPauses. With an error it has what was done before.
type EndedPauses struct {
	Ended []EndedPause
	Owed  []Owed        // the next occurrences of schedules, which the caller must place in its next call
	Next  time.Duration // until another pause of these partitions ends; -1: none has an end
}

// EndedPause is what is not paused any more: a schedule, a group of the queue, or else the partition's part of the queue.
type EndedPause struct {
	Partition       Partition
	Schedule, Group string
}

// QueueRemains is what keeps a queue from being deleted, over all its partitions.
type QueueRemains struct {
	Waiting, Delayed, Dead int64 // jobs
	Sessions               int64 // of workers that hold jobs
	Parked                 int64 // names with parked jobs
	Results                int64 // kept results
	Schedules              int64
	Outbox                 int64 // jobs that wait to be carried to other queues
	Batches                int64 // that have had members on it and have not ended
}

// String lists the counts that are not zero.
func (r QueueRemains) String() string {
	var parts []string
	for _, part := range []struct {
		n         int64
		one, many string
	}{
		{r.Waiting, "waiting job", "waiting jobs"}, {r.Delayed, "delayed or retrying job", "delayed or retrying jobs"},
		{r.Sessions, "worker that holds jobs", "workers that hold jobs"}, {r.Parked, "job name with parked jobs", "job names with parked jobs"},
		{r.Dead, "dead job", "dead jobs"}, {r.Results, "kept result", "kept results"}, {r.Schedules, "schedule", "schedules"},
		{r.Outbox, "job on its way to another queue", "jobs on their way to other queues"}, {r.Batches, "batch that has not ended", "batches that have not ended"},
	} {
		switch part.n {
		case 0:
		case 1:
			parts = append(parts, "1 "+part.one)
		default:
			parts = append(parts, fmt.Sprint(part.n, " ", part.many))
		}
	}
	return strings.Join(parts, ", ")
}

// A PurgeAnswer is the effect of a step of a purge.
type PurgeAnswer struct {
	Looked, Changed int  // jobs that were read, and deleted
	More            bool // the purge has not ended
}

// A QueueLimit limits how many jobs of a queue may run at once, over all workers, and how many may start in a time; 0: there is no such limit.
type QueueLimit struct {
	Running int // at most MaxLimit
	Starts  int // at most MaxLimit
	Per     time.Duration
}

// QueueSize is a queue with its number of partitions, 1 to MaxPartitions.
type QueueSize struct {
	Queue      string
	Partitions int
}

// OutboxCounts are counts of jobs that wait to be carried to other queues.
type OutboxCounts struct {
	Waiting, Bytes int64
	Oldest         time.Time // when the job before the oldest one ended; zero: none waits
	Full           bool      // a partition has reached their bound, and no job of its own is taken
	Blocked        string    // a queue to which they cannot be carried, and why; empty: that is not known
	BlockedSince   time.Time
}

// A Head is the job at the front of the waiting jobs.
type Head struct {
	ID   string
	Body []byte // empty for an occurrence without an envelope, and if it is long
}

// QueueStats are counts of one queue. Waiting, Delayed, Running, Dead, Parked and Schedules are as of Now; the others since the
// queue was registered.
type QueueStats struct {
	Queue                                   string
	Partitions                              int
	Paused                                  bool
	Waiting, Delayed, Running, Dead, Parked int64
	Enqueued, Done, Failed, Retried, Died   int64
	Cancelled, Expired                      int64
	Schedules                               int64
	Sessions                                int64 // of live workers that hold jobs, or recently held some
	Ahead                                   int64 // jobs that live workers have taken ahead and not begun; Running is without them
	AheadUnknown                            bool  // for some sessions that is not known, and Running contains all their jobs
	Vanished                                int64 // jobs in sessions that have lapsed
	Limit                                   QueueLimit
	LimitUnreadable                         bool // the limit cannot be read: no job is taken
	Groups                                  GroupCounts
	Outbox                                  OutboxCounts
	Note                                    Note      // of a paused queue
	FirstDue                                time.Time // when the first of the delayed jobs is due, or was; zero: none
	Heads                                   []Head    // the waiting jobs that are taken next, one for each partition
	FirstInLine                             time.Time // since when the job waits that has waited longest, among the first jobs of groups that may start one; zero: none is known
	Now                                     time.Time
}

// InFlight returns the number of jobs in sessions.
func (s QueueStats) InFlight() int64 { return s.Running + s.Ahead + s.Vanished }
