package svg

import (
	"fmt"
	"html/template"
	"math"
	"time"
)

// Shares shows how many of a fixed number of slots several owners held over time: one plot for each panel, below each other, and in a plot one band
// for each owner, stacked. The first owner is at the bottom and is marked, the others alternate between two shades.
type Shares struct {
	Title string // the drawn title and the table's caption
	Label string // the sentence; empty: Title

	Owners []string      // the names of the bands, from the bottom
	Slots  int           // the top of a plot; at least 1
	Step   time.Duration // the time between samples; at least a millisecond
	Panels []SharesPanel
}

// A SharesPanel is one plot.
type SharesPanel struct {
	Name, Remark string
	Mark         time.Duration // an instant after the start that is marked; 0: none
	MarkLabel    string
	Held         [][]int // sample -> owner -> slots that it held until the next sample
}

// Sizes of shares, in pixels.
const (
	sharesWidth  = 960
	sharesLeft   = 52
	sharesRight  = 150 // space for the owners' names
	sharesTop    = 76  // the top of the first plot
	sharesHeight = 220
	sharesGap    = 74 // from a plot to the next one: the axis, a name and a remark
	sharesFoot   = 40
	sharesApart  = 14 // minimum distance of names
)

// SVG draws the shares.
func (s Shares) SVG() template.HTML {
	n := float64(max(len(s.Panels), 1))
	height := sharesTop + n*sharesHeight + (n-1)*sharesGap + sharesFoot
	var w writer
	w.sheet("shares", s.Title, s.Label, sharesWidth, height)
	for i, p := range s.Panels {
		p.draw(&w, s, sharesTop+float64(i)*(sharesHeight+sharesGap))
	}
	return w.html()
}

// step returns the time between samples.
func (s Shares) step() time.Duration { return max(s.Step, time.Millisecond) }

// draw draws a plot whose top is at y.
func (p SharesPanel) draw(w *writer, s Shares, y float64) {
	a := newAxes(time.Unix(0, 0), time.Unix(0, 0).Add(time.Duration(max(len(p.Held), 1))*s.step()), time.UTC, Count, float64(max(s.Slots, 1)))
	a.left, a.top, a.right, a.bottom = sharesLeft, y, sharesWidth-sharesRight, y+sharesHeight
	full := float64(max(s.Slots, 1))
	at := func(slots int) float64 { return a.bottom - (a.bottom-a.top)*min(float64(slots)/full, 1) }
	w.text("title", "start", a.left, y-22, p.Name)
	w.text("axis", "start", a.left, y-8, p.Remark)
	for owner := len(s.Owners) - 1; owner >= 0; owner-- { // the area of an owner reaches to the ground, and covers those drawn before
		class := "h" + fmt.Sprint(2+2*(owner%2))
		if owner == 0 {
			class = "bar fail"
		}
		w.path(class, p.area(&a, owner, at))
	}
	var base pen
	base.do("M", a.left, a.bottom)
	base.do("H", a.right)
	for i := range len(p.Held) + 1 {
		if seconds := (time.Duration(i) * s.step()).Seconds(); math.Mod(seconds, 5) == 0 {
			x := a.x(a.from.Add(time.Duration(i) * s.step()))
			base.do("M", x, a.bottom)
			base.do("v", 4)
			w.text("axis", "middle", x, a.bottom+17, fmt.Sprintf("%.0f s", seconds))
		}
	}
	w.path("base", base.String())
	w.text("axis", "end", a.left-6, a.bottom+4, "0")
	w.text("axis", "end", a.left-6, a.top+4, fmt.Sprint(s.Slots))
	if p.Mark > 0 {
		var mark pen
		x := a.x(a.from.Add(p.Mark))
		above := 0.0
		if p.MarkLabel != "" {
			above = 14
		}
		mark.do("M", x, a.top-above)
		mark.do("V", a.bottom)
		w.path("frame fail", mark.String())
		w.text("axis", "start", x+6, a.top-8, p.MarkLabel)
	}
	p.names(w, s, &a, at)
}

// area returns the area from the ground up to the top of an owner's band. It has a corner only where the height changes.
func (p SharesPanel) area(a *axes, owner int, at func(int) float64) string {
	var d pen
	last := math.NaN()
	for i, held := range p.Held {
		top := at(sum(held, owner))
		switch x := a.left + (a.right-a.left)*float64(i)/float64(len(p.Held)); {
		case i == 0:
			d.do("M", x, a.bottom)
			d.do("V", top)
		case top != last:
			d.do("H", x)
			d.do("V", top)
		}
		last = top
	}
	if len(p.Held) > 0 {
		d.do("H", a.right)
		d.do("V", a.bottom)
		d.do("z")
	}
	return d.String()
}

// names writes the name of each owner beside the end of its band, if there is space.
func (p SharesPanel) names(w *writer, s Shares, a *axes, at func(int) float64) {
	if len(p.Held) == 0 {
		return
	}
	last, lowest := p.Held[len(p.Held)-1], a.bottom+sharesApart
	for owner, name := range s.Owners {
		if owner >= len(last) || last[owner] == 0 {
			continue
		}
		y := (at(sum(last, owner)) + at(sum(last, owner-1))) / 2
		if owner > 0 && lowest-y < sharesApart {
			continue
		}
		class := "axis"
		if owner == 0 {
			class = "last fail"
		}
		w.text(class, "start", a.right+8, y+4, name)
		lowest = y
	}
}

// sum returns the slots of the owners up to one.
func sum(held []int, owner int) (all int) {
	for i, slots := range held {
		if i <= owner {
			all += slots
		}
	}
	return all
}

// Table has a row for each sample of each panel.
func (s Shares) Table() Table {
	table := Table{Caption: s.Title, Header: append([]string{"Panel", "After"}, s.Owners...)}
	for _, p := range s.Panels {
		for i, held := range p.Held {
			row := []string{p.Name, (time.Duration(i) * s.step()).String()}
			for owner := range s.Owners {
				text := nothing
				if owner < len(held) {
					text = fmt.Sprint(held[owner])
				}
				row = append(row, text)
			}
			table.Rows = append(table.Rows, row)
		}
	}
	return table
}
