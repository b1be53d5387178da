package redisstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var announceWorkerScript = scripts.Load("workers/announce_worker")

const workersPerCall = 500 // about how many workers a command reads

// A workerForm is a worker as it is stored. The script adds the first two fields.
type workerForm struct {
	Seen  int64 `json:"seen_ms"`  // Unix ms
	Since int64 `json:"since_ms"` // Unix ms
	workerSelf
}

// workerSelf is the worker's own part.
type workerSelf struct {
	Host    string         `json:"host"`
	PID     int            `json:"pid"`
	Version string         `json:"version"`
	Queues  map[string]int `json:"queues"`
	Slots   int            `json:"slots"`
	LivesMS int64          `json:"lives_ms,omitempty"`
	Many    bool           `json:"many,omitempty"`
}

// AnnounceWorker records the description of a worker, and that it lives.
func (s *store) AnnounceWorker(ctx context.Context, w protocol.WorkerEntry) error {
	if s.bad != nil {
		return s.bad
	}
	text, err := json.Marshal(workerSelf{w.Host, w.PID, w.Version, w.Queues, w.Slots, w.Lives.Milliseconds(), w.Many})
	if err != nil {
		return failure("announce worker", w.Name, err)
	}
	args := []any{w.Name, string(text[1:]), w.Age.Milliseconds(), protocol.WorkerRetention.Milliseconds()}
	answer := s.run(ctx, s.client, newCall(&announceWorkerScript, []string{s.keys.workers()}, args))[0]
	now, err := answer.Int64()
	if err != nil {
		return failure("announce worker", w.Name, err)
	}
	if w.Version != "" {
		s.noteVersion(ctx, w.Version, time.UnixMilli(now).Add(-w.Age))
	}
	return nil
}

// Beat records a sign of life of a worker with two plain commands: it must be cheap, because every live worker sends it some times in each
// SessionTTL. The first beat of a worker also removes the beats of workers that vanished long ago.
//
// Descriptions and beats are in two keys, which may be in two slots of a cluster. Invariant: a worker is live if its newest sign of life, in
// either key, is young enough. If beats are lost, the next beat brings them back, and until then the last announcement counts. If descriptions
// are lost, a worker is not shown until its next announcement. A beat without a description shows nothing.
func (s *store) Beat(ctx context.Context, name string, at time.Time) (now time.Time, lost bool, err error) {
	if s.bad != nil {
		return now, false, s.bad
	}
	if at.IsZero() {
		if at, err = s.client.Time(ctx).Result(); err != nil {
			return now, false, failure("beat of worker", name, err)
		}
	}
	pipe := s.client.Pipeline()
	added, clock := pipe.ZAdd(ctx, s.keys.beats(), redis.Z{Score: float64(at.UnixMilli()), Member: name}), pipe.Time(ctx)
	if _, err := pipe.Exec(ctx); err != nil {
		return now, false, failure("beat of worker", name, err)
	}
	if lost = added.Val() > 0; lost {
		gone := strconv.FormatInt(clock.Val().Add(-protocol.WorkerRetention).UnixMilli(), 10)
		if err := s.client.ZRemRangeByScore(ctx, s.keys.beats(), "-inf", gone).Err(); err != nil {
			return now, false, failure("beat of worker", name, err)
		}
	}
	return clock.Val().UTC(), lost, nil
}

// RetireWorker removes a worker that has ended.
func (s *store) RetireWorker(ctx context.Context, name string) error {
	if s.bad != nil {
		return s.bad
	}
	pipe := s.client.Pipeline()
	pipe.HDel(ctx, s.keys.workers(), name)
	pipe.ZRem(ctx, s.keys.beats(), name)
	if _, err := pipe.Exec(ctx); err != nil {
		return failure("retire worker", name, err)
	}
	return nil
}

// Workers returns the live workers, in the order of the names. It writes nothing. It skips an entry that was edited by hand.
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
		entries, err := s.readWorkers(ctx, pairs)
		if err != nil {
			return nil, failure("list workers in", s.keys.workers(), err)
		}
		for _, w := range entries {
			if now.Val().Sub(w.Seen) <= cmp.Or(w.Lives, protocol.WorkerRetention) {
				workers = append(workers, w)
			}
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	slices.SortFunc(workers, func(a, b protocol.WorkerEntry) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(workers, func(a, b protocol.WorkerEntry) bool { return a.Name == b.Name }), nil // a scan may return an entry twice
}

// readWorkers reads workers from names and descriptions, with their last signs of life.
func (s *store) readWorkers(ctx context.Context, pairs []string) (workers []protocol.WorkerEntry, err error) {
	var names []string
	for i := 0; i+1 < len(pairs); i += 2 {
		var form workerForm
		if json.Unmarshal([]byte(pairs[i+1]), &form) != nil {
			continue
		}
		names = append(names, pairs[i])
		workers = append(workers, protocol.WorkerEntry{
			Name: pairs[i], Host: form.Host, PID: form.PID, Version: form.Version, Queues: form.Queues, Slots: form.Slots, Many: form.Many,
			Lives: time.Duration(max(form.LivesMS, 0)) * time.Millisecond,
			Since: time.UnixMilli(form.Since).UTC(), Seen: time.UnixMilli(form.Seen).UTC(),
		})
	}
	if len(names) == 0 {
		return nil, nil
	}
	beats, err := s.client.ZMScore(ctx, s.keys.beats(), names...).Result()
	for i, score := range beats {
		if at := time.UnixMilli(int64(max(0, min(score, 1e14)))).UTC(); at.After(workers[i].Seen) {
			workers[i].Seen = at
		}
	}
	return workers, err
}

var announceScript = scripts.Load("workers/announce")

const (
	maxAnnounce           = 500             // job names in a call
	announcementRetention = 9 * time.Minute // a worker announces every four minutes what it handles
)

// Announce records that a live worker handles jobs of these names, in every partition of their queues, and that it serves the queues.
func (s *store) Announce(ctx context.Context, worker string, handled []protocol.Handled) error {
	if s.bad != nil {
		return s.bad
	}
	var queues []string
	names := make(map[string][]string)
	for _, h := range handled {
		if names[h.Queue] == nil {
			queues = append(queues, h.Queue)
		}
		names[h.Queue] = append(names[h.Queue], h.Name)
	}
	failed := []error{s.serve(ctx, handled)}
	found, err := s.queues.lookUp(ctx, queues...)
	if err != nil {
		return errors.Join(append(failed, err)...)
	}
	var sent []call
	for i, queue := range queues {
		for index := range found[i].partitions {
			k := s.keys.partition(protocol.Partition{Queue: queue, Index: index})
			for chunk := range slices.Chunk(names[queue], maxAnnounce) {
				args := []any{worker}
				for _, name := range chunk {
					args = append(args, name)
				}
				sent = append(sent, newCall(&announceScript, []string{k.handlers, k.state}, args))
			}
		}
	}
	for chunk := range slices.Chunk(sent, maxAnnounce) {
		for _, cmd := range s.run(ctx, s.client, chunk...) {
			if err := cmd.Err(); err != nil {
				failed = append(failed, failure("announce handlers", "", err))
			}
		}
	}
	return errors.Join(failed...)
}

// Unhandled returns the names that no worker has announced within the last nine minutes.
func (s *store) Unhandled(ctx context.Context, asked []protocol.Handled) ([]protocol.Handled, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	var missing []protocol.Handled
	for chunk := range slices.Chunk(asked, maxAnnounce) {
		pipe := s.client.Pipeline()
		now := pipe.Time(ctx)
		entries := make([]*redis.SliceCmd, len(chunk))
		for i, h := range chunk {
			k := s.keys.partition(protocol.Partition{Queue: h.Queue})
			entries[i] = pipe.HMGet(ctx, k.handlers, h.Name)
		}
		cmds, err := pipe.Exec(ctx)
		if err := cmp.Or(err, complete(cmds...)); err != nil {
			return nil, failure("look up handlers", "", err)
		}
		since := now.Val().Add(-announcementRetention).Unix()
		for i, entry := range entries {
			if announcedAt(reply(entry.Val()).text(0)) < since {
				missing = append(missing, chunk[i])
			}
		}
	}
	return missing, nil
}

// announcedAt returns when a worker last announced a name, Unix s; 0: never. The entry begins with that announcement.
func announcedAt(entry string) int64 {
	_, rest, _ := strings.Cut(entry, " ")
	at, _, _ := strings.Cut(rest, " ")
	s, _ := strconv.ParseInt(at, 10, 64)
	return s
}

// The queues that live workers serve are a sorted set of the namespace. At each poll, schedulers read these queues, and some of the other
// registered queues, of which there may be any number, in turn.

var serveScript = scripts.Load("workers/serve")

const (
	maxServed       = 10_000    // queues that Served finds: the most recently announced
	serveEvery      = time.Hour // and at once if the registry has lost the queue
	servedRetention = 3 * serveEvery
)

// serve records, once an hour, that a live worker serves the queues of the names that it handles. It also registers them, because a server
// that restarted empty has lost the registry. A queue that cannot be registered is named in the error and does not stop the others.
func (s *store) serve(ctx context.Context, handled []protocol.Handled) error {
	var queues []string
	for _, h := range handled {
		queues = append(queues, h.Queue)
	}
	slices.Sort(queues)
	queues = slices.Compact(queues)
	found, err := s.queues.lookUp(ctx, queues...)
	if err != nil {
		return err
	}
	var failed []error
	for i, queue := range queues {
		switch n := s.queues.learned(queue); {
		case found[i].err != nil:
			failed = append(failed, found[i].err)
		case found[i].partitions == 0 || n > 0 && n != found[i].partitions:
			if _, err := s.queues.register(ctx, queue); err != nil {
				failed = append(failed, err)
			}
			s.served.forget(queue)
		}
	}
	for some := range slices.Chunk(s.served.due(queues), protocol.MaxItems) {
		args := make([]any, len(some))
		for i, queue := range some {
			args[i] = queue
		}
		if err := s.run(ctx, s.client, newCall(&serveScript, []string{s.keys.served()}, args))[0].Err(); err != nil {
			failed = append(failed, failure("announce queues in", s.keys.served(), err))
			continue
		}
		s.served.note(some)
	}
	return errors.Join(failed...)
}

// servedQueues are the queues for which this process has announced a worker within serveEvery. The zero value is ready.
type servedQueues struct {
	mu sync.Mutex
	at map[string]time.Time // when it last did so
}

// due returns the queues that were not announced within serveEvery.
func (q *servedQueues) due(queues []string) []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(queues), func(queue string) bool { return time.Since(q.at[queue]) < serveEvery })
}

// note records that queues were announced now.
func (q *servedQueues) note(queues []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.at == nil {
		q.at = make(map[string]time.Time)
	}
	maps.DeleteFunc(q.at, func(_ string, at time.Time) bool { return time.Since(at) >= serveEvery }) // of workers that have ended
	for _, queue := range queues {
		q.at[queue] = time.Now()
	}
}

// forget makes the next call announce a queue again.
func (q *servedQueues) forget(queue string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.at, queue)
}

// Served returns the queues that live workers have announced within the last three hours, and those of also, if they are
// registered: each once, in the order of the names.
func (s *store) Served(ctx context.Context, also []string) ([]protocol.QueueSize, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	now, err := s.client.Time(ctx).Result()
	if err != nil {
		return nil, failure("look up served queues in", s.keys.served(), err)
	}
	since := strconv.FormatInt(now.Add(-servedRetention).UnixMilli(), 10)
	live, err := s.client.ZRevRangeByScore(ctx, s.keys.served(), &redis.ZRangeBy{Min: since, Max: "+inf", Count: maxServed}).Result()
	if err != nil {
		return nil, failure("look up served queues in", s.keys.served(), err)
	}
	queues := slices.Concat(also, live)
	slices.Sort(queues)
	queues = slices.Compact(queues)
	found, err := s.queues.lookUp(ctx, queues...)
	if err != nil {
		return nil, err
	}
	var served []protocol.QueueSize
	for i, queue := range queues {
		if found[i].err != nil {
			s.queues.unreadable(ctx, queue, found[i].err)
		} else if found[i].partitions > 0 {
			served = append(served, protocol.QueueSize{Queue: queue, Partitions: found[i].partitions})
		}
	}
	return served, nil
}
