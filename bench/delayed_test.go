package main

import "testing"

func TestAnEarlyStartIsAsFarFromItsInstantAsALateOne(t *testing.T) {
	d := newDelayed(4)
	d.bare = []float64{1, 2, 3}
	for i, late := range []int64{1e6, -3e6, 2e6, 5e6} {
		d.due[i].Store(1e9)
		d.started[i].Store(1e9 + late)
	}
	want := map[string]float64{"p50": 2, "p99": 5, "max": 5, "early": 1, "p99 of a bare timer": 3}
	for _, f := range d.figures() {
		if f.value != want[f.name] {
			t.Errorf("%s is %v, want %v", f.name, f.value, want[f.name])
		}
	}
}
