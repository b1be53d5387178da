package protocol

import (
	"context"
	"time"
)

// QueueStore is the registry of queues and what operators do with a queue.
type QueueStore interface {
	// Partitions returns the number of partitions of a queue. It registers a queue that was never seen, which fixes the number.
	Partitions(ctx context.Context, queue string) (int, error)

	// Queues returns every registered queue with its number of partitions.
	Queues(ctx context.Context) (map[string]int, error)

	// QueueStats counts queues, all partitions of each together, in the order of the names. A queue that is not registered
	// stays so: its Partitions are 0.
	QueueStats(ctx context.Context, queues []string) ([]QueueStats, error)

	// PauseQueue stops (or resumes) taking from a queue; placing and enqueuing go on. ErrNotFound if it is not registered.
	PauseQueue(ctx context.Context, queue string, paused bool) error
}

// QueueStats are counts of one queue. Waiting, Delayed, Running, Dead, Parked and Schedules are as of Now; the others since the
// queue was registered.
type QueueStats struct {
	Queue                                   string
	Partitions                              int
	Paused                                  bool
	Waiting, Delayed, Running, Dead, Parked int64
	Enqueued, Done, Failed, Retried, Died   int64
	Schedules                               int64
	Now                                     time.Time
}
