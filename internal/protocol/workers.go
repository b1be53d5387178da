package protocol

import (
	"context"
	"time"
)

// WorkerStore keeps the descriptions of live workers, for display. Nothing else depends on it.
type WorkerStore interface {
	// AnnounceWorker records the description of a worker, and that it lives. Workers repeat it.
	AnnounceWorker(ctx context.Context, worker WorkerEntry) error

	// RetireWorker removes a worker that has ended.
	RetireWorker(ctx context.Context, name string) error

	// Workers returns the workers that have announced themselves within WorkerRetention, in the order of the names. It writes nothing.
	Workers(ctx context.Context) ([]WorkerEntry, error)

	// Held returns how many jobs of queues each worker holds, by the name it listens under: its running jobs, and those that it has taken
	// ahead because no slot is free. It reads no job and writes nothing.
	Held(ctx context.Context, queues []string) (map[string]int, error)
}

// WorkerRetention is how long a silent worker is shown: three announcements.
const WorkerRetention = 12 * time.Minute

// A WorkerEntry is a worker as it describes itself.
type WorkerEntry struct {
	Name    string         // it listens under
	Host    string         // empty: unknown
	PID     int            //
	Version string         // of the program; empty: unknown
	Queues  map[string]int // with their weights
	Slots   int            // maximum number of handlers that run at the same time
	Age     time.Duration  // announced: how long it has run
	Since   time.Time      // read: when it started, by the store's clock
	Seen    time.Time      // read: its last announcement, by the store's clock
}
