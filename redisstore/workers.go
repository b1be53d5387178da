package redisstore

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

var announceWorkerScript = scripts.Load("workers/announce_worker")

const workersPerCall = 500 // about so many workers are read by a command

// A workerForm is a worker as it is stored. The script adds the first two fields.
type workerForm struct {
	Seen  int64 `json:"seen_ms"`  // Unix ms
	Since int64 `json:"since_ms"` // Unix ms
	workerSelf
}

// workerSelf is what the worker says.
type workerSelf struct {
	Host    string         `json:"host"`
	PID     int            `json:"pid"`
	Version string         `json:"version"`
	Queues  map[string]int `json:"queues"`
	Slots   int            `json:"slots"`
}

// AnnounceWorker notes what a worker is, and that it lives.
func (s *store) AnnounceWorker(ctx context.Context, w protocol.WorkerEntry) error {
	if s.bad != nil {
		return s.bad
	}
	text, err := json.Marshal(workerSelf{w.Host, w.PID, w.Version, w.Queues, w.Slots})
	if err != nil {
		return failure("announce worker", w.Name, err)
	}
	args := []any{w.Name, string(text[1:]), w.Age.Milliseconds(), protocol.WorkerRetention.Milliseconds()}
	if err := s.run(ctx, s.client, newCall(&announceWorkerScript, []string{s.keys.workers()}, args))[0].Err(); err != nil {
		return failure("announce worker", w.Name, err)
	}
	return nil
}

// RetireWorker removes a worker that has ended.
func (s *store) RetireWorker(ctx context.Context, name string) error {
	if s.bad != nil {
		return s.bad
	}
	if err := s.client.HDel(ctx, s.keys.workers(), name).Err(); err != nil {
		return failure("retire worker", name, err)
	}
	return nil
}

// Workers returns the workers that have announced themselves within WorkerRetention, in the order of the names. It writes nothing. An
// entry that a hand has written is passed over.
func (s *store) Workers(ctx context.Context) ([]protocol.WorkerEntry, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	var workers []protocol.WorkerEntry
	for cursor := uint64(0); ; {
		pipe := s.client.Pipeline()
		now, scan := pipe.Time(ctx), pipe.HScan(ctx, s.keys.workers(), cursor, "", workersPerCall)
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, failure("list workers in", s.keys.workers(), err)
		}
		pairs, next := scan.Val()
		oldest := now.Val().Add(-protocol.WorkerRetention).UnixMilli()
		for i := 0; i+1 < len(pairs); i += 2 {
			var form workerForm
			if json.Unmarshal([]byte(pairs[i+1]), &form) != nil || form.Seen < oldest {
				continue
			}
			workers = append(workers, protocol.WorkerEntry{
				Name: pairs[i], Host: form.Host, PID: form.PID, Version: form.Version, Queues: form.Queues, Slots: form.Slots,
				Since: time.UnixMilli(form.Since).UTC(), Seen: time.UnixMilli(form.Seen).UTC(),
			})
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	slices.SortFunc(workers, func(a, b protocol.WorkerEntry) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(workers, func(a, b protocol.WorkerEntry) bool { return a.Name == b.Name }), nil // a scan may return an entry twice
}
