package main

import "testing"

func TestWhatWasNotWaitedForIsABound(t *testing.T) {
	gaveUp := sample{Measure: "crash", Figure: "s", Peer: "p", Value: 180, Over: true}
	ran := func(seconds float64) sample {
		return sample{Measure: "crash", Figure: "s", Peer: "p", Value: seconds}
	}
	for _, c := range []struct {
		samples             samples
		least, median, most string
	}{
		{samples{ran(10), ran(12), ran(14)}, "", "", ""},
		{samples{ran(10), ran(12), gaveUp}, "", "", "> "},
		{samples{ran(10), gaveUp, gaveUp}, "", "> ", "> "},
		{samples{gaveUp, gaveUp}, "> ", "> ", "> "},
	} {
		s, _ := c.samples.spreadOf("crash", "s", "p")
		least, median, most := s.bound(s.rounds), s.bound((s.rounds+1)/2), s.bound(1)
		if least != c.least || median != c.median || most != c.most {
			t.Errorf("%d of %d rounds measured: bounds %q %q %q, want %q %q %q",
				s.measured, s.rounds, least, median, most, c.least, c.median, c.most)
		}
	}
}
