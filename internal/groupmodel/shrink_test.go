package groupmodel

import (
	"slices"
	"testing"
)

// What is left of a failing sequence fails, and no operation of it can be left out.
func TestShrinkLeavesOnlyWhatFails(t *testing.T) {
	calls := 0
	fails := func(ops []Operation) bool {
		calls++
		at := slices.IndexFunc(ops, func(o Operation) bool { return o.Kind == pauseGroup })
		return at >= 0 && slices.ContainsFunc(ops[at:], func(o Operation) bool { return o.Kind == take && o.N > 1 })
	}
	var ops []Operation
	for seed := uint64(0); !fails(ops); seed += uint64(len(profiles)) { // a walk of all calls
		ops = Operations(seed, length)
	}
	calls = 0
	less := Shrink(ops, fails)
	if len(less) != 2 || less[0].Kind != pauseGroup || less[1].Kind != take || less[1].N != 2 {
		t.Errorf("left %v, want PauseGroup and Take n=2", less)
	}
	if calls > 2*length {
		t.Errorf("shrinking tried %d sequences, want at most %d", calls, 2*length)
	}
}

func TestOperationsDependOnTheirSeedAlone(t *testing.T) {
	for seed := range uint64(8) {
		if !slices.Equal(Operations(seed, length), Operations(seed, length)) {
			t.Errorf("seed %d gives two sequences", seed)
		}
	}
	seen := map[Kind]bool{}
	for seed := range uint64(40) {
		for _, o := range Operations(seed, length) {
			seen[o.Kind] = true
		}
	}
	for _, kind := range kinds {
		if !seen[kind] {
			t.Errorf("no sequence has %s", kind)
		}
	}
}
