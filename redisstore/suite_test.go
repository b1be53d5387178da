package redisstore

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/memconn"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/redistest"
)

// A bench is one server with a store on it, and short methods that call the store.
type bench struct {
	*testing.T
	store   *store
	client  redis.UniversalClient
	mini    *miniredis.Miniredis // whose clock a test may set; nil: another server
	numbers map[string]int64     // of the last call of each session
	callers int64

	noSuspects bool // no session may be given one
}

// pauseSchedule pauses or resumes a schedule and returns what it is owed then.
func pauseSchedule(ctx context.Context, s *store, name string, paused bool) (protocol.Owed, error) {
	answer, err := s.PauseSchedule(ctx, protocol.Pausing{Name: name, Paused: paused})
	if answer.Owed == nil {
		return protocol.Owed{}, err
	}
	return *answer.Owed, err
}

// clusterEnv holds the addresses of a cluster: then the suite runs there and nowhere else, see TestTheSuiteOnACluster.
const clusterEnv = "CHIME_TEST_CLUSTER"

// onEveryServer runs a test on miniredis and on a real redis-server.
func onEveryServer(t *testing.T, test func(b *bench)) {
	if addresses := os.Getenv(clusterEnv); addresses != "" {
		client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: strings.Fields(addresses)})
		test(newBench(t, client))
		return
	}
	if use := protocol.Use(os.Getenv(userEnv)); use != "" {
		test(newBench(t, clientOfUser(t, use)))
		return
	}
	t.Run("miniredis", func(t *testing.T) {
		mini := miniredis.NewMiniRedis()
		mini.ClockTTL(true)
		t.Cleanup(mini.Close)
		b := newBench(t, redis.NewClient(&redis.Options{
			Addr: "127.0.0.1:0", Protocol: 2, DisableIdentity: true, ContextTimeoutEnabled: true,
			Dialer: func(context.Context, string, string) (net.Conn, error) {
				pipe, err := mini.Dial()
				if err != nil {
					return nil, err
				}
				return memconn.New(pipe), nil
			},
		}))
		b.mini = mini
		test(b)
	})
	t.Run("redis-server", func(t *testing.T) {
		test(newBench(t, redistest.Start(t, redistest.Options{}).Client(&redis.Options{ContextTimeoutEnabled: true}))) // hooks see every call
	})
}

var namespaces atomic.Int64

func newBench(t *testing.T, client redis.UniversalClient) *bench {
	t.Cleanup(func() { client.Close() })
	guardKeys(t, client)
	namespace := fmt.Sprintf("test%d", namespaces.Add(1))
	if os.Getenv(userEnv) != "" {
		namespace = "chime" // the one of docs/access.md; the server is emptied before every test
	}
	b := &bench{T: t, store: newStore(client, Options{Namespace: namespace}), client: client, numbers: map[string]int64{}}
	if _, err := b.store.Partitions(t.Context(), defaultPartition.Queue); err != nil { // the queue is registered, as roles do before they use it
		t.Fatal(err)
	}
	return b
}

// suiteBinary is a binary of these tests without the race detector, with which they take three times as long: it has found what there is to
// find when they ran in this one. It stays until the end of the test t.
func suiteBinary(t *testing.T) string {
	t.Helper()
	if !raceDetector {
		return os.Args[0]
	}
	path := filepath.Join(t.TempDir(), "suite.test")
	if out, err := exec.Command("go", "test", "-c", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// TestTheSuiteOnACluster runs this test binary again with the address of a cluster: all keys of a call must be in one slot,
// and partitions of a queue on different nodes.
func TestTheSuiteOnACluster(t *testing.T) {
	if os.Getenv(clusterEnv) != "" || os.Getenv(userEnv) != "" {
		return // this is such a run
	}
	cluster := redistest.StartCluster(t, 3, redistest.Options{})
	var addresses []string
	for _, node := range cluster.Nodes {
		addresses = append(addresses, node.Addr())
	}
	again := exec.Command(suiteBinary(t), "-test.run", suiteTests(t, "", "^TestReadme|^TestScript"), "-test.v")
	again.Env = append(os.Environ(), clusterEnv+"="+strings.Join(addresses, " "))
	out, err := again.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := strings.Count(string(out), "--- PASS: Test"); n < 30 {
		t.Errorf("%d tests ran on the cluster, want the whole suite:\n%s", n, out)
	}
}

var defaultPartition = protocol.Partition{Queue: "default"}

func (b *bench) enqueue(items ...protocol.EnqueueItem) []bool {
	b.Helper()
	b.callers++
	answer := b.store.Enqueue(b.Context(), []protocol.EnqueueCall{{Partition: defaultPartition, Caller: "caller", Number: b.callers, Items: items}})[0]
	if answer.Err != nil {
		b.Fatal(answer.Err)
	}
	return answer.Existing
}

func job(id string) protocol.EnqueueItem {
	return protocol.EnqueueItem{ID: id, Body: []byte("\x01" + id)}
}

func own(id string) protocol.EnqueueItem {
	return protocol.EnqueueItem{ID: id, Own: true, Body: []byte("\x01" + id)}
}

// work makes the next numbered call of a session.
func (b *bench) work(session string, call protocol.WorkCall) protocol.WorkAnswer {
	b.Helper()
	answer := b.try(session, call)
	if answer.Err != nil {
		b.Fatalf("call %d of %s: %v", b.numbers[session], session, answer.Err)
	}
	return answer
}

func (b *bench) try(session string, call protocol.WorkCall) protocol.WorkAnswer {
	b.Helper()
	b.numbers[session]++
	answer := b.repeat(session, call)
	if b.numbers[session] == 1 && len(answer.Taken) == 0 {
		b.numbers[session] = 0
	}
	return answer
}

// repeat makes a call with the number of the last one.
func (b *bench) repeat(session string, call protocol.WorkCall) protocol.WorkAnswer {
	b.Helper()
	call.Partition, call.Worker, call.Session, call.Number = defaultPartition, "w-"+session, session, b.numbers[session]
	call.Suspect = !b.noSuspects
	if call.TTL == 0 {
		call.TTL = 12 * time.Second
	}
	return b.store.Work(b.Context(), []protocol.WorkCall{call})[0]
}

// take takes up to n jobs and returns them.
func (b *bench) take(session string, n int) []protocol.TakenJob {
	b.Helper()
	return b.work(session, protocol.WorkCall{Take: n}).Taken
}

// settle ends one job and says whether the store took it.
func (b *bench) settle(session string, settled protocol.Settlement) bool {
	b.Helper()
	return len(b.work(session, protocol.WorkCall{Settle: []protocol.Settlement{settled}}).Refused) == 0
}

// sweep makes one call that sweeps the partition.
func (b *bench) sweep() (more bool, err error) {
	b.Helper()
	answer := b.store.Sweep(b.Context(), []protocol.Partition{defaultPartition}, 0)[0]
	return answer.More, answer.Err
}

// reapStep makes one call that reaps a session.
func (b *bench) reapStep(call protocol.ReapCall) (done bool, err error) {
	b.Helper()
	answer := b.store.Reap(b.Context(), []protocol.ReapCall{call})[0]
	return answer.Done, answer.Err
}

// ids are the IDs of jobs taken, in order, separated by spaces.
func ids(taken []protocol.TakenJob) string {
	text := ""
	for _, t := range taken {
		if text != "" {
			text += " "
		}
		text += t.ID
	}
	return text
}

func (b *bench) want(what, got, want string) {
	b.Helper()
	if got != want {
		b.Fatalf("%s: got %q, want %q", what, got, want)
	}
}

func (b *bench) stats() protocol.QueueStats {
	b.Helper()
	stats, err := b.store.QueueStats(b.Context(), []string{"default"})
	if err != nil {
		b.Fatal(err)
	}
	return stats[0]
}

func (b *bench) keys() partitionKeys { return b.store.keys.partition(defaultPartition) }

func redisZ(score float64, member string) redis.Z { return redis.Z{Score: score, Member: member} }
