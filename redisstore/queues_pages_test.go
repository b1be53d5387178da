//go:build real

package redisstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestTheRegistryOfQueuesIsReadInPages(t *testing.T) {
	b := onRedis(t) // miniredis scans a hash in one page
	const queues = 20_000
	b.register(queues)
	page, next, err := b.store.Queues(b.Context(), "")
	if err != nil || next == "" || len(page) > queues/5 {
		t.Errorf("the first page has %d queues, next %q, %v; want a part of %d", len(page), next, err, queues)
	}
	if n := len(b.queues()); n != queues+1 {
		t.Errorf("all pages have %d queues, want %d", n, queues+1)
	}
	if _, _, err := b.store.Queues(b.Context(), "what"); err == nil {
		t.Error("a cursor that Queues did not return is accepted")
	}
}

// register registers n queues in addition to the used one, as producers may.
func (b *bench) register(n int) {
	b.Helper()
	names := make([]any, 0, 2*n)
	for i := range n {
		names = append(names, fmt.Sprint("q", i), 1)
	}
	for some := range slices.Chunk(names, 10_000) {
		if err := b.client.HSet(b.Context(), b.store.keys.queues(), some...).Err(); err != nil {
			b.Fatal(err)
		}
	}
}

// Statistics of many queues are read in pipelines of bounded size.
func TestCountingManyQueuesTakesBoundedPipelines(t *testing.T) {
	b := onRedis(t)
	const queues, most = 3000, 5000
	b.register(queues)
	longest := 0
	b.client.AddHook(pipelines{func(cmds []redis.Cmder) { longest = max(longest, len(cmds)) }})
	names := slices.Sorted(maps.Keys(b.queues()))
	stats, err := b.store.QueueStats(b.Context(), names)
	if err != nil || len(stats) != queues+1 {
		t.Fatalf("%d queues, %v; want %d", len(stats), err, queues+1)
	}
	for _, s := range stats {
		if s.Partitions != 1 || s.Now.IsZero() {
			t.Fatalf("%+v, want one partition and the time", s)
		}
	}
	if longest > most {
		t.Errorf("a pipeline has %d commands, want at most %d", longest, most)
	}
}

// pipelines is a hook that records the commands of each pipeline.
type pipelines struct{ see func([]redis.Cmder) }

func (p pipelines) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (p pipelines) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (p pipelines) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		p.see(cmds)
		return next(ctx, cmds)
	}
}
