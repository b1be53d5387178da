// Package redisstore keeps chime's jobs and schedules in Redis 7.0 or later (or Valkey 7.2 or later).
//
//	store := redisstore.New(rdb, redisstore.Options{Namespace: "billing"})
//
// It takes any client of go-redis (one server, Sentinel, Cluster) and never decides where to connect: heartbeats, which must
// not wait behind other calls, use a second connection with the very same options. Every change is one Lua script
// (scripts/*.lua), safe to send twice; keys.go lists every key. What asynchronous replication loses at a failover, Redis
// loses: see the README.
package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
)

// Options of a Store. The zero value is good.
type Options struct {
	// Namespace begins every key and channel: letters, digits, `_`, `.` and `-`, at most 100. Empty means "chime".
	Namespace string

	// Partitions spreads a hot queue over so many lines (1 to 1024, which a cluster keeps on different nodes). A queue that is
	// not named has 1. The number is fixed when the queue is first seen; another one is refused.
	Partitions map[string]int

	// DeadFor is how long jobs that were given up are kept. Zero means 30 days.
	DeadFor time.Duration
	// DeadMost is how many of them a partition keeps. Zero means 10,000.
	DeadMost int
	// ParkedFor is how long a job waits for a worker that has a handler for it before it is given up. Zero means 7 days.
	ParkedFor time.Duration

	// Logger hears of the connection's state. Nil means slog.Default().
	Logger *slog.Logger
}

// Store implements chime.Store. It is safe for concurrent use; its methods are called by the roles of package chime.
type Store struct {
	client  redis.UniversalClient
	keys    keyspace
	options Options
	bad     error  // what is wrong with the options, told by every call
	holder  string // host and pid, kept beside a session's number

	mu         sync.Mutex
	partitions map[string]int // queue → partitions, as fixed in the registry

	hot sync.Map // chime.Partition → *hotKeys
}

func (s *Store) hotKeys(p chime.Partition) *hotKeys {
	known, ok := s.hot.Load(p)
	if !ok {
		known, _ = s.hot.LoadOrStore(p, s.keys.hot(p))
	}
	return known.(*hotKeys)
}

var _ chime.Store = (*Store)(nil)

// New returns a store on a client. It does no I/O; options that are no good come back from the first call.
func New(client redis.UniversalClient, options Options) *Store {
	options.Namespace = cmp.Or(options.Namespace, "chime")
	options.DeadFor = cmp.Or(options.DeadFor, 30*24*time.Hour)
	options.DeadMost = cmp.Or(options.DeadMost, 10_000)
	options.ParkedFor = cmp.Or(options.ParkedFor, 7*24*time.Hour)
	options.Logger = cmp.Or(options.Logger, slog.Default())
	options.Partitions = maps.Clone(options.Partitions)
	host, _ := os.Hostname()
	// Longer than 64 bytes: a hash with such a value is a hash table from the start, which a few hundred jobs in flight pay for.
	holder := fmt.Sprintf("%s %d %s", host, os.Getpid(), strings.Repeat(".", 64))
	return &Store{
		client: client, keys: keyspace(options.Namespace), options: options, bad: options.validate(client),
		holder: holder, partitions: map[string]int{},
	}
}

var namespacePattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`)

func (o Options) validate(client redis.UniversalClient) error {
	var bad []error
	if client == nil {
		bad = append(bad, errors.New("redisstore: client is nil"))
	}
	if !namespacePattern.MatchString(o.Namespace) {
		bad = append(bad, fmt.Errorf("redisstore: Namespace %.100q: want 1 to 100 of A-Z a-z 0-9 _ . -", o.Namespace))
	}
	for queue, n := range o.Partitions {
		if n < 1 || n > 1024 {
			bad = append(bad, fmt.Errorf("redisstore: Partitions[%q] %d: want 1 to 1024", queue, n))
		}
	}
	if o.DeadFor < 0 || o.DeadMost < 0 || o.ParkedFor < 0 {
		bad = append(bad, errors.New("redisstore: DeadFor, DeadMost and ParkedFor must not be negative"))
	}
	if len(bad) > 0 {
		return fmt.Errorf("%w: %w", chime.ErrUnfit, errors.Join(bad...))
	}
	return nil
}

// Partitions returns the number of partitions of a queue and fixes it when the queue is first seen.
func (s *Store) Partitions(ctx context.Context, queue string) (int, error) {
	if s.bad != nil {
		return 0, s.bad
	}
	s.mu.Lock()
	n, known := s.partitions[queue]
	s.mu.Unlock()
	if known {
		return n, nil
	}
	return s.registerQueue(ctx, queue)
}

// registerQueue writes a queue into the registry if it is not there. It is repeated by every declaration and by workers, so
// that a registry lost with its server is written again.
func (s *Store) registerQueue(ctx context.Context, queue string) (int, error) {
	pipe := s.client.Pipeline()
	number := s.askQueue(ctx, pipe, queue)
	if _, err := pipe.Exec(ctx); err != nil {
		return 0, s.queuesFailure(ctx, "register queue", queue, err)
	}
	return s.learnQueue(queue, number.Val())
}

// askQueue adds to pipe what writes a queue into the registry if it is not there, and asks for what is.
func (s *Store) askQueue(ctx context.Context, pipe redis.Pipeliner, queue string) *redis.StringCmd {
	pipe.HSetNX(ctx, s.keys.queues(), queue, max(s.options.Partitions[queue], 1))
	return pipe.HGet(ctx, s.keys.queues(), queue)
}

// learnQueue takes what the registry says of a queue and refuses what is not as the options want it.
func (s *Store) learnQueue(queue, stored string) (int, error) {
	n, err := strconv.Atoi(stored)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("redisstore: %w: queue %q has %q partitions in %s", chime.ErrUnfit, queue, stored, s.keys.queues())
	}
	if want := s.options.Partitions[queue]; want > 0 && n != want {
		return 0, fmt.Errorf("redisstore: %w: Options.Partitions says %d for queue %q, which was first seen with %d: keep that number, or use another queue", chime.ErrUnfit, want, queue, n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.partitions[queue] = n
	return n, nil
}

// Queues returns every queue ever seen with its number of partitions.
func (s *Store) Queues(ctx context.Context) (map[string]int, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	stored, err := s.client.HGetAll(ctx, s.keys.queues()).Result()
	if err != nil {
		return nil, s.queuesFailure(ctx, "list queues in", s.keys.queues(), err)
	}
	queues := make(map[string]int, len(stored))
	for queue, text := range stored {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("redisstore: %w: queue %q has %q partitions in %s", chime.ErrUnfit, queue, text, s.keys.queues())
		}
		queues[queue] = n
	}
	return queues, nil
}

// home returns the partition in which a schedule of a queue lives.
func (s *Store) home(ctx context.Context, queue, name string) (chime.Partition, error) {
	n, err := s.Partitions(ctx, queue)
	if err != nil {
		return chime.Partition{}, err
	}
	return chime.Partition{Queue: queue, Index: chime.PartitionOf(name, n)}, nil
}
