package groupmodel

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/chimejobs/chime/internal/long"
)

// length is how many operations a walk makes.
const length = 250

// A walk of a queue that breaks one promise finds that, for each promise, and the failing sequence becomes short.
func TestAWalkFindsEachPromiseThatIsBroken(t *testing.T) {
	for _, p := range Promises {
		fails := func(ops []Operation) bool { return Run(Broken(p), ops) != nil }
		found := false
		for seed := uint64(0); seed < 400 && !found; seed++ {
			ops := Operations(seed, length)
			if found = fails(ops); !found {
				continue
			}
			ops = Shrink(ops, fails)
			if len(ops) > 40 {
				t.Errorf("%s: the failing sequence has %d operations, want at most 40", p, len(ops))
			}
			report, _, _ := strings.Cut(Run(Broken(p), ops).Error(), ", after\n")
			t.Logf("| %s | seed %d | %d operations | %.150s |", p, seed, len(ops), report)
		}
		if !found {
			t.Errorf("no walk finds that this is broken: %s", p)
		}
	}
}

func TestEachPromiseIsListedOnce(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "promise.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && spec.Type != nil {
			declared++
		}
		return true
	})
	if listed := len(slices.Compact(slices.Sorted(slices.Values(Promises)))); listed != declared || len(Promises) != declared {
		t.Errorf("%d promises are declared, %d are listed, %d different ones", declared, len(Promises), listed)
	}
}

// Two models that break nothing agree, also where one of them decides what the other leaves open: how a turn is rounded, and whether a group
// without flights keeps its debt.
func TestModelsThatKeepAllPromisesAgree(t *testing.T) {
	deciders := map[string]func(span) span{
		"undecided":    nil,
		"rounded down": func(s span) span { return span{s.lo, s.lo} },
		"rounded up":   func(s span) span { return span{s.hi, s.hi} },
		"nearest":      func(s span) span { return span{(s.lo + s.hi) / 2, (s.lo + s.hi) / 2} },
	}
	for _, seed := range long.Draw(20, 1_000) {
		for name, decide := range deciders {
			m := New()
			m.decide = decide
			if err := Run(m, Operations(seed, length)); err != nil {
				t.Fatalf("seed %d, %s: %v", seed, name, err)
			}
		}
	}
}
