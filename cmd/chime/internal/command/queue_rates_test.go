package command

import (
	"testing"

	"github.com/chimejobs/chime"
)

func TestRatesAreAveragesOfTheMinutesThatSamplesCover(t *testing.T) {
	if got := ratesOf(nil); got != nil {
		t.Errorf("without samples: got %+v, want none", got)
	}
	got := ratesOf([]chime.Sample{
		{Covers: 1, Enqueued: 10, Done: 4, Died: 1, Cancelled: 1, Failed: 3},
		{Covers: 3, Enqueued: 30, Done: 2, Failed: 1},
	})
	if want := (queueRates{In: 10, Out: 2, Failed: 1}); got == nil || *got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for n, want := range map[float64]string{0: "0", 0.44: "0.4", 9.9: "9.9", 12.6: "13", 71880: "71,880"} {
		if got := rate(n); got != want {
			t.Errorf("%v: got %q, want %q", n, got, want)
		}
	}
}
