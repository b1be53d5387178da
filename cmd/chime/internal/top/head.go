package top

import (
	"github.com/charmbracelet/x/ansi"

	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
)

// head shows the store, its leader, whether it answers, and its rates.
func (m *Model) head(p painter) []string {
	plain := painter{plain: m.Plain}
	state := plain.paint("● ", good)
	live := "live " + format.Exact(m.Every)
	age, stale := m.stale()
	switch {
	case !m.frozen.IsZero():
		state, live = plain.paint("‖ ", paused), "frozen"
	case stale:
		state, live = plain.paint("⚠ ", bad), plain.paint("stale "+format.Age(age), bad)
	case m.shown == nil:
		state, live = "◌ ", "reading"
	}
	left := " " + plain.paint("chime", title) + " " + state + output.Printable(m.Address)
	right := live + "  " + m.clock().In(m.location()).Format("15:04:05 MST")
	if m.width >= windowWidth {
		right += "  " + m.window.String() + " ▾"
	}
	if m.ReadOnly {
		right += "  " + plain.paint("READ-ONLY", title)
	}
	room := max(m.width-ansi.StringWidth(right)-3, 0)
	if m.shown != nil {
		left += m.leader(p, room-ansi.StringWidth(left))
	}
	lines := []string{fill(left, room) + "  " + right, ""}
	if m.shown != nil {
		lines[1] = m.flow(p)
	}
	if line := m.batchLine(p); line != "" {
		lines = append(lines, line)
	}
	return lines
}

const (
	windowWidth = 60 // cells; a narrower terminal does not show the window
	maxLeader   = 24 // cells of a leader's name
)

// leader shows who leads, and the term if it fits.
func (m *Model) leader(p painter, cells int) string {
	leads := m.shown.Leader
	switch {
	case leads == nil:
		return ""
	case leads.Name == "":
		return "   " + p.paint("⚠ nobody leads", late)
	}
	name := leads.Host
	if name == "" {
		name = leads.Name
	}
	text := "   leader " + p.paint(ansi.Truncate(output.Printable(name), maxLeader, "…"), good)
	if term := " (term " + format.Count(leads.Term) + ")"; ansi.StringWidth(text+term) <= cells {
		return text + term
	}
	return text
}

const minSpark = 4 // cells

// scaleOf returns the text beside a chart that says what its highest bar means: " max 1,310". Empty: all values are 0, or not known.
func scaleOf(values []float64) string {
	most := 0.0
	for _, v := range values {
		if v > most { // false for NaN
			most = v
		}
	}
	if most == 0 {
		return ""
	}
	return " max " + format.Rate(most)
}

// flow shows the rates of all queues together.
func (m *Model) flow(p painter) string {
	f := m.shown.Flow
	failed := normal
	if f.Failed > 0 {
		failed = bad
	}
	parts := []struct {
		name, value string
		values      []float64
		paint       paint
	}{{"in/s", format.Rate(f.In), f.Ins, normal}, {"out/s", format.Rate(f.Out), f.Outs, normal}, {"failed/s", format.Rate(f.Failed), f.Faileds, failed}}
	if f.Timed {
		parts = append(parts, parts[0])
		parts[3].name, parts[3].value, parts[3].values = "late", "p50 "+format.Span(f.P50)+" p99 "+format.Span(f.P99), f.Late
	}
	if m.shown.Window != m.window {
		f.Ins, f.Outs, f.Faileds, f.Late = nil, nil, nil, nil // they belong to another window
	}
	left := m.width
	for _, part := range parts {
		left -= len(part.name) + len(part.value) + 5
	}
	cells := max(left, 0) / len(parts)
	line := ""
	for _, part := range parts {
		line += " " + p.paint(part.name, faint) + " " + p.paint(part.value, part.paint)
		scale := scaleOf(part.values)
		if text := spark(squeeze(part.values, max(cells-len(scale), 0))); text != "" && cells-len(scale) >= minSpark {
			line += " " + p.paint(text+scale, faint)
		} else if text := spark(squeeze(part.values, cells)); text != "" && cells >= minSpark {
			line += " " + p.paint(text, faint)
		}
		line += "  "
	}
	return line
}
