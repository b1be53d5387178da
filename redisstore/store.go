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
	"fmt"
	"log/slog"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// A Store is a namespace on a Redis. It is safe for concurrent use, and it does nothing by itself: the roles of package chime use it.
type Store struct{ store *store }

// New returns a store on a client. It does no I/O; bad options come back from the first call of a role.
func New(client redis.UniversalClient, options Options) *Store {
	return &Store{newStore(client, options)}
}

// Protocol is how the roles of package chime talk to the store.
func (s *Store) Protocol() protocol.Store { return s.store }

// A store carries out the protocol with scripts.
type store struct {
	client  redis.UniversalClient
	keys    keyspace
	options Options
	bad     error  // what is wrong with the options: every call returns it
	holder  string // host and pid, kept beside a session's number

	mu         sync.Mutex
	partitions map[string]int // queue → number of its partitions, as read from the registry

	hot sync.Map // protocol.Partition → *hotKeys
}

// hotKeys returns the keys of a partition, made once.
func (s *store) hotKeys(p protocol.Partition) *hotKeys {
	known, ok := s.hot.Load(p)
	if !ok {
		known, _ = s.hot.LoadOrStore(p, s.keys.hot(p))
	}
	return known.(*hotKeys)
}

var _ protocol.Store = (*store)(nil)

func newStore(client redis.UniversalClient, options Options) *store {
	options.Namespace = cmp.Or(options.Namespace, "chime")
	options.DeadRetention = cmp.Or(options.DeadRetention, 30*24*time.Hour)
	options.MaxDead = cmp.Or(options.MaxDead, 10_000)
	options.ParkedRetention = cmp.Or(options.ParkedRetention, 7*24*time.Hour)
	options.Logger = cmp.Or(options.Logger, slog.Default())
	options.Partitions = maps.Clone(options.Partitions)
	host, _ := os.Hostname()
	// More than 64 bytes, so that the hash of the jobs in flight is a hash table from the start: as a listpack it would be slow with a
	// few hundred jobs.
	holder := fmt.Sprintf("%s %d %s", host, os.Getpid(), strings.Repeat(".", 64))
	return &store{
		client: client, keys: keyspace(options.Namespace), options: options, bad: options.validate(client),
		holder: holder, partitions: map[string]int{},
	}
}

// Server says, for a log, what the store is on: addresses and namespace, never a password.
func (s *store) Server() string {
	var addresses []string
	switch c := s.client.(type) {
	case *redis.Client:
		addresses = []string{fmt.Sprintf("%s/%d", c.Options().Addr, c.Options().DB)}
	case *redis.ClusterClient:
		addresses = c.Options().Addrs
	default:
		addresses = []string{fmt.Sprintf("%T", c)}
	}
	return fmt.Sprintf("redis %s, namespace %s", strings.Join(addresses, " "), s.options.Namespace)
}
