package batchmodel

import (
	"slices"
	"strings"
	"testing"

	"github.com/chimejobs/chime/internal/long"
)

// length is how many operations a walk makes.
const length = 240

// frequent are promises that one of the first walks breaks.
var frequent = []Promise{VersionsGrow, PositionOnce, NotedFirst, RequeueCounts, TakesEnd, ReportsAgain}

// A walk over a model that breaks one of the frequent promises finds that, and the failing sequence becomes short. It is not known which of the others a
// walk finds: most of them are broken only in rare orders of the calls.
func TestAWalkFindsEachFrequentPromiseThatIsBroken(t *testing.T) {
	const seeds = 80
	for _, p := range frequent {
		found := false
		for seed := uint64(0); seed < seeds && !found; seed++ {
			fails := func(ops []Operation) bool { return NewWalk(Broken(p), Mode(seed%3)).Run(ops) != nil }
			ops := Operations(seed, length)
			if found = fails(ops); !found {
				continue
			}
			ops = Shrink(ops, fails)
			if len(ops) > 80 {
				t.Errorf("%s: the failing sequence has %d operations, want at most 80", p, len(ops))
			}
			report, _, _ := strings.Cut(NewWalk(Broken(p), Mode(seed%3)).Run(ops).Error(), ", after\n")
			t.Logf("| %s | seed %d | %d operations | %.150s |", p, seed, len(ops), report)
		}
		if !found {
			t.Errorf("no walk finds that this is broken: %s", p)
		}
	}
}

func TestEachPromiseIsListedOnce(t *testing.T) {
	if n := len(slices.Compact(slices.Sorted(slices.Values(Promises)))); n != len(Promises) {
		t.Errorf("%d promises are listed, %d different ones", len(Promises), n)
	}
}

// A model that keeps all promises ends each batch once, neither early nor never.
func TestAWalkOverASoundModelFindsNothing(t *testing.T) {
	calls, ends := 0, 0
	for _, seed := range long.Draw(20, 500) {
		w := NewWalk(New(), Mode(seed%3))
		if err := w.Run(Operations(seed, length)); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		calls, ends = calls+w.Calls, ends+w.Ends
	}
	if t.Logf("%d calls, %d batches have ended", calls, ends); ends == 0 {
		t.Error("no batch has ended")
	}
}

// Whatever the order of the calls of two processes, a batch ends once. A model that breaks one of some promises does not do that in some order.
func TestABatchEndsOnceInEachOrderOfTheCalls(t *testing.T) {
	shown := []Promise{VersionsGrow, OutboxCounts}
	early, every := map[Promise]int{}, long.Seeds(61, 7)
	if every < 61 {
		shown = append(shown, RequeueCounts, TargetsNamed, EndedRefuses, ClosedRefuses)
	}
	for _, scene := range Scenes {
		for i, order := range scene.Orders() {
			if i%every > 0 {
				continue
			}
			if err := scene.Play(New(), order); err != nil {
				t.Fatalf("%s, order %v: %v", scene.Name, order, err)
			}
			for _, p := range shown {
				if scene.Play(Broken(p), order) != nil {
					early[p]++
				}
			}
		}
	}
	for _, p := range shown {
		if early[p] == 0 {
			t.Errorf("no order shows that this is broken: %s", p)
		}
	}
}

// What is left of a failing sequence fails, and no operation of it can be left out.
func TestShrinkLeavesOnlyWhatFails(t *testing.T) {
	ops := Operations(1, 50)
	fails := func(some []Operation) bool { return slices.Contains(some, ops[7]) && slices.Contains(some, ops[31]) }
	if less := Shrink(ops, fails); !slices.Equal(less, []Operation{ops[7], ops[31]}) {
		t.Errorf("left %v, want %v and %v", less, ops[7], ops[31])
	}
}
