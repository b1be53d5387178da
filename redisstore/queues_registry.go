package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// The registry of queues is one hash of the namespace: queue → number of its partitions. The number is fixed when the queue is
// registered, for ever: before the entry of a queue is deleted, the number is written under keptPrefix and the name, and stays there. Whoever may enqueue may write to it, so that what it says is checked before it is believed: an entry whose name is no
// queue's, or whose number is none from 1 to 1024, is passed over and logged once.

const (
	queuesPerPage = 1000 // about so many queues a call
	keptPrefix    = "/"  // no queue's name begins so
)

// Partitions returns the number of partitions of a queue. It registers a queue that is not registered. The number is read once and
// then known to this process.
func (s *store) Partitions(ctx context.Context, queue string) (int, error) {
	if s.bad != nil {
		return 0, s.bad
	}
	if n := s.learned(queue); n > 0 {
		return n, nil
	}
	return s.registerQueue(ctx, queue)
}

// learned returns the number of partitions of a queue that this process has read; 0: none.
func (s *store) learned(queue string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.partitions[queue]
}

// registerQueue registers a queue unless it is registered, and returns its number of partitions. Every declaration and every
// announcement repeats it, so that a registry that the server has lost is written again. A number that this process has learned is what it
// registers: the server has lost the registry since, and not what depends on it. So is the number of a queue that was deleted.
func (s *store) registerQueue(ctx context.Context, queue string) (int, error) {
	if err := protocol.CheckName("queue", queue); err != nil {
		return 0, fmt.Errorf("redisstore: register queue: %w: %w", protocol.ErrUnfit, err)
	}
	stored := s.client.HMGet(ctx, s.keys.queues(), queue, keptPrefix+queue)
	if err := cmp.Or(stored.Err(), complete(stored)); err != nil {
		return 0, s.queuesFailure(ctx, "register queue", queue, err)
	}
	if text, ok := stored.Val()[0].(string); ok {
		return s.learn(queue, text)
	}
	kept, _ := strconv.Atoi(reply(stored.Val()).text(1))
	if kept > protocol.MaxPartitions {
		kept = 0 // no chime has written that
	}
	pipe := s.client.Pipeline()
	pipe.HSetNX(ctx, s.keys.queues(), queue, max(cmp.Or(s.learned(queue), kept, s.options.Partitions[queue]), 1))
	registered := pipe.HGet(ctx, s.keys.queues(), queue)
	if _, err := pipe.Exec(ctx); err != nil {
		return 0, s.queuesFailure(ctx, "register queue", queue, err)
	}
	return s.learn(queue, registered.Val())
}

// relist registers a queue of which a call has used a partition that was new: it was deleted, maybe, after the caller had looked it up. What
// the call did is done, so only an error after which it is sent again is returned; the others are logged once.
func (s *store) relist(ctx context.Context, queue string) error {
	_, err := s.registerQueue(ctx, queue)
	answered := redis.Error(nil)
	if err != nil && (errors.As(err, &answered) || errors.Is(err, protocol.ErrUnfit)) {
		s.unreadable(ctx, queue, err)
		return nil
	}
	return err
}

// unlistQueue has the registry forget a queue, but for its number of partitions.
func (s *store) unlistQueue(ctx context.Context, queue string, partitions int) error {
	if err := s.client.HSet(ctx, s.keys.queues(), keptPrefix+queue, partitions).Err(); err != nil {
		return s.queuesFailure(ctx, "delete queue", queue, err)
	}
	if err := s.client.HDel(ctx, s.keys.queues(), queue).Err(); err != nil {
		return s.queuesFailure(ctx, "delete queue", queue, err)
	}
	s.mu.Lock()
	delete(s.servedAt, queue)
	s.mu.Unlock()
	if err := s.client.ZRem(ctx, s.keys.served(), queue).Err(); err != nil {
		return failure("delete queue", queue, err)
	}
	return nil
}

// keptPartitions is the number of partitions of a queue that was deleted; 0: none was.
func (s *store) keptPartitions(ctx context.Context, queue string) (int, error) {
	kept, err := s.client.HGet(ctx, s.keys.queues(), keptPrefix+queue).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return 0, nil
	case err != nil:
		return 0, s.queuesFailure(ctx, "delete queue", queue, err)
	}
	return s.parsePartitions(queue, kept)
}

// learn reads the number of partitions that is stored for a queue and keeps it for Partitions. It refuses a number that differs from
// the options' or from the one that this process has learned before.
func (s *store) learn(queue, stored string) (int, error) {
	n, err := s.parsePartitions(queue, stored)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.partitions[queue]; known > 0 && n != known {
		return 0, fmt.Errorf("redisstore: %w: queue %q has %d partitions in %s, and had %d when this process began to use it: write %d there, or restart the processes that use the queue", protocol.ErrUnfit, queue, n, s.keys.queues(), known, known)
	}
	if want := s.options.Partitions[queue]; want > 0 && n != want {
		return 0, fmt.Errorf("redisstore: %w: Options.Partitions says %d for queue %q, which was first seen with %d: keep that number, or use another queue", protocol.ErrUnfit, want, queue, n)
	}
	s.partitions[queue] = n
	return n, nil
}

// parsePartitions reads an entry of the registry.
func (s *store) parsePartitions(queue, stored string) (int, error) {
	if err := protocol.CheckName("queue", queue); err != nil {
		return 0, fmt.Errorf("redisstore: %w: the entry %.40q of %s: %w", protocol.ErrUnfit, queue, s.keys.queues(), err)
	}
	n, err := strconv.Atoi(stored)
	if err != nil || n < 1 || n > protocol.MaxPartitions {
		return 0, fmt.Errorf("redisstore: %w: queue %q has %.40q partitions in %s: want 1 to %d", protocol.ErrUnfit, queue, stored, s.keys.queues(), protocol.MaxPartitions)
	}
	return n, nil
}

// Queues returns some registered queues, in no order, and the cursor of the next call: "" begins, and in the answer it ends. A call
// costs what it returns, however many there are.
func (s *store) Queues(ctx context.Context, cursor string) (queues []protocol.QueueSize, next string, err error) {
	if s.bad != nil {
		return nil, "", s.bad
	}
	at, err := strconv.ParseUint(cmp.Or(cursor, "0"), 10, 64)
	if err != nil {
		return nil, "", fmt.Errorf("redisstore: list queues: %.40q is not a cursor that Queues returned", cursor)
	}
	pairs, at, err := s.client.HScan(ctx, s.keys.queues(), at, "", queuesPerPage).Result()
	if err != nil {
		return nil, "", s.queuesFailure(ctx, "list queues in", s.keys.queues(), err)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if strings.HasPrefix(pairs[i], keptPrefix) {
			continue
		}
		if n, err := s.parsePartitions(pairs[i], pairs[i+1]); err != nil {
			s.unreadable(ctx, pairs[i], err)
		} else {
			queues = append(queues, protocol.QueueSize{Queue: pairs[i], Partitions: n})
		}
	}
	if at != 0 {
		next = strconv.FormatUint(at, 10)
	}
	return queues, next, nil
}

// unreadable logs, once for each entry in the life of the process, that an entry of the registry is passed over.
func (s *store) unreadable(ctx context.Context, entry string, err error) {
	if s.logged.first("queue " + entry) {
		s.options.Logger.WarnContext(ctx, "redisstore: an entry of the registry of queues cannot be read and is passed over", "event", "store.unreadable", "error", err)
	}
}

// A lookup is what the registry says of one queue. The zero value: the queue is not registered.
type lookup struct {
	partitions int
	err        error // the entry cannot be read
}

// lookUpQueues returns what the registry says of queues. It registers nothing.
func (s *store) lookUpQueues(ctx context.Context, queues ...string) ([]lookup, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	found := make([]lookup, len(queues))
	for from := 0; from < len(queues); from += queuesPerPage {
		some := queues[from:min(from+queuesPerPage, len(queues))]
		stored := s.client.HMGet(ctx, s.keys.queues(), some...)
		if err := cmp.Or(stored.Err(), complete(stored)); err != nil {
			return nil, s.queuesFailure(ctx, "look up queues in", s.keys.queues(), err)
		}
		for i, value := range stored.Val() {
			if text, ok := value.(string); ok {
				found[from+i].partitions, found[from+i].err = s.parsePartitions(some[i], text)
			}
		}
	}
	return found, nil
}

// queuesFailure is failure for the registry of queues: if its key is of another type, the error names the key and both types.
func (s *store) queuesFailure(ctx context.Context, act, subject string, err error) error {
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		if is, err := s.client.Type(ctx, s.keys.queues()).Result(); err == nil && is != "hash" {
			return foreign(s.keys.queues(), is, "hash")
		}
	}
	return failure(act, subject, err)
}

// logged remembers what was logged, so that each thing is logged once in the life of the process, however often it is met. It
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
