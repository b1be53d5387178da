package chime

import (
	"math"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A Histogram counts durations in 16 buckets: of at most 1, 2.5, 5, 10, 25, 50, 100, 250 and 500 ms, 1, 2.5, 5, 15, 60 and 300 s, and above. A
// duration is in the first bucket that it fits.
type Histogram [16]int64

// Bound is the longest duration that the i-th bucket counts, i from 0 to 15. That of the last is the one before it, 300 s, for what it counts is
// longer.
func (h Histogram) Bound(i int) time.Duration { return protocol.Durations{}.Bound(i) }

// Count is how many durations it counts.
func (h Histogram) Count() (n int64) {
	for _, in := range h {
		n += in
	}
	return n
}

// Add returns what both count: of some samples together, or of some queues.
func (h Histogram) Add(other Histogram) Histogram {
	for i, n := range other {
		h[i] += n
	}
	return h
}

// Quantile returns about the duration that a part p of all does not exceed: 0.5 for the median, 0.99 for all but one in a hundred. It is exact
// to a bucket: within one, durations are taken to lie evenly. What is longer than 300 s counts as 300 s. Without any duration it is 0, and p is
// taken to be at least 0 and at most 1.
func (h Histogram) Quantile(p float64) time.Duration {
	all := h.Count()
	if all <= 0 || math.IsNaN(p) {
		return 0
	}
	rank := max(math.Ceil(min(max(p, 0), 1)*float64(all)), 1) // of the one that is looked for, from 1 on
	low := time.Duration(0)
	for i, n := range h {
		if high := h.Bound(i); n > 0 && rank <= float64(n) {
			return low + time.Duration(float64(high-low)*rank/float64(n))
		}
		rank -= float64(n)
		low = h.Bound(i)
	}
	return low
}
