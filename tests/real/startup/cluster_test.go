//go:build real

package startup_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/redisstore"
)

// Every master of a cluster has its own settings, and each of them may lose jobs.
func TestEveryMasterOfAClusterIsChecked(t *testing.T) {
	cluster := redistest.StartCluster(t, 3, redistest.Options{Config: []string{"cluster-require-full-coverage no"}})
	var log bytes.Buffer
	store := redisstore.New(cluster.Client(), redisstore.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}).Protocol()
	if err := store.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, node := range cluster.Nodes {
		client := node.Client(nil)
		if err := client.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
			t.Fatal(err)
		}
		if err := store.Check(t.Context()); !errors.Is(err, chime.ErrUnfit) || !strings.Contains(err.Error(), "allkeys-lru of "+node.Addr()) {
			t.Errorf("node %d evicts: %v, want ErrUnfit that names its address %s; logged: %v", i, err, node.Addr(), log.String())
		}
		if err := client.ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// A worker makes a call to each node, so it must know which partitions are on the same node.
func TestAPartitionsNodeIsItsMaster(t *testing.T) {
	cluster := redistest.StartCluster(t, 3, redistest.Options{})
	client := cluster.Client()
	store := redisstore.New(client, redisstore.Options{}).Protocol()
	if err := store.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	nodes := make(map[string]int)
	for i := range 60 {
		partition := protocol.Partition{Queue: fmt.Sprint("queue-", i)}
		master, err := client.MasterForKey(t.Context(), fmt.Sprintf("chime:{queue-%d}:due", i))
		if err != nil {
			t.Fatal(err)
		}
		got := store.Node(partition)
		if want := master.Options().Addr; got != want {
			t.Errorf("%v is on %q, want %q", partition, got, want)
		}
		nodes[got]++
	}
	if len(nodes) != 3 {
		t.Errorf("60 queues are on %v, want all three masters", nodes)
	}
	single := redisstore.New(redistest.Start(t, redistest.Options{}).Client(nil), redisstore.Options{}).Protocol()
	if a, b := single.Node(protocol.Partition{Queue: "a"}), single.Node(protocol.Partition{Queue: "b"}); a != b {
		t.Errorf("on one server two queues are on %q and %q, want the same node", a, b)
	}
}
