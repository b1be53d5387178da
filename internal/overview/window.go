package overview

import (
	"math"
	"time"
)

// A Window is how far back the charts of the screen reach. The zero value is an hour.
type Window int

// The windows, in the order in which their key goes through them.
const (
	Hour Window = iota
	Day
	Season
	Quarter // of an hour: what the screen's own polls have seen
	windows
)

// forms are what the windows look like. Their cells are those of a chart; what a chart is drawn of comes in samples of a step.
var forms = [windows]struct {
	name, title, says string
	cells             int
	cell, step        time.Duration
}{
	Hour:    {"1h", "1 H", "each minute of the last hour", 60, time.Minute, time.Minute},
	Day:     {"25h", "25 H", "each hour of the last 25", 25, time.Hour, time.Hour},
	Season:  {"92d", "92 D", "each day of the last 92", 92, 24 * time.Hour, time.Hour},
	Quarter: {"15m", "15 MIN", "each quarter of a minute of the last 15 minutes", 60, 15 * time.Second, time.Minute},
}

// String is what the window is called beside the clock.
func (w Window) String() string { return forms[w].name }

// Next is the one that comes after it, in the order in which a key goes through them.
func (w Window) Next() Window { return (w + 1) % windows }

// Title is what a column of charts is called.
func (w Window) Title() string { return forms[w].title }

// Says is what each value of a chart is of: "each minute of the last hour".
func (w Window) Says() string { return forms[w].says }

// back is how far the window reaches back.
func (w Window) back() time.Duration { return time.Duration(forms[w].cells) * forms[w].cell }

// A chart is a value for each cell of a window, the oldest first, in the order of time. Of what is NaN nothing is known.
type chart struct {
	values []float64
	begins time.Time
	cell   time.Duration
}

// chart returns a chart of which nothing is known yet. It ends with the last minute, hour or quarter of a minute that is over.
func (w Window) chart(now time.Time) *chart {
	form := forms[w]
	c := &chart{values: make([]float64, form.cells), cell: form.cell}
	c.begins = now.Truncate(min(form.cell, form.step)).Add(-w.back())
	for i := range c.values {
		c.values[i] = math.NaN()
	}
	return c
}

// cells are those that an interval overlaps, from the first to behind the last.
func (c *chart) cells(from, to time.Time) (first, behind int) {
	if !to.After(c.begins) || !to.After(from) {
		return 0, 0
	}
	first = int(max(from.Sub(c.begins), 0) / c.cell)
	behind = int((to.Sub(c.begins) + c.cell - 1) / c.cell)
	return min(first, len(c.values)), min(behind, len(c.values))
}

// add adds what came in an interval, as if it had come evenly.
func (c *chart) add(from, to time.Time, value float64) {
	first, behind := c.cells(from, to)
	for i := first; i < behind; i++ {
		begins := c.begins.Add(time.Duration(i) * c.cell)
		ends := begins.Add(c.cell)
		if from.After(begins) {
			begins = from
		}
		if to.Before(ends) {
			ends = to
		}
		c.values[i] = Plus(c.values[i], value*float64(ends.Sub(begins))/float64(to.Sub(from)))
	}
}

// Plus adds two values, of each of which nothing may be known.
func Plus(a, b float64) float64 {
	switch {
	case math.IsNaN(a):
		return b
	case math.IsNaN(b):
		return a
	}
	return a + b
}

// sum adds the values of a chart of the same window to those of another one. Without any of it, it is empty.
func sum(a, b []float64) []float64 {
	if a == nil {
		a = make([]float64, len(b))
		copy(a, b)
		return a
	}
	for i := range min(len(a), len(b)) {
		a[i] = Plus(a[i], b[i])
	}
	return a
}
