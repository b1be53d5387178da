package svg

import (
	"math"
	"slices"
	"time"
)

// A digest has the series in the form that Lines draws: sorted, cut to the range, in runs without a gap, and with no more points than pixels.
type digest struct {
	series []drawnSeries
	before []drawnSeries // of an earlier period
	times  []time.Time   // times for which at least one series has a value, ascending
	most   float64       // the greatest value
}

// A drawnSeries is a series in runs: pieces of line without a gap in them.
type drawnSeries struct {
	name  string
	tone  Tone
	runs  [][]Point
	final Point // the last sample
	most  float64
	step  time.Duration
}

const maxPoints = 180 // maximum number of points of a line: one for about two pixels

// digest returns what is drawn, of at most this number of series.
func (l Lines) digest(most int) digest {
	var d digest
	seen := map[time.Time]bool{}
	for _, s := range l.Before[:min(len(l.Before), seriesMost)] {
		drawn := l.drawn(s)
		d.most = max(d.most, drawn.most)
		d.before = append(d.before, drawn)
	}
	for _, s := range l.Series[:min(len(l.Series), most)] {
		drawn := l.drawn(s)
		for _, run := range drawn.runs {
			for _, p := range run {
				if !seen[p.At] {
					seen[p.At] = true
					d.times = append(d.times, p.At)
				}
				d.most = max(d.most, p.Value)
			}
		}
		d.most = max(d.most, drawn.final.Value)
		d.series = append(d.series, drawn)
	}
	slices.SortFunc(d.times, time.Time.Compare)
	return d
}

// drawn returns a series in the form in which it is drawn.
func (l Lines) drawn(s Series) drawnSeries {
	from, to := within(l.From, l.To)
	points := kept(s.Points, from, to)
	drawn := drawnSeries{name: s.Name, tone: s.Tone, step: l.Step, runs: split(points, l.Step)}
	for _, p := range points {
		if !math.IsNaN(p.Value) {
			drawn.final, drawn.most = p, max(drawn.most, p.Value)
		}
	}
	if len(points) > maxPoints {
		for i, run := range drawn.runs {
			drawn.runs[i] = fold(run, from, to.Sub(from)/maxPoints, l.Unit)
		}
	}
	return drawn
}

// kept returns the points of a range in order of time, with drawable values. Missing values are NaN.
func kept(points []Point, from, to time.Time) []Point {
	var all []Point
	for _, p := range points {
		if p.At.Before(from) || p.At.After(to) {
			continue
		}
		value, ok := drawn(p.Value)
		if !ok {
			value = math.NaN()
		}
		all = append(all, Point{p.At.Round(0).UTC(), value}) // comparable times
	}
	slices.SortStableFunc(all, func(p, q Point) int { return p.At.Compare(q.At) })
	return all
}

// split splits points at missing ones. With a step, it also splits between two points that are more than one and a half steps apart.
func split(points []Point, step time.Duration) [][]Point {
	var runs [][]Point
	gap := true
	for i, p := range points {
		if math.IsNaN(p.Value) {
			gap = true
			continue
		}
		if gap || step > 0 && p.At.Sub(points[i-1].At) > step+step/2 {
			runs = append(runs, nil)
		}
		gap = false
		runs[len(runs)-1] = append(runs[len(runs)-1], p)
	}
	return runs
}

// fold merges the points that fall into the same column of a picture.
func fold(run []Point, from time.Time, column time.Duration, unit Unit) []Point {
	var folded []Point
	for len(run) > 0 {
		n := 1
		for n < len(run) && run[n].At.Sub(from)/column == run[0].At.Sub(from)/column {
			n++
		}
		values := make([]float64, n)
		for i, p := range run[:n] {
			values[i] = p.Value
		}
		folded = append(folded, Point{run[0].At, unit.fold(values)})
		run = run[n:]
	}
	return folded
}

func (d *digest) empty() bool { return len(d.times) == 0 }

// column returns a series's value for each of the times, or NaN.
func (d *digest) column(series int) []float64 {
	values := map[time.Time]float64{}
	for _, run := range d.series[series].runs {
		for _, p := range run {
			values[p.At] = p.Value
		}
	}
	column := make([]float64, len(d.times))
	for i, at := range d.times {
		v, ok := values[at]
		if !ok {
			v = math.NaN()
		}
		column[i] = v
	}
	return column
}

// last returns the last value of any age.
func (s *drawnSeries) last() (value float64, ok bool) { return s.final.Value, len(s.runs) > 0 }

// current returns the last value, unless three or more samples have been missing since.
func (s *drawnSeries) current(now time.Time) (value float64, ok bool) {
	value, ok = s.last()
	return value, ok && (s.step <= 0 || now.Sub(s.final.At) <= 4*s.step)
}

// drawLine writes the line alone.
func (s *drawnSeries) drawLine(w *writer, a *axes) {
	var line pen
	for _, run := range s.runs {
		for i, p := range run {
			command := "L"
			if i == 0 {
				command = "M"
			}
			line.do(command, a.x(p.At), a.y(p.Value))
		}
	}
	w.path("line", line.String())
}

// draw writes the line and, faintly, the area below it. A point with gaps on both sides is a dot.
func (s *drawnSeries) draw(w *writer, a *axes) {
	var line, area, dots pen
	for _, run := range s.runs {
		for i, p := range run {
			command := "L"
			if i == 0 {
				command = "M"
			}
			line.do(command, a.x(p.At), a.y(p.Value))
			area.do(command, a.x(p.At), a.y(p.Value))
		}
		if len(run) == 1 {
			dots.dot(a.x(run[0].At), a.y(run[0].Value), 2)
		}
		area.do("V", a.bottom)
		area.do("H", a.x(run[0].At))
		area.do("z")
	}
	w.path("fill", area.String())
	w.path("line", line.String())
	w.path("bar", dots.String())
}
