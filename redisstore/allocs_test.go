//go:build !race

// With the race detector a sync.Pool drops some of what it is given, and the numbers are others.

package redisstore

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// How many allocations a store makes for a job on the paths of ordinary jobs: to build the arguments of a call, and to read its answer. Those of go-redis
// are not counted.
func TestAllocationsOfOrdinaryJobs(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // never used
	defer client.Close()
	s := New(client, Options{}).Protocol().(*store)
	at, body := protocol.Partition{Queue: "q"}, make([]byte, 120)
	enqueue := func(n int) *protocol.EnqueueCall {
		c := &protocol.EnqueueCall{Partition: at, Caller: "caller", Number: 70_000}
		for i := range n {
			c.Items = append(c.Items, protocol.EnqueueItem{ID: fmt.Sprintf("%013d", i), Body: body})
		}
		return c
	}
	work := func(n int) *protocol.WorkCall {
		c := &protocol.WorkCall{Partition: at, Session: "session", Worker: "worker", Number: 70_000, TTL: 12 * time.Second, Take: max(n, 2), Sleep: true}
		for i := range n {
			c.Settle = append(c.Settle, protocol.Settlement{ID: fmt.Sprintf("%013d", i), Fence: 1_800_000_000_000_000, Kind: protocol.SettleDone})
		}
		return c
	}
	short, few, many, works := enqueue(1), work(1), enqueue(100), work(100)
	build := func(make func() call) func() {
		return func() {
			c := make()
			c.release()
		}
	}
	one := redis.NewCmd(context.Background())
	one.SetVal("1800000000000000\n0000000000001\n" + string(body))
	taken := redis.NewCmd(context.Background())
	bodies := make([]any, 100)
	for i := range bodies {
		bodies[i] = string(body)
	}
	taken.SetVal([]any{int64(1_800_000_000_000_000), []any{}, int64(1_800_000_000_000_000), int64(100), strings.Repeat("0000000000001", 100), bodies, "", []any{}, []any{}})
	for _, c := range []struct {
		path string
		jobs int
		act  func()
		want float64 // a job
	}{
		{"enqueue one job", 1, build(func() call { return s.enqueueOneCall(short) }), 2},
		{"settle one job and take one", 1, build(func() call { return s.workFewCall(few) }), 4},
		{"the answer with one job", 1, func() { s.workFewAnswer(few, one) }, 1},
		{"enqueue 100 jobs", 100, build(func() call { return s.enqueueCall(many) }), 0.05},
		{"settle 100 jobs and take 100", 100, build(func() call { return s.workCall(works) }), 0.1},
		{"the answer with 100 jobs", 100, func() {
			if got, _ := s.workAnswer(works, taken); len(got.Taken) != 100 {
				t.Fatal(got)
			}
		}, 0.02},
	} {
		c.act() // makes what is reused
		if n := testing.AllocsPerRun(200, c.act) / float64(c.jobs); n > c.want {
			t.Errorf("%s: %.2f allocations a job, want %v at most", c.path, n, c.want)
		}
	}
}
