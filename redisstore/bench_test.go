package redisstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A bench is one server with a store on it, and access to the server.
type bench struct {
	*storesuite.Bench
	store  *store // that of the Bench
	client redis.UniversalClient
}

var benches atomic.Int64

func newBench(t *testing.T, client redis.UniversalClient, setClock func(time.Time)) *bench {
	t.Cleanup(func() { client.Close() })
	guardKeys(t, client)
	namespace := fmt.Sprintf("test%d", benches.Add(1))
	if selectedServer().lacks&namespaces != 0 {
		namespace = "chime" // the namespace of docs/access.md
	}
	return benchOn(t, client, setClock, newStore(client, Options{Namespace: namespace}))
}

func benchOn(t *testing.T, client redis.UniversalClient, setClock func(time.Time), store *store) *bench {
	store.patience = &patience{clients: []redis.UniversalClient{client}, limits: []time.Duration{longestRead}} // on a busy machine an answer takes long
	b := &bench{store: store, client: client}
	b.Bench = storesuite.NewBench(t, storesuite.Server{Store: store, SetClock: setClock, Backdate: b.backdate})
	return b
}

// use makes the bench call another store on its server.
func (b *bench) use(s *store) { b.store, b.Store = s, s }

// backdate makes a schedule of the default queue look as if it had been created in 2020.
func (b *bench) backdate(schedule string) {
	b.Helper()
	key := b.keys().schedules
	h, ok := parseHead(b.client.HGet(b.Context(), key, schedule).Val())
	if !ok {
		b.Fatalf("%s has no definition", schedule)
	}
	h.created = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	b.client.HSet(b.Context(), key, schedule, h.withState("live"))
}

// sweep makes one call that sweeps the partition.
func (b *bench) sweep() (more bool, err error) {
	b.Helper()
	answer := b.store.Sweep(b.Context(), []protocol.Partition{storesuite.DefaultPartition}, 0)[0]
	return answer.More, answer.Err
}

func (b *bench) keys() partitionKeys { return b.store.keys.partition(storesuite.DefaultPartition) }

func redisZ(score float64, member string) redis.Z { return redis.Z{Score: score, Member: member} }

// eachNode calls do with the client of each master of a cluster, or with the bench's client.
func (b *bench) eachNode(do func(node redis.Cmdable)) {
	b.Helper()
	cluster, ok := b.client.(*redis.ClusterClient)
	if !ok {
		do(b.client)
		return
	}
	var one sync.Mutex
	if err := cluster.ForEachMaster(b.Context(), func(_ context.Context, node *redis.Client) error {
		one.Lock()
		defer one.Unlock()
		do(node)
		return nil
	}); err != nil {
		b.Fatal(err)
	}
}

// keysLike returns the keys of all nodes that match a pattern.
func (b *bench) keysLike(pattern string) (keys []string) {
	b.Helper()
	b.eachNode(func(node redis.Cmdable) { keys = append(keys, node.Keys(b.Context(), pattern).Val()...) })
	return keys
}

// flush empties all nodes.
func (b *bench) flush() {
	b.Helper()
	b.eachNode(func(node redis.Cmdable) {
		if err := node.FlushAll(b.Context()).Err(); err != nil {
			b.Fatal(err)
		}
	})
}
