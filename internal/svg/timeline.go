package svg

import (
	"html/template"
	"time"
)

// A Timeline shows when occurrences of schedules ran: one row for each schedule, time from left to right, an axis with gridlines below.
// Above a row's line are the planned instants, below it a bar for each run.
type Timeline struct {
	Title string // the drawn title and the table's caption
	Label string // the sentence; empty: Title

	From, To time.Time // ends of the axis
	Zone     *time.Location
	Spans    []Span
	Rows     []Row
}

// A Row has the occurrences of one schedule.
type Row struct {
	Name, Remark string
	Occurrences  []Occurrence // in the order of their planned instants
}

// A Span is a marked time in all rows.
type Span struct {
	From, To time.Time
	Label    string
}

// An Occurrence is one planned instant of a schedule. Started and Ended are zero if it did not run.
type Occurrence struct {
	Planned, Started, Ended time.Time
	Outcome                 Outcome
}

// ran reports whether the occurrence has a bar.
func (o Occurrence) ran() bool { return !o.Started.IsZero() }

// An Outcome is the outcome of an occurrence.
type Outcome uint8

// The outcomes differ in colour and in shape.
const (
	RanInTime Outcome = iota // it ran at its planned instant
	RanLate                  // it ran later
	CutShort                 // it began, and its ctx was cancelled for the next one
	Dropped                  // it did not run, because another one was running
	NotRun                   // it did not run, because its instant was missed
)

var outcomes = [...]struct{ word, class string }{
	RanInTime: {"ran in time", "ok"}, RanLate: {"ran late", "late"}, CutShort: {"ended by the next one", "fail"},
	Dropped: {"dropped: another one ran", "paused"}, NotRun: {"missed: counted, does not run", "off"},
}

// known returns the outcome, or NotRun if it is not one of the constants.
func (o Outcome) known() Outcome { return min(o, NotRun) }

// mark draws the mark of an outcome around a point: a dot, a cross for a dropped occurrence, a ring for a missed one.
func (o Outcome) mark(l *layers, x, y float64) {
	switch class := outcomes[o].class; o {
	case Dropped:
		p := l.pen("cross-out " + class)
		p.do("M", x-4, y-4)
		p.do("L", x+4, y+4)
		p.do("M", x+4, y-4)
		p.do("L", x-4, y+4)
	case NotRun:
		l.pen("hollow "+class).dot(x, y, 4)
	default:
		l.pen("bar "+class).dot(x, y, 4)
	}
}

// Sizes of a timeline, in pixels.
const (
	timelineWidth = 960
	timelineLeft  = 134 // the left end of the axis
	timelineRight = 22
	timelineTop   = 66 // the top of the rows
	planLine      = 14 // from a row's top to its planned instants
	laneTop       = 30 // from a row's top to its first bar
	laneHeight    = 13 // distance of bars
	laneBar       = 10
	rowGap        = 14
	timelineFoot  = 68 // space for the axis and the legend
)

// SVG draws the timeline.
func (t Timeline) SVG() template.HTML {
	foot := float64(timelineTop)
	for _, row := range t.Rows {
		foot += row.height()
	}
	a := newAxes(t.From, t.To, t.Zone, Count, 0)
	a.left, a.top, a.right, a.bottom = timelineLeft, timelineTop-8, timelineWidth-timelineRight, foot-4
	height := foot + timelineFoot
	var w writer
	w.sheet("timeline", t.Title, t.Label, timelineWidth, height)
	t.drawSpans(&w, &a)
	var grid pen
	for _, at := range a.rounds(int((a.right - a.left) / labelRoom)) {
		grid.do("M", a.x(at), a.top)
		grid.do("V", a.bottom)
	}
	w.path("grid", grid.String())
	a.drawTimes(&w)
	y := float64(timelineTop)
	for _, row := range t.Rows {
		row.draw(&w, &a, y)
		y += row.height()
	}
	drawOutcomes(&w, height-24)
	return w.html()
}

func (t Timeline) drawSpans(w *writer, a *axes) {
	for _, s := range t.Spans {
		from, to := a.x(s.From), a.x(s.To)
		var area pen
		area.rect(from, a.top, max(0, to-from), a.bottom-a.top)
		w.path("span", area.String())
		w.text("axis", "middle", (from+to)/2, a.top-6, s.Label)
	}
}

// lanes returns the lane of each occurrence in its row, so that no two bars overlap. It also returns the number of lanes, at least one.
func (r Row) lanes() (of []int, n int) {
	of, n = make([]int, len(r.Occurrences)), 1
	var free []time.Time // lane -> the end of its last bar
	for i, o := range r.Occurrences {
		if !o.ran() {
			continue
		}
		lane := 0
		for lane < len(free) && o.Started.Before(free[lane]) {
			lane++
		}
		if lane == len(free) {
			free = append(free, o.Ended)
		}
		free[lane], of[i] = o.Ended, lane
		n = max(n, lane+1)
	}
	return of, n
}

func (r Row) height() float64 {
	_, n := r.lanes()
	return float64(laneTop + n*laneHeight + rowGap)
}

// draw draws one schedule: its name, its planned instants on a line, and below them a bar for each run.
func (r Row) draw(w *writer, a *axes, y float64) {
	w.text("title", "start", 18, y+planLine+4, r.Name)
	w.text("axis", "start", 18, y+planLine+20, r.Remark)
	var line pen
	line.do("M", a.left-6, y+planLine)
	line.do("H", a.right+6)
	w.path("base", line.String())
	of, _ := r.lanes()
	var links, shapes layers
	for i, o := range r.Occurrences {
		outcome, planned := o.Outcome.known(), a.x(o.Planned)
		outcome.mark(&shapes, planned, y+planLine)
		if !o.ran() {
			continue
		}
		class := outcomes[outcome].class
		from, to, top := a.x(o.Started), a.x(o.Ended), y+laneTop+float64(of[i]*laneHeight)
		shapes.pen("bar "+class).rect(from, top, max(to-from-1, 1), laneBar)
		if from-planned > 1 { // a link from its planned instant
			link := links.pen("frame quiet " + class)
			link.do("M", planned, y+planLine)
			link.do("L", from+1, top)
		}
	}
	links.draw(w)
	shapes.draw(w)
}

// drawOutcomes explains the marks in one line.
func drawOutcomes(w *writer, y float64) {
	x := 18.0
	for i, outcome := range outcomes {
		var sign layers
		o := Outcome(i)
		o.mark(&sign, x+5, y-4)
		textAt := x + 14
		if o <= CutShort {
			sign.pen("bar "+outcome.class).rect(x+14, y-9, 18, laneBar)
			textAt += 24
		}
		sign.draw(w)
		w.text("axis", "start", textAt, y, outcome.word)
		x = textAt + 6.4*float64(len(outcome.word)) + 20
	}
}

// Table has a row for each occurrence.
func (t Timeline) Table() Table {
	table := Table{Caption: t.Title, Header: []string{"Schedule", "Planned", "Started", "Ended", "Outcome"}}
	zone := located(t.Zone)
	for _, row := range t.Rows {
		for _, o := range row.Occurrences {
			started, ended := "", ""
			if o.ran() {
				started, ended = instant(o.Started.In(zone)), instant(o.Ended.In(zone))
			}
			table.Rows = append(table.Rows, []string{row.Name, instant(o.Planned.In(zone)), started, ended, outcomes[o.Outcome.known()].word})
		}
	}
	return table
}
