package timeline

import (
	"bytes"
	"fmt"
	"html"
	"time"
)

// Sizes, in pixels of a picture that is shown at its own size.
const (
	width     = 960
	left      = 134 // where the axis begins
	right     = 22
	top       = 66 // where the rows begin
	planLine  = 14 // from a row's top to its planned instants
	laneTop   = 30 // from a row's top to its first bar
	lane      = 13 // from bar to bar
	bar       = 10
	rowGap    = 14
	legendTop = 24
	bottom    = 44
)

const style = `text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:#57606a}
.t{font-size:15px;font-weight:600;fill:#1f2328}.n{font-weight:600;fill:#1f2328}.m{text-anchor:middle}
.g{stroke:#eaeef2}.p{stroke:#afb8c1}
.k0{fill:#2da44e;stroke:#2da44e}.k1{fill:#0969da;stroke:#0969da}.k2{fill:#cf222e;stroke:#cf222e}.k3{fill:none;stroke:#bc4c00;stroke-width:2}.k4{fill:#fff;stroke:#8c959f;stroke-width:1.6}
.c{stroke-width:1;fill:none;opacity:.7}
`

var words = [...]string{InTime: "ran in time", Late: "ran late", CutShort: "ended by the next one", Dropped: "dropped: another one ran", Missed: "missed: counted, does not run"}

// SVG draws the chart.
func (c Chart) SVG() []byte {
	height := top
	for _, row := range c.Rows {
		height += row.height()
	}
	axis := height
	height += legendTop + bottom
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img"><title>%s</title><style>%s</style>`,
		width, height, width, height, html.EscapeString(c.Title), style)
	fmt.Fprintf(&b, "\n"+`<rect x=".5" y=".5" width="%d" height="%d" rx="8" fill="#fff" stroke="#d0d7de"/><text class="t" x="18" y="28">%s</text>`,
		width-1, height-1, html.EscapeString(c.Title))
	for _, s := range c.Spans {
		from, to := c.x(s.From), c.x(s.To)
		fmt.Fprintf(&b, "\n"+`<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="#eff1f4"/><text class="m" x="%.1f" y="%d">%s</text>`,
			from, top-8, to-from, axis-top+2, (from+to)/2, top-14, html.EscapeString(s.Label))
	}
	for at := c.From.Truncate(time.Hour); !at.After(c.To); at = at.Add(time.Hour) {
		if x := c.x(at); !at.Before(c.From) {
			fmt.Fprintf(&b, "\n"+`<path class="g" d="M%.1f %dV%d"/><text class="m" x="%.1f" y="%d">%s</text>`, x, top-8, axis-4, x, axis+12, at.Format("15:04"))
		}
	}
	y := top
	for _, row := range c.Rows {
		c.row(&b, row, y)
		y += row.height()
	}
	legend(&b, axis+legendTop+20)
	b.WriteString("\n</svg>\n")
	return b.Bytes()
}

func (r Row) height() int {
	_, n := r.lanes()
	return laneTop + n*lane + rowGap
}

// x is where an instant is.
func (c Chart) x(at time.Time) float64 {
	return left + (width-left-right)*float64(at.Sub(c.From))/float64(c.To.Sub(c.From))
}

// row draws one schedule: its name, its planned instants on a line, and below them a bar for each run.
func (c Chart) row(b *bytes.Buffer, row Row, y int) {
	fmt.Fprintf(b, "\n"+`<text class="n" x="18" y="%d">%s</text><text x="18" y="%d">%s</text><path class="p" d="M%d %dH%d"/>`,
		y+planLine+4, html.EscapeString(row.Name), y+planLine+20, html.EscapeString(row.Remark), left-6, y+planLine, width-right+6)
	of, _ := row.lanes()
	var bars, marks, links [len(words)]bytes.Buffer
	for i, o := range row.Occurrences {
		planned := c.x(o.Planned)
		mark(&marks[o.Outcome], o.Outcome, planned, float64(y+planLine))
		if !o.ran() {
			continue
		}
		from, to, barTop := c.x(o.Started), c.x(o.Ended), y+laneTop+of[i]*lane
		fmt.Fprintf(&bars[o.Outcome], "M%.1f %dh%.1fv%dh-%.1fz", from, barTop, max(to-from-1, 1), bar, max(to-from-1, 1))
		if from-planned > 1 { // where it came from
			fmt.Fprintf(&links[o.Outcome], "M%.1f %dL%.1f %d", planned, y+planLine, from+1, barTop)
		}
	}
	for k := range words {
		if links[k].Len() > 0 {
			fmt.Fprintf(b, "\n"+`<path class="k%d c" d="%s"/>`, k, links[k].Bytes())
		}
	}
	for k := range words {
		if bars[k].Len() > 0 {
			fmt.Fprintf(b, "\n"+`<path class="k%d" stroke-width="0" d="%s"/>`, k, bars[k].Bytes())
		}
		if marks[k].Len() > 0 {
			fmt.Fprintf(b, "\n"+`<path class="k%d" d="%s"/>`, k, marks[k].Bytes())
		}
	}
}

// mark adds the sign of an outcome to a path: a dot, a cross for what was dropped. Outcomes differ in colour and in shape.
func mark(b *bytes.Buffer, outcome Outcome, x, y float64) {
	switch outcome {
	case Dropped:
		fmt.Fprintf(b, "M%.1f %.0fl8 8m0-8l-8 8", x-4, y-4)
	default:
		fmt.Fprintf(b, "M%.1f %.0fa4 4 0 1 0 8 0a4 4 0 1 0-8 0", x-4, y)
	}
}

// legend explains the signs in one line.
func legend(b *bytes.Buffer, y int) {
	x := 18.0
	for k, word := range words {
		var sign bytes.Buffer
		mark(&sign, Outcome(k), x+5, float64(y-4))
		if Outcome(k) <= CutShort {
			fmt.Fprintf(&sign, "M%.1f %dh18v%dh-18z", x+14, y-9, bar)
		}
		textAt := x + 14
		if Outcome(k) <= CutShort {
			textAt += 24
		}
		fmt.Fprintf(b, "\n"+`<path class="k%d" d="%s"/><text x="%.1f" y="%d">%s</text>`, k, sign.Bytes(), textAt, y, word)
		x = textAt + 6.4*float64(len(word)) + 20
	}
}
