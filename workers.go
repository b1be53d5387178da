package chime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// Workers shows the live workers and the jobs that they run. Create one with NewWorkers; the zero value has no store. Showing changes nothing.
type Workers struct {
	store protocol.Store
	jobs  *Jobs
}

// NewWorkers returns the workers of a store. It does no I/O.
func NewWorkers(store Store) *Workers {
	return &Workers{store: protocolOf(store), jobs: NewJobs(store)}
}

// A WorkerInfo is a live worker: it has not ended, and has sent a sign of life within its SessionTTL. A worker sends one when it starts, and then
// twice in each SessionTTL. So a worker whose process was killed is gone when its sessions have lapsed. A worker of a version that only
// announces itself every four minutes is shown for 12 minutes after its last announcement.
type WorkerInfo struct {
	Name    string         `json:"name"`              // each start of a worker has its own, see [ParseWorker]
	Host    string         `json:"host,omitempty"`    // the host of its process; empty: unknown
	PID     int            `json:"pid"`               // the ID of its process
	Version string         `json:"version,omitempty"` // the version of its program or the revision of its source, from the build info; empty: unknown
	Queues  map[string]int `json:"queues"`            // the queues from which it takes jobs, with their weights
	Slots   int            `json:"slots"`             // how many handlers may run at the same time
	Busy    int            `json:"busy"`              // how many handlers run; if Many is true, at most this many
	Many    bool           `json:"many,omitempty"`    // it has handlers that get several jobs, see Worker.HandleMany
	Since   time.Time      `json:"since,omitzero"`    // when it started, by the store's clock
	Seen    time.Time      `json:"seen,omitzero"`     // its last sign of life, by the store's clock
	Running []*JobInfo     `json:"running"`           // the jobs that it runs, grouped by queue

	// SessionTTL is how long the worker may be silent before it counts as vanished; 0: it is of an older version. In JSON: session_ttl_ms.
	SessionTTL time.Duration `json:"-"`
}

// newWorkerInfo describes a worker without its jobs.
func newWorkerInfo(e *protocol.WorkerEntry) *WorkerInfo {
	return &WorkerInfo{
		Name: e.Name, Host: e.Host, PID: e.PID, Version: e.Version, Queues: e.Queues, Slots: e.Slots, Many: e.Many, Since: e.Since, Seen: e.Seen, SessionTTL: e.Lives,
	}
}

// ParseWorker returns where a worker runs, or has run, from its name: from WorkerInfo.Name, JobInfo.Worker, Failure.Worker or RunInfo.Worker. The name
// contains the host, with at most 63 characters; the ID of the process; and the version of the program, with at most 20 characters. Of a longer version, as
// the revision of a commit, it has the first 12 digits of the revision. Host and version are empty if they are unknown. In both, characters other than
// letters, digits and ".-+_" are "-". ok is false for the name of a worker of an earlier version, which was random.
func ParseWorker(name string) (host string, pid int, version string, ok bool) {
	return protocol.ParseWorkerName(name)
}

// A VersionInfo is a version of a program, and when it was first seen.
type VersionInfo struct {
	Version string    `json:"version"` // as WorkerInfo.Version
	First   time.Time `json:"first"`   // when the first worker of this version started, by the store's clock
}

// Versions returns when each version of a program was first seen, the newest first: when a deployment began. The store keeps 1,000 versions. Workers of
// unknown versions, and those of programs of an earlier version of chime, are not counted.
func (w *Workers) Versions(ctx context.Context) ([]VersionInfo, error) {
	if w.store == nil {
		return nil, fmt.Errorf("chime: list versions: %w", errNilStore)
	}
	if ctx == nil {
		return nil, fmt.Errorf("chime: list versions: %w", errNilContext)
	}
	found, err := w.store.Versions(ctx)
	if err != nil {
		return nil, fmt.Errorf("chime: list versions: %w", err)
	}
	versions := make([]VersionInfo, len(found))
	for i, v := range found {
		versions[i] = VersionInfo(v)
	}
	return versions, nil
}

// List returns the live workers, in the order of their names. If the store has lost the announcement of a worker that runs a job, the worker is
// listed with its name and its jobs. A worker whose session has lapsed is not listed, and neither are its jobs: see JobInfo.Vanished.
func (w *Workers) List(ctx context.Context) ([]*WorkerInfo, error) {
	if w.store == nil || w.jobs == nil {
		return nil, fmt.Errorf("chime: list workers: %w", errNilStore)
	}
	if ctx == nil {
		return nil, fmt.Errorf("chime: list workers: %w", errNilContext)
	}
	entries, err := w.store.Workers(ctx)
	byName := map[string]*WorkerInfo{}
	for i := range entries {
		byName[entries[i].Name] = newWorkerInfo(&entries[i])
	}
	if err == nil {
		err = w.addRunning(ctx, byName)
	}
	if err != nil {
		return nil, fmt.Errorf("chime: list workers: %w", err)
	}
	infos := make([]*WorkerInfo, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		infos = append(infos, byName[name])
	}
	return infos, nil
}

// addRunning adds the jobs that the workers run, on the queues that they serve.
func (w *Workers) addRunning(ctx context.Context, byName map[string]*WorkerInfo) error {
	queues, err := w.busyQueues(ctx, byName)
	if err != nil {
		return err
	}
	for _, queue := range queues {
		for job, err := range w.jobs.List(ctx, JobFilter{Queue: queue, State: JobRunning, Limit: maxPage}) {
			if errors.Is(err, ErrNotFound) {
				break // nobody has ever used the queue
			}
			if job == nil {
				return err
			}
			if job.Worker == "" || !job.Vanished.IsZero() {
				continue // it was taken by a version that did not store its worker's name, or its worker is gone
			}
			info := byName[job.Worker]
			if info == nil {
				info = &WorkerInfo{Name: job.Worker}
				byName[job.Worker] = info
			}
			info.Running = append(info.Running, job)
			if info.Busy++; info.Many {
				info.Busy = min(info.Busy, info.Slots) // several jobs may share a handler
			}
		}
	}
	return nil
}

// busyQueues returns the queues on which jobs run, in order.
func (w *Workers) busyQueues(ctx context.Context, byName map[string]*WorkerInfo) ([]string, error) {
	names := map[string]bool{}
	for _, info := range byName {
		for queue := range info.Queues {
			names[queue] = protocol.CheckName("queue", queue) == nil
		}
	}
	served, err := w.store.Served(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, queue := range served {
		names[queue.Queue] = true
	}
	maps.DeleteFunc(names, func(_ string, is bool) bool { return !is })
	stats, err := w.store.QueueStats(ctx, slices.Sorted(maps.Keys(names)))
	if err != nil {
		return nil, err
	}
	var busy []string
	for _, s := range stats {
		if s.Running > 0 {
			busy = append(busy, s.Queue)
		}
	}
	return busy, nil
}

// MarshalJSON encodes the worker with its instants in UTC. Empty lists are encoded as empty, not as null.
func (i WorkerInfo) MarshalJSON() ([]byte, error) {
	type fields WorkerInfo // without methods
	i.Since, i.Seen = i.Since.UTC(), i.Seen.UTC()
	if i.Running == nil {
		i.Running = []*JobInfo{}
	}
	if i.Queues == nil {
		i.Queues = map[string]int{}
	}
	return json.Marshal(struct {
		fields
		SessionTTLMS int64 `json:"session_ttl_ms,omitempty"`
	}{fields(i), i.SessionTTL.Milliseconds()})
}
