package redisstore_test

import (
	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/redisstore"
)

func ExampleNew() {
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	defer client.Close()
	store := redisstore.New(client, redisstore.Options{Namespace: "billing"})
	_ = store // for chime.NewWorker, NewScheduler, NewEnqueuer, NewSchedules
}

// Sentinel finds the master and follows it at a failover.
func ExampleNew_sentinel() {
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName:    "jobs",
		SentinelAddrs: []string{"sentinel-1:26379", "sentinel-2:26379", "sentinel-3:26379"},
	})
	defer client.Close()
	store := redisstore.New(client, redisstore.Options{})
	_ = store
}

// A cluster keeps each partition of a queue on one of its nodes: a hot queue has several.
func ExampleNew_cluster() {
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"node-1:6379", "node-2:6379", "node-3:6379"}})
	defer client.Close()
	store := redisstore.New(client, redisstore.Options{Partitions: map[string]int{"mail": 16}})
	_ = store
}
