package main

import (
	"math"
	"testing"
	"time"
)

func TestADeviationIsOfTheQueueThatIsFurthestFromItsWeight(t *testing.T) {
	for _, c := range []struct {
		counts []int64
		want   float64
	}{
		{[]int64{100, 200, 300}, 0},
		{[]int64{50, 200, 350}, 50}, // a twelfth instead of a sixth
		{[]int64{200, 200, 200}, 100},
		{[]int64{0, 0, 600}, 100},
	} {
		if got := deviation(c.counts); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v: %v %%, want %v %%", c.counts, got, c.want)
		}
	}
}

// The backlog of a queue depends on its weight, so that no queue is empty long before the others.
func TestAQueueHasABacklogByItsWeight(t *testing.T) {
	w := newWeighted(20, longForm)
	if w.total < 90_000 || w.total > 90_020 { // 1.5 × 3 s × 20,000/s
		t.Errorf("%d jobs in all, want 90,000, rounded up in each queue", w.total)
	}
	for i, name := range w.names {
		if w.weights[name] != i+1 {
			t.Errorf("%s has the weight %d, want %d", name, w.weights[name], i+1)
		}
		if want := 90_000 * (i + 1) / 210; w.backlog[i] < want || w.backlog[i] > want+1 {
			t.Errorf("%s has %d jobs, want %d", name, w.backlog[i], want)
		}
	}
}

// All libraries of the measure fulfil its conditions: each job arrives once, from its queue, and no job is lost.
func TestWeightedQueuesAreWorkedOff(t *testing.T) {
	r := testbedOf(t, tiny)
	for _, p := range []peer{chimePeer, asynqDefaults, gocraftDefaults} {
		lib := openEmpty(t, r, p)
		by := lib.(queuesLibrary)
		w := newWeighted(3, sizes{workOff: 100 * time.Millisecond})
		w.limit = 20 * time.Second
		if err := w.fill(t.Context(), by); err != nil {
			t.Fatal(err)
		}
		took, shares, err := w.run(t.Context(), by)
		if err != nil {
			t.Fatalf("%s: %v", p.name(), err)
		}
		if took <= 0 || sum(shares) <= 0 {
			t.Errorf("%s: %v in %v", p.name(), shares, took)
		}
	}
	if _, ok := library(new(riverLibrary)).(queuesLibrary); ok {
		t.Error("River has no weights, but takes part")
	}
}
