package svg

// A legend explains the shapes of a map, in lines below it.
type legend struct {
	shown [len(legendEntries)]bool
}

const legendLine = 20

// The entries of a legend, in their order.
const (
	legendDone = iota
	legendFailed
	legendLate
	legendDropped
	legendPaused
	legendMissed
	legendToCome
	legendUnknown
	legendSkipped
)

var legendEntries = [...]struct {
	word string
	cell cell
}{
	legendDone:    {"done", cell{look: ran, past: 1}},
	legendFailed:  {"failed", cell{look: ran, past: 1, worst: Fail}},
	legendLate:    {"late", cell{look: ran, past: 1, worst: Late}},
	legendDropped: {"dropped", cell{look: ran, past: 1, worst: Off}},
	legendPaused:  {"paused", cell{look: ran, past: 1, worst: Paused}},
	legendMissed:  {"missed", cell{look: ran, past: 1, worst: Missed}},
	legendToCome:  {"to come", cell{look: coming, next: 1}},
	legendUnknown: {"not known", cell{look: unknown}},
	legendSkipped: {"not on the clock", cell{look: skipped}},
}

// note records that a shape occurs.
func (l *legend) note(c *cell) {
	switch {
	case c.look == unknown:
		l.shown[legendUnknown] = true
	case c.look == skipped:
		l.shown[legendSkipped] = true
	case c.look == coming:
		l.shown[legendToCome] = true
	case c.look == blank || c.past == 0:
	case c.worst == Fail:
		l.shown[legendFailed] = true
	case c.worst == Late:
		l.shown[legendLate] = true
	case c.worst == Off:
		l.shown[legendDropped] = true
	case c.worst == Paused:
		l.shown[legendPaused] = true
	case c.worst == Missed:
		l.shown[legendMissed] = true
	default:
		l.shown[legendDone] = true
	}
}

// height returns the height of the legend below a map of that width.
func (l *legend) height(width float64) float64 {
	lines := 1.0
	l.each(width, func(_ int, _ float64, line float64) { lines = line + 1 })
	return 6 + lines*legendLine
}

// draw writes the legend below a map.
func (l *legend) draw(w *writer, left, top, width float64) {
	l.each(width, func(i int, x, line float64) {
		y := top + 6 + line*legendLine
		var shape layers
		legendEntries[i].cell.draw(&shape, left+x, y, 12, 12, 3)
		shape.draw(w)
		w.text("axis", "start", left+x+17, y+10, legendEntries[i].word)
	})
}

// each returns the positions of the entries that occur, in lines no longer than width.
func (l *legend) each(width float64, visit func(i int, x, line float64)) {
	x, line := 0.0, 0.0
	for i, entry := range legendEntries {
		if !l.shown[i] {
			continue
		}
		length := 17 + 6.4*float64(len(entry.word)) + 12
		if x > 0 && x+length > width {
			x, line = 0, line+1
		}
		visit(i, x, line)
		x += length
	}
}
