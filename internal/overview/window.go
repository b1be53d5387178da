package overview

import (
	"math"
	"time"
)

// A Window is the period of the charts of the screen. The zero value is an hour.
type Window int

// The windows, in the order in which their key cycles through them.
const (
	Hour Window = iota
	Day
	Season
	Quarter // a quarter of an hour, from the screen's own polls
	windows
)

// forms are the properties of the windows. Cells are the cells of a chart, and step is the step of its samples.
var forms = [windows]struct {
	name, title, says string
	cells             int
	cell, step        time.Duration
}{
	Hour:    {"1h", "1H", "each minute of the last hour", 60, time.Minute, time.Minute},
	Day:     {"25h", "25H", "each hour of the last 25", 25, time.Hour, time.Hour},
	Season:  {"92d", "92D", "each day of the last 92", 92, 24 * time.Hour, time.Hour},
	Quarter: {"15m", "15M", "each quarter of a minute of the last 15 minutes", 60, 15 * time.Second, time.Minute},
}

// String returns the name of the window next to the clock.
func (w Window) String() string { return forms[w].name }

// Next returns the window after it, in the order in which a key cycles through them.
func (w Window) Next() Window { return (w + 1) % windows }

// Title returns the title of a column of charts.
func (w Window) Title() string { return forms[w].title }

// Says returns the period of each value of a chart: "each minute of the last hour".
func (w Window) Says() string { return forms[w].says }

// back returns the length of the window.
func (w Window) back() time.Duration { return time.Duration(forms[w].cells) * forms[w].cell }

// A chart has a value for each cell of a window, oldest first. NaN means not known.
type chart struct {
	values []float64
	begins time.Time
	cell   time.Duration
}

// chart returns a chart without known values. It ends with the last complete minute, hour or quarter of a minute.
func (w Window) chart(now time.Time) *chart {
	form := forms[w]
	c := &chart{values: make([]float64, form.cells), cell: form.cell}
	c.begins = now.Truncate(min(form.cell, form.step)).Add(-w.back())
	for i := range c.values {
		c.values[i] = math.NaN()
	}
	return c
}

// cells returns the cells that an interval overlaps: the first, and the one after the last.
func (c *chart) cells(from, to time.Time) (first, behind int) {
	if !to.After(c.begins) || !to.After(from) {
		return 0, 0
	}
	first = int(max(from.Sub(c.begins), 0) / c.cell)
	behind = int((to.Sub(c.begins) + c.cell - 1) / c.cell)
	return min(first, len(c.values)), min(behind, len(c.values))
}

// add spreads the value of an interval evenly over its cells.
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

// Plus adds two values. A value may be NaN.
func Plus(a, b float64) float64 {
	switch {
	case math.IsNaN(a):
		return b
	case math.IsNaN(b):
		return a
	}
	return a + b
}

// sum adds the values of a chart to another chart of the same window. The other chart may be empty.
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
