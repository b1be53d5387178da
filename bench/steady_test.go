package main

import (
	"testing"
	"time"
)

func TestWhatALibraryThatCannotKeepUpWaitsIsABound(t *testing.T) {
	for _, c := range []struct {
		name string
		left int64
		over bool
	}{
		{"nothing is left", 0, false},
		{"a second's jobs wait for the next poll", 1, false},
		{"three seconds' jobs are left", 3, true},
	} {
		s := newSteady(4*time.Second, 1)
		for i, wait := range []int64{1e6, 2e6, 3e6, 4e6} {
			s.sent[i].Store(1)
			s.started[i].Store(1 + wait)
		}
		s.left = c.left
		want := map[string]float64{"p50": 2, "p99": 4, "max": 4, leftAtTheEnd: float64(c.left)}
		for _, f := range s.figures() {
			if f.value != want[f.name] || f.over != c.over {
				t.Errorf("%s: %s is %v, over %v, want %v, %v", c.name, f.name, f.value, f.over, want[f.name], c.over)
			}
		}
	}
}
