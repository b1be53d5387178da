package svg

import (
	"fmt"
	"html/template"
	"time"
)

// Weeks is a heat map like a calendar: a row for each week, beginning on Monday, with its days: 35 until today and 35 future days. A day that the
// zone skipped is marked.
//
// Days that were counted by another clock, such as a schedule's days in UTC, are under the right date only in that zone.
type Weeks HeatMap

const (
	weekPitch  = 26 // distance of weeks
	dayPitch   = 50
	daySize    = 20
	dayLeft    = 36 // space for months
	dayTop     = 22 // space for weekdays
	dayNumber  = 20 // space for the day of the month, in front of its cell
	weekLength = 7
)

// SVG draws the map.
func (h Weeks) SVG() template.HTML {
	g := HeatMap(h).grid(35, 35, 1)
	monday := g.first - weekday(g.first)
	weeks := (g.last-monday)/weekLength + 1
	bottom := float64(dayTop + weeks*weekPitch)
	const width = dayLeft + weekLength*dayPitch
	var l layers
	var key legend
	var numbers writer
	for d := g.first; d <= g.last; d++ {
		x, y := float64(dayLeft+weekday(d)*dayPitch), float64(dayTop+(d-monday)/weekLength*weekPitch)
		class := "axis"
		if d == g.today {
			class = "last"
			l.pen("now").rect(x+dayNumber+3.5, y-0.5, daySize+5, daySize+5)
		}
		numbers.text(class, "end", x+dayNumber, y+16, fmt.Sprint(date(d).Day()))
		if d == g.first || weekday(d) == 0 && date(d).Day() <= weekLength { // the week's first day is the first Monday of its month
			numbers.text("axis", "start", 0, y+16, date(d).Format("Jan"))
		}
		cells := g.cells[[2]int64{d, 0}]
		if len(cells) == 0 {
			cells = []cell{{look: skipped}}
		}
		c := &cells[0]
		c.draw(&l, x+dayNumber+6, y+2, daySize, daySize, g.level(max(c.past, c.next)))
		key.note(c)
	}
	var w writer
	w.picture("weeks", HeatMap(h).sentence(&g, "day"), width, bottom+key.height(width-dayLeft))
	for i := range int64(weekLength) {
		w.text("axis", "middle", float64(dayLeft+i*dayPitch+dayNumber+6+daySize/2), dayTop-8, date(monday+i).Format("Mon"))
	}
	w.buf.Write(numbers.buf.Bytes())
	l.draw(&w)
	key.draw(&w, dayLeft, bottom, width-dayLeft)
	return w.html()
}

// Table has a row for each day.
func (h Weeks) Table() Table {
	g := HeatMap(h).grid(35, 35, 1)
	noun := h.Noun
	if noun == "" {
		noun = "run"
	}
	t := Table{Caption: h.Title, Header: []string{"Day, " + g.zone.String(), noun + "s"}}
	for d := g.first; d <= g.last; d++ {
		t.Rows = append(t.Rows, []string{date(d).Format("Mon 2 Jan"), g.words([2]int64{d, 0})})
	}
	return t
}

// weekday returns 0 for Monday.
func weekday(d int64) int64 {
	return (int64(date(d).Weekday()) + weekLength - int64(time.Monday)) % weekLength
}
