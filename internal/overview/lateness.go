package overview

import (
	"math"
	"time"

	"github.com/chimejobs/chime"
)

// lateness is the lateness of occurrences within a window, from the samples of all queues.
type lateness struct {
	all   chime.Histogram
	cells []chime.Histogram
	chart *chart
}

func newLateness(w Window, now time.Time) *lateness {
	c := w.chart(now)
	return &lateness{cells: make([]chime.Histogram, len(c.values)), chart: c}
}

// add adds samples of a step. A sample longer than a cell counts in each cell that it overlaps.
func (l *lateness) add(samples []chime.Sample, step time.Duration) {
	for i := range samples {
		first, behind := l.chart.cells(samples[i].At, samples[i].At.Add(step))
		if first < behind {
			l.all = l.all.Add(samples[i].Lateness)
		}
		for ; first < behind; first++ {
			l.cells[first] = l.cells[first].Add(samples[i].Lateness)
		}
	}
}

// Quantile returns the p-quantile of durations. It is 0 in the first bucket: then it is known only that it is at most a millisecond, and format.Span
// writes 0 as "<1ms".
func Quantile(h chime.Histogram, p float64) time.Duration {
	if q := h.Quantile(p); q > h.Bound(0) {
		return q
	}
	return 0
}

// fill fills in the known values.
func (l *lateness) fill(f *Flow) {
	if f.Timed = l.all.Count() > 0; !f.Timed {
		return
	}
	f.P50, f.P99 = Quantile(l.all, 0.5), Quantile(l.all, 0.99)
	for _, cell := range l.cells {
		late := math.NaN()
		if cell.Count() > 0 {
			late = Quantile(cell, 0.99).Seconds()
		}
		f.Late = append(f.Late, late)
	}
}
