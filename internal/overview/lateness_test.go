package overview_test

import (
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/overview"
)

// In the first bucket a quantile is not known more exactly than that it is below a millisecond.
func TestAQuantileInTheFirstBucketIsBelowItsBound(t *testing.T) {
	for _, c := range []struct {
		durations chime.Histogram
		p         float64
		want      string
	}{
		{chime.Histogram{2}, 0.5, "<1ms"}, {chime.Histogram{2}, 1, "<1ms"}, {chime.Histogram{99, 1}, 0.99, "<1ms"}, {chime.Histogram{98, 2}, 0.99, "1ms"},
		{chime.Histogram{0, 1}, 0.01, "2ms"}, {chime.Histogram{}, 0.5, "<1ms"},
	} {
		if got := overview.Quantile(c.durations, c.p); format.Span(got) != c.want {
			t.Errorf("the %v-quantile of %v: got %v, want %s", c.p, c.durations, got, c.want)
		}
	}
	if got := overview.Quantile(chime.Histogram{0, 0, 4}, 1); got != 5*time.Millisecond {
		t.Errorf("got %v, want the bound of the third bucket", got)
	}
}
