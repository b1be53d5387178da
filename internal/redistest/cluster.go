//go:build unix

package redistest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const slots = 16384

// A Cluster is a Redis Cluster of masters without replicas. Each master has an equal share of the slots.
type Cluster struct {
	Nodes []*Server
	t     testing.TB
}

// StartCluster starts a cluster and returns when every master knows the whole cluster.
func StartCluster(t testing.TB, masters int, options Options) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	for range masters {
		node := options
		node.Config = append([]string{
			"cluster-enabled yes", "cluster-config-file nodes.conf", "cluster-node-timeout 2000",
			fmt.Sprintf("cluster-port %d", freePort(t)),
		}, options.Config...)
		c.Nodes = append(c.Nodes, Start(t, node))
	}
	ctx, stop := context.WithTimeout(t.Context(), timeout)
	defer stop()
	for i, node := range c.Nodes {
		client := node.Client(nil)
		c.must(client.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err())
		c.must(client.ClusterAddSlotsRange(ctx, slots*i/masters, slots*(i+1)/masters-1).Err())
		if i > 0 {
			c.must(client.Do(ctx, "CLUSTER", "MEET", "127.0.0.1", c.Nodes[0].port, busPort(c.Nodes[0])).Err())
		}
	}
	c.await(ctx)
	return c
}

// Client returns a new client of the cluster, which is closed when the test ends.
func (c *Cluster) Client() *redis.ClusterClient {
	addrs := make([]string, len(c.Nodes))
	for i, node := range c.Nodes {
		addrs[i] = node.Addr()
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
	c.t.Cleanup(func() { client.Close() })
	return client
}

// await returns when all nodes agree. The cluster's gossip takes a second or two.
func (c *Cluster) await(ctx context.Context) {
	c.t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for _, node := range c.Nodes {
		client := node.Client(nil)
		for {
			info, err := client.ClusterInfo(ctx).Result()
			// The state is ok before all slots are known, if the cluster does not require full coverage.
			agreed := err == nil
			for _, line := range []string{"cluster_state:ok", fmt.Sprint("cluster_known_nodes:", len(c.Nodes)), fmt.Sprint("cluster_slots_assigned:", slots)} {
				agreed = agreed && strings.Contains(info, line+"\r")
			}
			if agreed {
				break
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				c.t.Fatalf("redistest: the node at %s is not part of the cluster after %v: %v\n%s", node.Addr(), timeout, err, info)
			}
		}
	}
}

func (c *Cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("redistest: form a cluster: %v", err)
	}
}

func busPort(s *Server) string {
	for _, line := range s.options.Config {
		if port, ok := strings.CutPrefix(line, "cluster-port "); ok {
			return port
		}
	}
	return ""
}
