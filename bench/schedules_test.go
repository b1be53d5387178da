package main

import (
	"slices"
	"testing"
)

// A small run of the measures of schedules: declare, run in both ways, list.
func TestSchedulesAreDeclaredRunAndListed(t *testing.T) {
	r := newTestbed(t, false)
	few, err := declareMany(t.Context(), r, "few", 120)
	if err != nil {
		t.Fatal(err)
	}
	defer few.close()
	if few.definition < 200 || few.definition > 300 {
		t.Errorf("a definition has %v bytes, want about 250", few.definition)
	}
	for _, take := range []int{1, takenInCall} {
		if cost, err := few.runSome(t.Context(), r, take); err != nil || cost <= 0 {
			t.Errorf("%d in a call: %v µs, %v", take, cost, err)
		}
	}
	if n := few.client.ZCard(t.Context(), few.key("owed")).Val(); n != 0 {
		t.Errorf("%d schedules are owed after all ran, want none", n)
	}
	if _, err := few.list(t.Context()); err != nil {
		t.Error(err)
	}
}

// Every largest call does what its name promises on a real server, and so do the measures of options and histories.
func TestEveryLargestCallIsTimed(t *testing.T) {
	few := tiny
	few.backlog = 1_000
	r := testbedOf(t, few)
	for _, m := range slices.Concat(limitMeasures(), []measure{optionsMeasure, historyMeasure}) {
		if err := r.redis.empty(t.Context()); err != nil {
			t.Fatal(err)
		}
		figures, err := m.run(t.Context(), r, chimePeer)
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
		} else if m.group == "limits" && (figures[1].value <= 0 || figures[0].value > figures[1].value) {
			t.Errorf("%s: %+v, want a median and a maximum", m.name, figures)
		}
	}
}
