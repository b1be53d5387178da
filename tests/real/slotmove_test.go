//go:build real && unix

package real_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/redisstore"
)

// moveSlot moves a slot of a two-node cluster to the other node, key by key, as resharding does. During the move the servers answer with MOVED, ASK
// and TRYAGAIN.
func moveSlot(t *testing.T, from, to *redistest.Server, slot int) {
	t.Helper()
	source, target := from.Client(nil), to.Client(nil)
	do := func(client *redis.Client, args ...any) *redis.Cmd {
		t.Helper()
		cmd := client.Do(t.Context(), args...)
		if err := cmd.Err(); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return cmd
	}
	sourceID, targetID := do(source, "CLUSTER", "MYID").Val(), do(target, "CLUSTER", "MYID").Val()
	do(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", sourceID)
	do(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", targetID)
	host, port, _ := strings.Cut(to.Addr(), ":")
	for {
		keys := source.ClusterGetKeysInSlot(t.Context(), slot, 1).Val()
		if len(keys) == 0 {
			break
		}
		do(source, "MIGRATE", host, port, keys[0], 0, 5000)
	}
	do(target, "CLUSTER", "SETSLOT", slot, "NODE", targetID)
	do(source, "CLUSTER", "SETSLOT", slot, "NODE", targetID)
}

// A queue's slot moves to another node and back again and again while jobs are enqueued and run. Each job runs once.
func TestEachJobRunsOnceWhileItsSlotMoves(t *testing.T) {
	cluster := redistest.StartCluster(t, 2, redistest.Options{})
	store := redisstore.New(cluster.Client(), redisstore.Options{Logger: errorsOnly})
	client := cluster.Client()
	slot := int(client.ClusterKeySlot(t.Context(), "chime:{default}:jobs").Val())
	from, to := cluster.Nodes[0], cluster.Nodes[1]
	if slot >= 16384/2 {
		from, to = to, from
	}
	var mu sync.Mutex
	runs := map[string]int{}
	worker := chime.NewWorker(store, chime.WorkerOptions{Logger: errorsOnly})
	worker.Handle("beat", func(_ context.Context, job *chime.Job) error {
		mu.Lock()
		defer mu.Unlock()
		runs[job.ID]++
		return nil
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- chime.Run(ctx, worker) }()

	enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: errorsOnly})
	if _, err := enqueuer.Enqueue(t.Context(), "beat", nil, chime.ID("job0")); err != nil { // this registers the queue
		t.Fatal(err)
	}
	moving, moved := context.WithCancel(t.Context())
	accepted := make(chan int, 1)
	go func() {
		n := 1
		for ; moving.Err() == nil; n++ {
			if _, err := enqueuer.Enqueue(t.Context(), "beat", nil, chime.ID(fmt.Sprint("job", n))); err != nil {
				t.Errorf("enqueue: %v", err)
				break
			}
		}
		accepted <- n
	}()
	for range 4 {
		moveSlot(t, from, to, slot)
		from, to = to, from
		before := countsOf(t, client, "default").Done
		until(t, "jobs run again", func() bool { return countsOf(t, client, "default").Done > before })
	}
	moved()
	n := <-accepted
	until(t, "all jobs are done", func() bool { return countsOf(t, client, "default").Done >= int64(n) })
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for i := range n {
		if id := fmt.Sprint("job", i); runs[id] != 1 {
			t.Errorf("%s ran %d times, want once", id, runs[id])
		}
	}
	if len(runs) != n {
		t.Errorf("%d jobs ran, want %d", len(runs), n)
	}
}
