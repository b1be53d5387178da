package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/recent"
)

// The registry of queues is one hash of the namespace: queue → number of its partitions. The number is fixed when the queue is registered. When a
// queue's entry is deleted, the number is written under keptPrefix and the name. There a number above 1 remains permanently, and a 1, which is also
// the number of a queue without options, for an hour (see scripts/queues/unlist_queue.lua). Every enqueuer may write to the registry, so its entries
// are checked: an entry with an invalid queue name, or a number that is not from 1 to 1024, is skipped and logged once.

const (
	queuesPerPage = 1000 // about how many queues a call returns
	keptPrefix    = "/"  // no queue's name begins with it
)

// Partitions returns the number of partitions of a queue. It registers a queue that is not registered. The number is read once and
// then cached by this process.
func (s *store) Partitions(ctx context.Context, queue string) (int, error) {
	if s.bad != nil {
		return 0, s.bad
	}
	if n := s.queues.learned(queue); n > 0 {
		return n, nil
	}
	return s.queues.register(ctx, queue)
}

// Queues returns some registered queues, unsorted, and the cursor of the next call: "" begins, and "" in the answer ends. The cost of a call
// depends on what it returns, not on the number of queues.
func (s *store) Queues(ctx context.Context, cursor string) (queues []protocol.QueueSize, next string, err error) {
	if s.bad != nil {
		return nil, "", s.bad
	}
	return s.queues.page(ctx, cursor)
}

// A queueRegistry is this process's cache of the registry of queues; it also reads and writes the registry.
type queueRegistry struct {
	client  redis.UniversalClient
	key     string   // of the registry
	options *Options // numbers of partitions, and the log
	bad     error    // what is wrong with the options
	logged  *logged  // entries that were logged

	partitions recent.Map[string, int] // queue → number of its partitions, as this process has learned it
}

// learned returns the number of partitions of a queue that this process has read; 0: it has not read it.
func (r *queueRegistry) learned(queue string) int {
	n, _ := r.partitions.Get(queue, time.Now())
	return n
}

// register registers a queue unless it is registered, and returns its number of partitions. Every declaration and every
// announcement repeats it, so that a lost registry is written again. It registers the number that this process has cached: the server has
// lost the registry since, but not what depends on it. The number of a deleted queue is used again likewise.
func (r *queueRegistry) register(ctx context.Context, queue string) (int, error) {
	if err := protocol.CheckName("queue", queue); err != nil {
		return 0, fmt.Errorf("redisstore: register queue: %w: %w", protocol.ErrUnfit, err)
	}
	stored := r.client.HMGet(ctx, r.key, queue, keptPrefix+queue)
	if err := cmp.Or(stored.Err(), complete(stored)); err != nil {
		return 0, r.failure(ctx, "register queue", queue, err)
	}
	if text, ok := stored.Val()[0].(string); ok {
		return r.learn(queue, text)
	}
	number, _, _ := strings.Cut(reply(stored.Val()).text(1), " ")
	kept, _ := strconv.Atoi(number)
	if kept > protocol.MaxPartitions {
		kept = 0 // chime never writes such a value
	}
	pipe := r.client.Pipeline()
	pipe.HSetNX(ctx, r.key, queue, max(cmp.Or(r.learned(queue), kept, r.options.Partitions[queue]), 1))
	registered := pipe.HGet(ctx, r.key, queue)
	if _, err := pipe.Exec(ctx); err != nil {
		return 0, r.failure(ctx, "register queue", queue, err)
	}
	return r.learn(queue, registered.Val())
}

// relist registers a queue after a call found one of its partitions new: it may have been deleted after the caller had looked it up.
// The call itself has succeeded, so only an error after which it is sent again is returned; the others are logged once.
func (r *queueRegistry) relist(ctx context.Context, queue string) error {
	_, err := r.register(ctx, queue)
	answered := redis.Error(nil)
	if err != nil && (errors.As(err, &answered) || errors.Is(err, protocol.ErrUnfit)) {
		r.unreadable(ctx, queue, err)
		return nil
	}
	return err
}

// kept returns the number of partitions of a deleted queue; 0: no such queue was deleted.
func (r *queueRegistry) kept(ctx context.Context, queue string) (int, error) {
	kept, err := r.client.HGet(ctx, r.key, keptPrefix+queue).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return 0, nil
	case err != nil:
		return 0, r.failure(ctx, "delete queue", queue, err)
	}
	number, _, _ := strings.Cut(kept, " ")
	return r.parse(queue, number)
}

// learn reads the number of partitions that is stored for a queue and caches it for Partitions. It refuses a number that differs from
// the number in the options or from the one that this process has cached.
func (r *queueRegistry) learn(queue, stored string) (int, error) {
	n, err := r.parse(queue, stored)
	if err != nil {
		return 0, err
	}
	if known := r.learned(queue); known > 0 && n != known {
		return 0, fmt.Errorf("redisstore: %w: queue %q has %d partitions in %s, and had %d when this process began to use it: write %d there, or restart the processes that use the queue", protocol.ErrUnfit, queue, n, r.key, known, known)
	}
	if want := r.options.Partitions[queue]; want > 0 && n != want {
		return 0, fmt.Errorf("redisstore: %w: Options.Partitions has %d for queue %q, which was first used with %d: keep that number, or use another queue", protocol.ErrUnfit, want, queue, n)
	}
	r.partitions.Set(queue, n, time.Now())
	return n, nil
}

// parse reads an entry of the registry.
func (r *queueRegistry) parse(queue, stored string) (int, error) {
	if err := protocol.CheckName("queue", queue); err != nil {
		return 0, fmt.Errorf("redisstore: %w: the entry %.40q of %s: %w", protocol.ErrUnfit, queue, r.key, err)
	}
	n, err := strconv.Atoi(stored)
	if err != nil || n < 1 || n > protocol.MaxPartitions {
		return 0, fmt.Errorf("redisstore: %w: queue %q has %.40q partitions in %s: want 1 to %d", protocol.ErrUnfit, queue, stored, r.key, protocol.MaxPartitions)
	}
	return n, nil
}

// page returns some registered queues and the cursor of the next page.
func (r *queueRegistry) page(ctx context.Context, cursor string) (queues []protocol.QueueSize, next string, err error) {
	at, err := strconv.ParseUint(cmp.Or(cursor, "0"), 10, 64)
	if err != nil {
		return nil, "", fmt.Errorf("redisstore: list queues: %.40q is not a cursor that Queues returned", cursor)
	}
	pairs, at, err := r.client.HScan(ctx, r.key, at, "", queuesPerPage).Result()
	if err != nil {
		return nil, "", r.failure(ctx, "list queues in", r.key, err)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if strings.HasPrefix(pairs[i], keptPrefix) {
			continue
		}
		if n, err := r.parse(pairs[i], pairs[i+1]); err != nil {
			r.unreadable(ctx, pairs[i], err)
		} else {
			queues = append(queues, protocol.QueueSize{Queue: pairs[i], Partitions: n})
		}
	}
	if at != 0 {
		next = strconv.FormatUint(at, 10)
	}
	return queues, next, nil
}

// unreadable logs, once for each entry in the life of the process, that an entry of the registry is skipped.
func (r *queueRegistry) unreadable(ctx context.Context, entry string, err error) {
	if r.logged.first("queue " + entry) {
		r.options.Logger.WarnContext(ctx, "redisstore: an entry of the registry of queues cannot be read and is skipped", "event", "store.unreadable", "error", err)
	}
}

// A lookup is the registry's entry for one queue. The zero value: the queue is not registered.
type lookup struct {
	partitions int
	err        error // the entry cannot be read
}

// lookUp reads the entries of queues in the registry. It registers nothing.
func (r *queueRegistry) lookUp(ctx context.Context, queues ...string) ([]lookup, error) {
	if r.bad != nil {
		return nil, r.bad
	}
	found := make([]lookup, len(queues))
	for from := 0; from < len(queues); from += queuesPerPage {
		some := queues[from:min(from+queuesPerPage, len(queues))]
		stored := r.client.HMGet(ctx, r.key, some...)
		if err := cmp.Or(stored.Err(), complete(stored)); err != nil {
			return nil, r.failure(ctx, "look up queues in", r.key, err)
		}
		for i, value := range stored.Val() {
			if text, ok := value.(string); ok {
				found[from+i].partitions, found[from+i].err = r.parse(some[i], text)
			}
		}
	}
	return found, nil
}

// failure is failure for the registry of queues: if its key has a wrong type, the error names the key and both types.
func (r *queueRegistry) failure(ctx context.Context, act, subject string, err error) error {
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		if is, err := r.client.Type(ctx, r.key).Result(); err == nil && is != "hash" {
			return foreign(r.key, is, "hash")
		}
	}
	return failure(act, subject, err)
}

// logged remembers what was logged, so that each thing is logged once in the life of the process. It
// remembers at most maxLogged things, so that names from the server cannot fill the memory; further ones are not logged. The zero
// value is ready; it is safe for concurrent use.
type logged struct {
	mu    sync.Mutex
	names map[string]bool
}

const (
	maxLogged     = 1000
	maxLoggedName = 200 // bytes of a name that are remembered
)

// first reports whether this is the first time that name is logged.
func (l *logged) first(name string) bool {
	name = name[:min(len(name), maxLoggedName)]
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.names[name] || len(l.names) >= maxLogged {
		return false
	}
	if l.names == nil {
		l.names = make(map[string]bool)
	}
	l.names[name] = true
	return true
}
