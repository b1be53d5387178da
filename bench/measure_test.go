package main

import (
	"testing"
	"time"
)

// Figures of one round do not show how much they vary.
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

// A million schedules have more rounds if that leaves time for five rounds of all other measures.
func TestWhatNeedNotHaveAllRoundsLeavesTimeForThoseThatDo(t *testing.T) {
	long, must := measure{name: "long", maxRounds: 3}, measure{name: "must"}
	u := run{testbed: &testbed{sizes: sizes{rounds: 5}}, measures: []measure{must, long}}
	took := map[string]time.Duration{"must": 10 * time.Minute, "long": 2 * time.Minute}
	elapsed := 12 * time.Minute // of round 1; four more of the other take 40 min
	for within, want := range map[time.Duration]bool{0: true, 53 * time.Minute: false, 54 * time.Minute: true} {
		u.within = within
		if got := u.fits(long, 2, took, elapsed); got != want {
			t.Errorf("within %v: %v, want %v", within, got, want)
		}
		if !u.fits(long, 1, took, 0) || !u.fits(must, 2, took, elapsed) {
			t.Errorf("within %v: the first round, or what must have all, is left out", within)
		}
	}
}
