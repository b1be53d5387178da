package protocol

import (
	"context"
	"time"
)

// WorkerStore keeps the descriptions of live workers, for display. Nothing else depends on it.
type WorkerStore interface {
	// AnnounceWorker records the description of a worker, and that it lives. Workers repeat it.
	AnnounceWorker(ctx context.Context, worker WorkerEntry) error

	// Beat records a worker's sign of life at an instant of the store's clock, which the caller knows from the last answer. With the zero instant
	// the store reads its clock first. now is the store's clock after the call. lost means that the store did not know the worker: it has lost
	// the description too, or this is the first beat.
	Beat(ctx context.Context, name string, at time.Time) (now time.Time, lost bool, err error)

	// RetireWorker removes a worker that has ended.
	RetireWorker(ctx context.Context, name string) error

	// Workers returns the live workers, in the order of the names: those whose last sign of life, a beat or an announcement, is not older than
	// their Lives. It writes nothing.
	Workers(ctx context.Context) ([]WorkerEntry, error)

	// Versions returns when each version of a program was first seen: when the first worker that announced it had started. The newest comes first.
	// It has at most 1,000 versions and writes nothing.
	Versions(ctx context.Context) ([]VersionSeen, error)

	// Held returns how many jobs of queues each worker holds, by the name it listens under: its running jobs, and those that it has taken
	// ahead because no slot is free. It reads no job and writes nothing.
	Held(ctx context.Context, queues []string) (map[string]int, error)
}

// WorkerRetention is how long the description of a silent worker is kept: three announcements. A worker of a version that sends no beats is
// shown for as long.
const WorkerRetention = 12 * time.Minute

// VersionSeen is a version of a program, and when it was first seen.
type VersionSeen struct {
	Version string
	First   time.Time // by the store's clock
}

// A WorkerEntry is a worker as it describes itself.
type WorkerEntry struct {
	Name    string         // it listens under
	Host    string         // empty: unknown
	PID     int            //
	Version string         // of the program; empty: unknown
	Queues  map[string]int // with their weights
	Slots   int            // maximum number of handlers that run at the same time
	Many    bool           // a handler may run several jobs
	Lives   time.Duration  // how long it counts as live after a sign of life: its sessions' TTL; 0: WorkerRetention, because it sends no beats
	Age     time.Duration  // announced: how long it has run
	Since   time.Time      // read: when it started, by the store's clock
	Seen    time.Time      // read: its last sign of life, by the store's clock
}
