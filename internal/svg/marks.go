package svg

import (
	"slices"
	"strings"
	"time"
)

// A Mark is an instant with a name, such as the first start of a version: a vertical line across a chart.
type Mark struct {
	At   time.Time
	Name string
}

const (
	marksMost  = 20 // of a chart; earlier ones are left out
	markApart  = 60 // minimum distance of two names, in pixels
	markedMost = 12 // maximum number of shown letters of a name
)

// marked returns the marks within a range, oldest first.
func marked(marks []Mark, from, to time.Time) []Mark {
	var within []Mark
	for _, m := range marks {
		if !m.At.Before(from) && !m.At.After(to) {
			within = append(within, m)
		}
	}
	slices.SortStableFunc(within, func(a, b Mark) int { return a.At.Compare(b.At) })
	return within[max(0, len(within)-marksMost):]
}

// drawMarks writes the lines of marks, with the names for which there is room.
func drawMarks(w *writer, a *axes, marks []Mark) {
	var lines pen
	last := a.left - markApart
	for _, m := range marks {
		x := a.x(m.At)
		lines.do("M", x, a.top)
		lines.do("V", a.bottom)
		if x-last >= markApart && x+markApart <= a.right {
			w.text("note", "start", x+3, a.top+8, cut(m.Name, markedMost))
			last = x
		}
	}
	w.path("now", lines.String())
}

// sayMarks describes marks for screen readers, after the sentence of a chart.
func sayMarks(marks []Mark, zone *time.Location) string {
	var parts []string
	for _, m := range marks {
		parts = append(parts, m.Name+" from "+instant(m.At.In(located(zone))))
	}
	if len(parts) == 0 {
		return ""
	}
	return " Marked: " + strings.Join(parts, ", ") + "."
}

// before draws the series of an earlier period faintly, without areas.
func before(w *writer, a *axes, all []drawnSeries) {
	for i := range all {
		w.start("g", "class", "quiet "+all[i].tone.class())
		all[i].drawLine(w, a)
		w.end()
	}
}

// Shifted returns series of an earlier period, moved by a time so that they lie over a later one.
func Shifted(series []Series, by time.Duration) []Series {
	moved := slices.Clone(series)
	for i := range moved {
		moved[i].Points = slices.Clone(moved[i].Points)
		for j := range moved[i].Points {
			moved[i].Points[j].At = moved[i].Points[j].At.Add(by)
		}
	}
	return moved
}
