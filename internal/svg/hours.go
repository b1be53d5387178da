package svg

import (
	"fmt"
	"html/template"
	"time"
)

// Hours is a heat map with a column for each day and a row for each hour: 14 days until today and 14 future days. An hour or a day that the clock
// skips is marked. An hour that it shows twice has two cells of half the height.
type Hours HeatMap

const (
	hourPitch = 13
	hourSize  = 11
	hourLeft  = 26 // space for hours
	hourTop   = 22 // space for dates
	nowGap    = 9  // between today and tomorrow
)

// SVG draws the map.
func (h Hours) SVG() template.HTML {
	g := HeatMap(h).grid(14, 14, 24)
	bottom := float64(hourTop + 24*hourPitch)
	x := func(d int64) float64 {
		at := float64(hourLeft + (d-g.first)*hourPitch)
		if d > g.today {
			at += nowGap
		}
		return at
	}
	var l layers
	var key legend
	for d := g.first; d <= g.last; d++ {
		for hour := range int64(24) {
			g.drawHour(&l, &key, [2]int64{d, hour}, x(d), float64(hourTop+hour*hourPitch))
		}
	}
	width := max(x(g.last+1), 200)
	var w writer
	w.picture("hours", HeatMap(h).sentence(&g, "hour"), width, bottom+key.height(width-hourLeft))
	for hour := int64(0); hour < 24; hour += 6 {
		w.text("axis", "end", hourLeft-6, float64(hourTop+hour*hourPitch)+10, fmt.Sprintf("%02d", hour))
	}
	g.drawDates(&w, x)
	l.draw(&w)
	var now pen
	now.do("M", x(g.today)+hourSize+nowGap/2+1, hourTop-4)
	now.do("V", bottom+2)
	w.path("now", now.String())
	key.draw(&w, hourLeft, bottom, width-hourLeft)
	return w.html()
}

// drawDates writes today and, if there is room, the Mondays.
func (g *cellGrid) drawDates(w *writer, x func(int64) float64) {
	w.text("last", "end", x(g.today)+hourSize, hourTop-8, "today")
	for d := g.first; d <= g.last; d++ {
		from := x(d)
		beside := from > x(g.today)+hourSize+4 || from+44 < x(g.today)+hourSize-34
		if date(d).Weekday() == time.Monday && beside && from+38 < x(g.last+1) {
			w.text("axis", "start", from, hourTop-8, date(d).Format("2 Jan"))
		}
	}
}

// drawHour draws an hour: a cell, two cells of half the height, or the mark of a skipped hour.
func (g *cellGrid) drawHour(l *layers, key *legend, at [2]int64, x, y float64) {
	cells := g.cells[at]
	if len(cells) == 0 {
		cells = []cell{{look: skipped}}
	}
	height := (hourSize - float64(len(cells)-1)) / float64(len(cells))
	for i := range cells {
		c := &cells[i]
		c.draw(l, x, y+float64(i)*(height+1), hourSize, height, g.level(max(c.past, c.next)))
		key.note(c)
	}
}

// Table has a row for each day and a column for each hour. An hour that the clock shows twice has both in one cell.
func (h Hours) Table() Table {
	g := HeatMap(h).grid(14, 14, 24)
	t := Table{Caption: h.Title, Header: []string{"Day, " + g.zone.String()}}
	for hour := range 24 {
		t.Header = append(t.Header, fmt.Sprintf("%02d", hour))
	}
	for d := g.first; d <= g.last; d++ {
		row := []string{date(d).Format("Mon 2 Jan")}
		for hour := range int64(24) {
			row = append(row, g.words([2]int64{d, hour}))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
