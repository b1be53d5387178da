package svg

import (
	"cmp"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Lines is a chart of one to three series over time. A line is interrupted where samples are missing, because missing is not zero.
type Lines struct {
	Title string // the title, such as "Jobs a second"; it begins the sentence and is the table's caption
	Label string // the sentence for screen readers; empty: Title, last and greatest values

	From, To time.Time      // the shown range, at most 366 days; points outside are left out
	Zone     *time.Location // the zone of the labels; nil: UTC
	Step     time.Duration  // distance of samples: points further apart are not connected; zero: all points are connected
	Unit     Unit

	Series []Series // at most three; others are left out
	Before []Series // the same lines of an earlier period, see Shifted: drawn faintly, and only there
	Marks  []Mark   // at most twenty

	Width, Height int // in pixels; zero means 480 and 160
}

// A Series is one line.
type Series struct {
	Name   string // a short name, shown at the end of the line
	Tone   Tone
	Points []Point
}

// A Point is a sample. Values below 0 are drawn as 0. A NaN is a missing value.
type Point struct {
	At    time.Time
	Value float64
}

const (
	seriesMost = 3
	leftRoom   = 52 // space for the values of the axis; more if they are long
	rightRoom  = 92 // space for a name and the last value
	topRoom    = 10
	bottomRoom = 24 // space for instants
	nameMost   = 8  // maximum number of shown letters of a name
	labelApart = 15 // minimum distance of two lines' last values, in pixels
	labelMost  = 11 // maximum number of letters of a name and a value; if there are more, the unit is left out, because the axis has it too
)

// SVG draws the chart. If there are more points than pixels, several points are drawn as one: as their greatest value, or as their mean if they
// are rates.
func (l Lines) SVG() template.HTML {
	d := l.digest(seriesMost)
	a := newAxes(l.From, l.To, l.Zone, l.Unit, d.most)
	width, height := float64(max(cmp.Or(l.Width, 480), 240)), float64(max(cmp.Or(l.Height, 160), 80))
	a.left, a.top, a.right, a.bottom = a.room(), topRoom, width-rightRoom, height-bottomRoom

	var w writer
	offsets := make([]float64, len(d.times))
	for i, at := range d.times {
		offsets[i] = math.Round(at.Sub(a.from).Seconds()*10) / 10
	}
	marks := marked(l.Marks, a.from, a.to)
	w.picture("lines", l.sentence(d, a)+sayMarks(marks, l.Zone), width, height, append(a.data(), "data-t", numbers(offsets))...)
	a.draw(&w)
	drawMarks(&w, &a, marks)
	before(&w, &a, d.before)
	for i, s := range d.series {
		w.start("g", "class", "series "+s.tone.class(), "data-name", s.name, "data-v", numbers(d.column(i)))
		s.draw(&w, &a)
		w.end()
	}
	if d.empty() {
		w.text("note", "middle", (a.left+a.right)/2, (a.top+a.bottom)/2+4, "no samples")
	}
	drawLast(&w, &a, d.series)
	w.leaf("path", "class", "cross", "d", "")
	return w.html()
}

// Table has a row for each instant with a sample.
func (l Lines) Table() Table {
	d := l.digest(2 * seriesMost) // also those of a day earlier
	t := Table{Caption: l.Title, Header: []string{"Time"}}
	for _, s := range d.series {
		t.Header = append(t.Header, s.name)
	}
	columns := make([][]float64, len(d.series))
	for i := range columns {
		columns[i] = d.column(i)
	}
	for row, at := range d.times {
		texts := []string{instant(at.In(located(l.Zone)))}
		for _, column := range columns {
			text := nothing
			if !math.IsNaN(column[row]) {
				text = l.Unit.exact(column[row])
			}
			texts = append(texts, text)
		}
		t.Rows = append(t.Rows, texts)
	}
	return t
}

// sentence describes the chart for screen readers.
func (l Lines) sentence(d digest, a axes) string {
	if l.Label != "" {
		return l.Label
	}
	var parts []string
	for _, s := range d.series {
		last := "no samples"
		if v, ok := s.last(); ok {
			last = "last " + l.Unit.format(v) + ", at most " + l.Unit.format(s.most)
		}
		parts = append(parts, strings.TrimSpace(s.name+" "+last))
	}
	text := "from " + instant(a.from.In(a.zone)) + " to " + instant(a.to.In(a.zone)) + "."
	if len(parts) > 0 {
		text = strings.Join(parts, "; ") + "; " + text
	}
	if l.Title != "" {
		text = l.Title + ": " + text
	}
	return text
}

// drawLast writes the name and the last value of each line at its end. Texts that would overlap are moved apart.
func drawLast(w *writer, a *axes, series []drawnSeries) {
	type label struct {
		text, class string
		y           float64
	}
	var labels []label
	for _, s := range series {
		text, y := nothing, a.bottom
		if v, ok := s.current(a.to); ok {
			text, y = a.unit.format(v), a.y(v)
		}
		name := cut(s.name, nameMost)
		if a.unit.rate() && utf8.RuneCountInString(name+text) >= labelMost {
			text = strings.TrimSuffix(text, a.unit.per())
		}
		labels = append(labels, label{strings.TrimSpace(name + " " + text), "last " + s.tone.class(), y})
	}
	slices.SortStableFunc(labels, func(p, q label) int { return cmp.Compare(p.y, q.y) })
	for i := range labels {
		if i > 0 {
			labels[i].y = max(labels[i].y, labels[i-1].y+labelApart)
		}
	}
	lowest := a.bottom
	for i := len(labels) - 1; i >= 0; i-- {
		labels[i].y = min(labels[i].y, lowest)
		lowest = labels[i].y - labelApart
	}
	for _, label := range labels {
		w.text(label.class, "start", a.right+8, label.y+4, label.text)
	}
}
