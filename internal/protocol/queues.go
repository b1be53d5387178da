package protocol

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// QueueStore is the registry of queues and what operators do with a queue.
type QueueStore interface {
	// Partitions returns the number of partitions of a queue. It registers a queue that was never seen, which fixes the number.
	Partitions(ctx context.Context, queue string) (int, error)

	// Queues returns some registered queues, in no order, and the cursor of the next call. The cursor "" begins; next is "" at the
	// end. A call costs what it returns. A queue that is registered during all the calls is returned at least once. An entry of the
	// registry that is no queue's is not returned.
	Queues(ctx context.Context, cursor string) (queues []QueueSize, next string, err error)

	// Served returns the queues that live workers have announced within the last three hours, and those of also, as far as they are
	// registered: each once, in the order of the names.
	Served(ctx context.Context, also []string) ([]QueueSize, error)

	// QueueStats counts queues, all partitions of each together, in the order of the names. It writes nothing. The Partitions of a
	// queue that is not registered are 0.
	QueueStats(ctx context.Context, queues []string) ([]QueueStats, error)

	// PauseQueue stops (or resumes) taking from a queue; placing and enqueuing go on. ErrNotFound if it is not registered. A queue that is
	// paused already keeps its note, unless another one comes.
	PauseQueue(ctx context.Context, queue string, paused bool, note Note) error

	// BeginPurge begins to purge what waits in a partition of a queue that is registered, and returns what it has deleted already. From then
	// on PurgeStep deletes the jobs that waited, at most MaxItems a call, until More is false; what comes later stays. Where nobody goes on, Sweep
	// does.
	BeginPurge(ctx context.Context, partition Partition) (PurgeAnswer, error)
	PurgeStep(ctx context.Context, partition Partition) (PurgeAnswer, error)

	// DeleteQueue deletes a queue on which nothing is, and returns what is there: unless that is nothing, the queue stays. A queue that is
	// deleted keeps its number of partitions and is not returned any more by the other calls, until somebody registers or uses it
	// again. ErrNotFound if it is not registered.
	DeleteQueue(ctx context.Context, queue string) (QueueRemains, error)

	// LimitQueue sets the limit of a queue, or takes it away, and counts what runs anew. A queue that is not registered is registered, but
	// for the zero limit. A queue with several partitions is refused by an *InvalidError.
	LimitQueue(ctx context.Context, queue string, limit QueueLimit) error
}

// QueueRemains are what a queue cannot be deleted for, over all its partitions.
type QueueRemains struct {
	Waiting, Delayed, Dead int64 // jobs
	Sessions               int64 // of workers that hold jobs
	Parked                 int64 // names with parked jobs
	Results                int64 // that are kept
	Schedules              int64
}

// String says how many there are of what there is.
func (r QueueRemains) String() string {
	var parts []string
	for _, part := range []struct {
		n         int64
		one, many string
	}{
		{r.Waiting, "waiting job", "waiting jobs"}, {r.Delayed, "delayed or retrying job", "delayed or retrying jobs"},
		{r.Sessions, "worker that holds jobs", "workers that hold jobs"}, {r.Parked, "job name with parked jobs", "job names with parked jobs"},
		{r.Dead, "dead job", "dead jobs"}, {r.Results, "kept result", "kept results"}, {r.Schedules, "schedule", "schedules"},
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

// A PurgeAnswer is what a step of a purge has done.
type PurgeAnswer struct {
	Looked, Changed int  // jobs that were looked at, and deleted
	More            bool // the purge has not ended
}

// A QueueLimit is how many jobs of a queue may run at once, over all workers, and how many may start per time; 0: there is no such limit.
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

// A Head is the job at the front of those that wait.
type Head struct {
	ID   string
	Body []byte // empty of an occurrence without an envelope, and where it is long
}

// QueueStats are counts of one queue. Waiting, Delayed, Running, Dead, Parked and Schedules are as of Now; the others since the
// queue was registered.
type QueueStats struct {
	Queue                                   string
	Partitions                              int
	Paused                                  bool
	Waiting, Delayed, Running, Dead, Parked int64
	Enqueued, Done, Failed, Retried, Died   int64
	Cancelled                               int64
	Schedules                               int64
	Sessions                                int64 // of workers that hold jobs, or have held some a moment ago
	Limit                                   QueueLimit
	Note                                    Note      // of a paused queue
	FirstDue                                time.Time // when the first of the delayed jobs is due, or was; zero: there is none
	Heads                                   []Head    // the jobs that are taken next of those that wait, of each partition one
	Now                                     time.Time
}
