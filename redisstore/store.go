// Package redisstore keeps chime's jobs and schedules in Redis 7.0 or later, or Valkey 7.2 or later.
//
// # What do I type
//
//	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
//	store := redisstore.New(client, redisstore.Options{Namespace: "billing"})
//	worker := chime.NewWorker(store, chime.WorkerOptions{})
//
// The client is go-redis's, for one server, Sentinel or Cluster.
//
// # What does it promise
//
//   - Every step of a job or schedule is one Lua script, which reads and checks everything before it writes. If it is sent twice because a reply was
//     lost, it takes effect once.
//   - Only the server's clock decides what is due and what has expired. So the clocks of the other machines may be wrong.
//   - A store connects only to the servers of your client. It opens a second connection with the same options for heartbeats, so that they do not
//     wait for other calls.
//   - All keys and channels begin with the namespace. A key of another program under such a name is refused, not overwritten.
//
// # What will bite me
//
//   - A server that may evict keys loses jobs: the roles refuse the policies allkeys-* of maxmemory-policy, with chime.ErrUnfit. The policies
//     volatile-* evict only keys with an expiry, which no job has: they are logged once.
//   - If Redis loses data, the store loses it too. A crash loses the writes since the last fsync of the append-only file. A failover loses the writes
//     that the replica had not received yet.
//   - Processes work together only if they use the same server, database and namespace.
//   - The number of partitions of a queue is fixed when the queue is first used.
//   - The client belongs to the application: close it after chime.Run has returned.
//   - While a server is unavailable, go-redis writes several lines for each call to stderr. Its logger belongs to the whole process, so
//     the application sets it: redis.SetLogger(redisstore.ClientLogger(slog.Default())).
//   - If a node of a Cluster vanishes without closing its connections, a call waits for several times the client's ReadTimeout, which is 5 s by
//     default: set it to one or two seconds. Other clients do not need this.
//
// # Where is everything
//
// The page docs/keys.md lists every key with its type. Only the file keys.go builds the names of keys. Each script, scripts/<noun>/<verb>.lua, begins
// with a comment on its keys, arguments and return value; [Scripts] returns their texts. Package redisstore/embedded runs a Redis inside the process,
// for tests and a first try.
package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/guardlog"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/recent"
)

// A Store is one namespace on one Redis. It is safe for concurrent use by any number of roles. It starts nothing by itself and needs no Close: the
// roles of package chime call it as a chime.Store. Create it with New; the zero value is not usable.
type Store struct{ store *store }

// New returns a store on a client of go-redis. It does no I/O and does not fail: if the client is nil or a *redis.Ring or an option is bad, the first
// call of a role returns an error, chime.ErrUnfit. Hooks that were added to the client, for example for traces, see every call if the client has
// ContextTimeoutEnabled, which is recommended. Without it, hooks do not see some calls: those that have a shorter time limit than the client, and
// that a role repeats until the store answers.
func New(client redis.UniversalClient, options Options) *Store {
	return &Store{newStore(client, options)}
}

// Protocol returns the calls that the roles of package chime make. Applications do not need it.
func (s *Store) Protocol() protocol.Store {
	if s == nil || s.store == nil {
		return nil
	}
	return s.store
}

// Namespace returns the prefix of all key names of the store: the namespace of the options, or "chime".
func (s *Store) Namespace() string { return string(s.store.keys) }

// A store carries out the protocol with scripts.
type store struct {
	client   redis.UniversalClient
	patience *patience // of calls that are repeated
	keys     keyspace
	options  Options
	bad      error  // the error of bad options: every call returns it
	host     string // this process's host and pid, separated by a space

	check  serverCheck
	holder atomic.Pointer[holderText] // of the worker that called last

	hot     recent.Map[protocol.Partition, *hotKeys]
	revokes atomic.Bool // a partition has needed keys of batches, see workAnswer

	removals  protocol.Removals
	queues    queueRegistry
	served    servedQueues
	residents residentMarks // of Sweep
	replanned replanned
	listeners openListeners
	endings   endings
	logged    logged // entries of the registries
}

// hotKeys returns the keys of a partition, built once.
func (s *store) hotKeys(p protocol.Partition) *hotKeys {
	return s.hot.Add(p, time.Now(), func() *hotKeys { return s.keys.hot(p) })
}

// A holderText is stored after the number of a session's last call: host, pid, worker and padding, with a sign before the padding if other jobs run
// beside a suspect of the session.
type holderText struct {
	worker string
	beside bool
	text   any // a string; allocated once, not with each call
}

// holderOf returns that text for a worker. The padding makes it longer than 64 bytes, so that the hash of the jobs in flight is a hash
// table from the start: as a listpack it would be slow with a few hundred jobs.
func (s *store) holderOf(worker string, beside bool) any {
	h := s.holder.Load()
	if h == nil || h.worker != worker || h.beside != beside {
		sign := ""
		if beside {
			sign = "+"
		}
		h = &holderText{worker, beside, s.host + " " + worker + " " + sign + strings.Repeat(".", 64)}
		s.holder.Store(h)
	}
	return h.text
}

var _ protocol.Store = (*store)(nil)

func newStore(client redis.UniversalClient, options Options) *store {
	options.Namespace = cmp.Or(options.Namespace, "chime")
	options.DeadRetention = cmp.Or(options.DeadRetention, 30*24*time.Hour)
	options.MaxDead = cmp.Or(options.MaxDead, 10_000)
	options.ParkedRetention = cmp.Or(options.ParkedRetention, 7*24*time.Hour)
	options.Logger = guardlog.New(cmp.Or(options.Logger, slog.Default()))
	options.Partitions = maps.Clone(options.Partitions)
	host, _ := os.Hostname()
	bad := options.validate(client)
	var limits *patience
	if bad == nil {
		limits = newPatience(client)
	}
	s := &store{
		client: client, patience: limits, keys: keyspace(options.Namespace), options: options, bad: bad,
		host: host + " " + strconv.Itoa(os.Getpid()), check: serverCheck{client: client, log: options.Logger},
	}
	s.queues = queueRegistry{client: client, key: s.keys.queues(), options: &s.options, bad: bad, logged: &s.logged}
	return s
}

// nodeTimeout limits how long Node waits for a cluster whose nodes are not known yet. Check learns them.
const nodeTimeout = 100 * time.Millisecond

// Node returns the master on which a partition lives now, as the client knows it. A single server has all partitions: its name is empty.
func (s *store) Node(p protocol.Partition) string {
	cluster, ok := s.client.(*redis.ClusterClient)
	if !ok || s.bad != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), nodeTimeout)
	defer cancel()
	master, err := cluster.MasterForKey(ctx, s.hotKeys(p).state)
	if err != nil {
		return ""
	}
	return master.Options().Addr
}

// Server returns a description of the servers for a log: addresses and namespace, never a password.
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
