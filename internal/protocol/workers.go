package protocol

import (
	"context"
	"time"
)

// WorkerStore keeps what live workers say about themselves, for whoever looks at them. Nothing else depends on it.
type WorkerStore interface {
	// AnnounceWorker notes what a worker is, and that it lives. Workers repeat it.
	AnnounceWorker(ctx context.Context, worker WorkerEntry) error

	// RetireWorker removes a worker that has ended.
	RetireWorker(ctx context.Context, name string) error

	// Workers returns the workers that have announced themselves within WorkerRetention, in the order of the names. It writes nothing.
	Workers(ctx context.Context) ([]WorkerEntry, error)

	// Held returns how many jobs of queues each worker holds, by the name it listens under: those that it runs, and those that it has taken
	// ahead because no slot is free. It reads no job and writes nothing.
	Held(ctx context.Context, queues []string) (map[string]int, error)
}

// WorkerRetention is how long a worker that is not heard of is shown: three announcements.
const WorkerRetention = 12 * time.Minute

// A WorkerEntry is a worker as it describes itself.
type WorkerEntry struct {
	Name    string         // it listens under
	Host    string         // empty: unknown
	PID     int            //
	Version string         // of the program; empty: unknown
	Queues  map[string]int // with their weights
	Slots   int            // handlers that run at the same time, at most
	Age     time.Duration  // announced: how long it has run
	Since   time.Time      // read: when it started, by the store's clock
	Seen    time.Time      // read: when it announced itself last, by the store's clock
}
