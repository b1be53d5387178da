package queues_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime"
)

// histogramOf counts durations as the doc comment describes.
func histogramOf(all []time.Duration) (h chime.Histogram) {
	for _, d := range all {
		i := 0
		for i < len(h)-1 && d > h.Bound(i) {
			i++
		}
		h[i]++
	}
	return h
}

func TestTheBoundsOfAHistogramAreThoseOfItsComment(t *testing.T) {
	want := []time.Duration{
		time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
		250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 5 * time.Minute,
	}
	var h chime.Histogram
	for i := range h {
		if h.Bound(i) != want[i] {
			t.Errorf("bucket %d ends at %v, want %v", i, h.Bound(i), want[i])
		}
	}
}

// The quantile is in the bucket of the same quantile of the sorted durations.
func TestQuantilesAreThoseOfTheSortedDurationsToABucket(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		all := make([]time.Duration, 1+random.IntN(300))
		for i := range all {
			all[i] = time.Duration(math.Exp(random.Float64()*math.Log(float64(10*time.Minute)))) - 1
		}
		slices.Sort(all)
		h := histogramOf(all)
		if h.Count() != int64(len(all)) {
			t.Fatalf("counts %d of %d", h.Count(), len(all))
		}
		for _, p := range []float64{0, 0.01, 0.5, 0.9, 0.99, 1, random.Float64()} {
			exact := all[max(int(math.Ceil(p*float64(len(all)))), 1)-1]
			low, high := time.Duration(0), h.Bound(0)
			for i := 0; i < len(h)-1 && exact > high; i++ {
				low, high = h.Bound(i), h.Bound(i+1)
			}
			if got := h.Quantile(p); got < low || got > high {
				t.Fatalf("quantile %.3f of %d durations is %v, want %v to %v, because the exact one is %v", p, len(all), got, low, high, exact)
			}
		}
	}
}

func TestQuantilesAtTheEdges(t *testing.T) {
	var none chime.Histogram
	one := chime.Histogram{3: 1}
	long := chime.Histogram{15: 2}
	for _, c := range []struct {
		what string
		h    chime.Histogram
		p    float64
		want time.Duration
	}{
		{"of nothing", none, 0.5, 0},
		{"that is not a number", one, math.NaN(), 0},
		{"of one", one, 0, 10 * time.Millisecond},
		{"below 0", one, -1, 10 * time.Millisecond},
		{"above 1", one, 7, 10 * time.Millisecond},
		{"beyond the last bound", long, 0.5, 5 * time.Minute},
		{"of two added up", one.Add(long), 0.3, 10 * time.Millisecond},
		{"of half of a bucket", chime.Histogram{0: 10}, 0.5, 500 * time.Microsecond},
	} {
		if got := c.h.Quantile(c.p); got != c.want {
			t.Errorf("a quantile %s: %v, want %v", c.what, got, c.want)
		}
	}
}
