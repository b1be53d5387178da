package svg

import (
	"cmp"
	"html/template"
	"math"
	"strings"
	"time"
)

// Spark is a tiny chart without axes, for a row of a list.
type Spark struct {
	Title string // the title; it begins the sentence and is the table's caption
	Label string // the sentence; empty: Title, last and greatest value

	Values []float64 // oldest first; NaN: missing
	Unit   Unit
	Tone   Tone
	Bars   bool // bars instead of a line, for counts such as failures

	From time.Time     // the instant of the first value, for the table
	Step time.Duration // distance of values
	Zone *time.Location

	Width, Height int // in pixels; zero means 80 and 20
}

// SVG draws the chart.
func (s Spark) SVG() template.HTML {
	width, height := float64(max(cmp.Or(s.Width, 80), 8)), float64(max(cmp.Or(s.Height, 20), 8))
	var w writer
	w.picture("spark", s.sentence(), width, height)
	w.start("g", "class", "series "+s.Tone.class())
	most := 0.0
	for _, v := range s.Values {
		if v, ok := drawn(v); ok {
			most = max(most, v)
		}
	}
	y := func(v float64) float64 { return height - 1 - (height-3)*v/cmp.Or(most, 1) }
	if s.Bars {
		s.bars(&w, width, height, y)
	} else {
		s.line(&w, width, height, y)
	}
	return w.html()
}

// bars draws a bar for each value that is not 0, on a line.
func (s Spark) bars(w *writer, width, height float64, y func(float64) float64) {
	var base, bars pen
	base.do("M", 0, height-0.5)
	base.do("H", width)
	pitch := width / float64(max(len(s.Values), 1))
	for i, v := range s.Values {
		if v, ok := drawn(v); ok && v > 0 {
			top := min(y(v), height-3)
			bars.rect(float64(i)*pitch, top, max(pitch*0.7, 1), height-1-top)
		}
	}
	w.path("base", base.String())
	w.path("bar", bars.String())
}

// line draws a line and the area below it. The line is interrupted where values are missing.
func (s Spark) line(w *writer, width, height float64, y func(float64) float64) {
	var line, area, dots pen
	pitch := (width - 3) / float64(max(len(s.Values)-1, 1))
	length, last := 0, 0.0 // of the current piece: the number of values, and the height of the last one
	finish := func(i int) {
		if length > 0 {
			area.do("V", height)
			area.do("H", 1.5+float64(i-length)*pitch)
			area.do("z")
		}
		if length == 1 {
			dots.dot(1.5+float64(i-1)*pitch, last, 1.5)
		}
		length = 0
	}
	for i, v := range s.Values {
		v, ok := drawn(v)
		if !ok {
			finish(i)
			continue
		}
		command := "L"
		if length == 0 {
			command = "M"
		}
		length, last = length+1, y(v)
		line.do(command, 1.5+float64(i)*pitch, last)
		area.do(command, 1.5+float64(i)*pitch, last)
	}
	finish(len(s.Values))
	w.path("fill", area.String())
	w.path("line", line.String())
	w.path("bar", dots.String())
}

// Table has a row for each value.
func (s Spark) Table() Table {
	t := Table{Caption: s.Title, Header: []string{"Time", "Value"}}
	for i, v := range s.Values {
		text := nothing
		if v, ok := drawn(v); ok {
			text = s.Unit.exact(v)
		}
		t.Rows = append(t.Rows, []string{instant(s.From.Add(time.Duration(i) * s.Step).In(located(s.Zone))), text})
	}
	return t
}

func (s Spark) sentence() string {
	if s.Label != "" {
		return s.Label
	}
	last, most := math.NaN(), 0.0
	for _, v := range s.Values {
		if v, ok := drawn(v); ok {
			last, most = v, max(most, v)
		}
	}
	text := "no samples."
	if !math.IsNaN(last) {
		text = "last " + s.Unit.format(last) + ", at most " + s.Unit.format(most) + "."
	}
	return strings.TrimPrefix(s.Title+": "+text, ": ")
}
