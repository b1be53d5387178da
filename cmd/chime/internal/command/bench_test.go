package command_test

import (
	"context"
	"testing"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/redistest"
)

func TestABenchLeavesNothingBehind(t *testing.T) {
	s, _, client := onServer(t, redistest.Options{})
	s.enqueue(t, chime.Item{Name: "report", Options: []chime.EnqueueOption{chime.ID("j1")}})
	before := client.Keys(t.Context(), "*").Val()
	wants{out: []string{"enqueue  12,000 jobs in ", "process  12,000 jobs in ", "start    1,000 jobs enqueued singly: p50 "}}.
		check(t, s.Run(t, "bench", "-n", "12000"), "bench")
	wants{out: []string{`"jobs": 10`, `"namespace": "chime-bench-`}}.check(t, s.Run(t, "bench", "-n", "10", "--json"), "bench --json")
	wants{code: 2, err: []string{"-n 0: want 1 to 10000000"}}.check(t, s.Run(t, "bench", "-n", "0"), "bench -n 0")
	wants{code: 4}.check(t, s.Run(t, "bench", "--read-only"), "bench --read-only")
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	wants{code: 130}.check(t, s.RunContext(t, ctx, "bench", "-n", "10"), "bench, interrupted")
	if after := client.Keys(t.Context(), "*").Val(); len(after) != len(before) {
		t.Errorf("keys are %q, want %q as before", after, before)
	}
}
