package main

import "testing"

// Figures of one round do not say how much they vary.
func TestEveryMeasureHasFiveRoundsButOneThatSaysSo(t *testing.T) {
	for _, m := range measures {
		want := 5
		if m.name == "schedules 1000000" {
			want = millionRounds
		}
		if got := m.rounds(longForm); got != want {
			t.Errorf("%s: %d rounds, want %d", m.name, got, want)
		}
	}
	short := measure{slow: true}
	if got := short.rounds(shortForm); got != 1 {
		t.Errorf("what is slow has %d rounds in the short form, want 1", got)
	}
	if got := (measure{long: true}).rounds(shortForm); got != 0 {
		t.Errorf("what is long has %d rounds in the short form, want none", got)
	}
}
