package redisstore

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/internal/simredis"
	"github.com/chimejobs/chime/internal/storesuite"
)

// serverEnv is the variable that selects the server of a run. All tests of the process run on it:
//
//	(empty)     a simulated Redis inside the process, one for each test: nothing but Go is needed
//	redis       a redis-server
//	cluster     a Redis Cluster of three nodes
//	user:<use>  a redis-server on which the user of docs/access.md for this use makes the calls of the use: producer, worker, scheduler,
//	            viewer or operator
//	users       a redis-server on which each test makes the calls of one of these uses as its user, which long.Pick chooses
//
// Servers other than the simulated one are started once, and emptied before each test.
const serverEnv = "CHIME_TEST_SERVER"

// Features of a server that tests need; see onServersWith.
const (
	settableClock = storesuite.SettableClock
	listening     = storesuite.Listening
	manualRuns    = storesuite.ManualRuns
	repairing     = storesuite.Repairing
	randomCalls   = storesuite.RandomCalls
)

// Features that only tests of this package need.
const (
	hookedCalls storesuite.Need = 1 << (iota + 16) // hooks that a test adds to the client see the store's calls, which all use that client
	namespaces                                     // other namespaces than the bench's may be used
)

// A testServer is the server of a run.
type testServer struct {
	name  string
	lacks storesuite.Need
	// open returns a client of an empty server for a test with these needs, and a function that sets its clock; nil: it cannot be set.
	open func(t *testing.T, needs storesuite.Need) (redis.UniversalClient, func(time.Time))
}

// shared owns the servers that the tests of this process share.
var shared = redistest.NewProcess()

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // the simulated server makes much garbage and keeps little
	code := m.Run()
	shared.Close()
	os.Exit(code)
}

var selectedServer = sync.OnceValue(func() testServer {
	switch selected := os.Getenv(serverEnv); {
	case selected == "":
		return testServer{name: "simulated", open: openSimulated}
	case selected == "redis":
		return testServer{name: selected, lacks: settableClock, open: openRedis}
	case selected == "cluster":
		return testServer{name: selected, lacks: settableClock, open: openCluster}
	case strings.HasPrefix(selected, "user:"):
		return userServer(selected, protocol.Use(strings.TrimPrefix(selected, "user:")))
	case selected == "users":
		return userServer(selected, slices.Sorted(maps.Keys(callsOf))...)
	default:
		panic(fmt.Sprintf("%s=%s: want nothing, redis, cluster, user:<use> or users", serverEnv, selected))
	}
})

// TestStore runs the suite of all stores on the server of this run.
func TestStore(t *testing.T) {
	server := selectedServer()
	storesuite.Run(t, storesuite.Suite{Lacks: server.lacks, Open: func(t *testing.T, needs storesuite.Need) storesuite.Server {
		client, setClock := server.open(t, needs)
		b := newBench(t, client, setClock)
		return storesuite.Server{Store: b.store, SetClock: setClock, Backdate: b.backdate}
	}})
}

// onEveryServer runs a test on the server of this run. A rule for every server is tested in every run.
func onEveryServer(t *testing.T, test func(b *bench)) {
	t.Helper()
	onServersWith(t, 0, test)
}

// onServersWith runs a test on the server of this run if the server has what the test needs.
func onServersWith(t *testing.T, needs storesuite.Need, test func(b *bench)) {
	t.Helper()
	server := selectedServer()
	if server.lacks&needs != 0 {
		return // another run has such a server
	}
	t.Run(server.name, func(t *testing.T) {
		client, setClock := server.open(t, needs)
		test(newBench(t, client, setClock))
	})
}

func openSimulated(t *testing.T, _ storesuite.Need) (redis.UniversalClient, func(time.Time)) {
	server := simredis.New()
	t.Cleanup(server.Close)
	client := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:0", Protocol: 2, DisableIdentity: true, ContextTimeoutEnabled: true, ReadTimeout: longestRead,
		Dialer: func(context.Context, string, string) (net.Conn, error) { return server.Dial() },
	})
	return client, server.SetTime
}

var (
	redisServer = sync.OnceValue(func() *redistest.Server { return redistest.Start(shared, redistest.Options{}) })
	redisAdmin  = sync.OnceValue(func() *redis.Client { return redisServer().Client(nil) })
)

func openRedis(t *testing.T, _ storesuite.Need) (redis.UniversalClient, func(time.Time)) {
	t.Helper()
	empty(t, redisAdmin())
	return redis.NewClient(&redis.Options{Addr: redisServer().Addr(), ContextTimeoutEnabled: true, ReadTimeout: longestRead}), nil // hooks see every call
}

var (
	clusterNodes = sync.OnceValue(func() []*redistest.Server { return redistest.StartCluster(shared, 3, redistest.Options{}).Nodes })
	clusterAdmin = sync.OnceValue(func() []*redis.Client {
		var clients []*redis.Client
		for _, node := range clusterNodes() {
			clients = append(clients, node.Client(nil))
		}
		return clients
	})
)

func openCluster(t *testing.T, _ storesuite.Need) (redis.UniversalClient, func(time.Time)) {
	t.Helper()
	var addresses []string
	for i, node := range clusterNodes() {
		empty(t, clusterAdmin()[i])
		addresses = append(addresses, node.Addr())
	}
	return redis.NewClusterClient(&redis.ClusterOptions{Addrs: addresses}), nil
}

func empty(t *testing.T, client *redis.Client) {
	t.Helper()
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}
