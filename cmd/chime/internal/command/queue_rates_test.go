package command

import "testing"

func TestARateIsANumberOfFewDigits(t *testing.T) {
	for n, want := range map[float64]string{0: "0", 0.44: "0.4", 9.9: "9.9", 12.6: "13", 71880: "71,880"} {
		if got := rate(n); got != want {
			t.Errorf("%v: got %q, want %q", n, got, want)
		}
	}
}
