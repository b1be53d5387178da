package top

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/chimejobs/chime/cmd/chime/internal/output"
)

// The sizes at which the screen changes.
const (
	minWidth, minHeight   = 40, 10  // else it says so
	wideWidth, wideHeight = 100, 28 // all panels at once
	headLines, footLines  = 2, 1
)

// View draws the screen.
func (m *Model) View() tea.View {
	v := tea.NewView(strings.Join(m.frame(), "\n"))
	v.AltScreen = true
	v.WindowTitle = "chime " + output.Printable(m.Address)
	return v
}

// frame is the screen, as many lines as it is high, each as wide as it is.
func (m *Model) frame() []string {
	p := painter{plain: m.Plain}
	_, p.faint = m.stale()
	var lines []string
	switch {
	case m.width < minWidth || m.height < minHeight:
		lines = []string{"The terminal is too small:", number(minWidth) + " × " + number(minHeight) + " at least."}
	default:
		lines = append(m.head(p), m.body(p, m.height-headLines-footLines)...)
		lines = append(lines, m.foot())
	}
	for i := range lines {
		lines[i] = fill(lines[i], m.width)
	}
	for len(lines) < m.height {
		lines = append(lines, fill("", m.width))
	}
	return lines[:m.height]
}

// head says of which store this is, whether it answers, and what goes through it.
func (m *Model) head(p painter) []string {
	plain := painter{plain: m.Plain}
	state := plain.paint("● ", good)
	live := "live " + shortly(m.Every)
	age, stale := m.stale()
	switch {
	case !m.frozen.IsZero():
		state, live = plain.paint("‖ ", paused), "frozen"
	case stale:
		state, live = plain.paint("⚠ ", bad), plain.paint("stale "+shortly(age), bad)
	case m.shown == nil:
		state, live = "◌ ", "reading"
	}
	left := " " + plain.paint("chime", title) + " " + state + output.Printable(m.Address)
	if m.shown != nil {
		if m.shown.Leads {
			left += "   " + p.paint("✓ leader", good)
		} else {
			left += "   " + p.paint("◌ no leader", late)
		}
	}
	right := live + "  " + m.clock().In(m.location()).Format("15:04:05 MST")
	if m.ReadOnly {
		right += "  " + plain.paint("READ-ONLY", title)
	}
	space := m.width - ansi.StringWidth(right) - 1
	lines := []string{fill(left, max(space-2, 0)) + "  " + right, ""}
	if m.shown != nil {
		lines[1] = m.flow(p)
	}
	return lines
}

func shortly(d time.Duration) string {
	if d < time.Minute {
		return number(int(d.Seconds())) + "s"
	}
	return number(int(d.Minutes())) + "m" + number(int(d.Seconds())%60) + "s"
}

const minSpark = 4 // cells

// flow is what goes through all queues.
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
	}{{"in/s", rate(f.In), f.Ins, normal}, {"out/s", rate(f.Out), f.Outs, normal}, {"failed/s", rate(f.Failed), f.Faileds, failed}}
	if f.Timed {
		parts = append(parts, parts[0])
		parts[3].name, parts[3].value, parts[3].values = "late", "p50 "+span(f.P50)+" p99 "+span(f.P99), f.Late
	}
	left := m.width
	for _, part := range parts {
		left -= len(part.name) + len(part.value) + 5
	}
	cells := max(left, 0) / len(parts)
	line := ""
	for _, part := range parts {
		line += " " + p.paint(part.name, faint) + " " + p.paint(part.value, part.paint)
		if text := spark(part.values, min(cells, sampledMinutes)); text != "" && cells >= minSpark {
			line += " " + p.paint(text, faint)
		}
		line += "  "
	}
	return line
}

// foot asks, or says what was done, or which keys there are.
func (m *Model) foot() string {
	p := painter{plain: m.Plain}
	switch {
	case m.ask != nil && m.ask.want != "":
		return " " + p.paint("⚠ "+m.ask.question, title) + " type " + p.paint(m.ask.want, title) + " and enter: " + output.Printable(m.ask.typed) + "█"
	case m.ask != nil:
		return " " + p.paint("⚠ "+m.ask.question, title) + " y/N"
	case m.filter:
		return " /" + output.Printable(m.panels[m.focus].filter) + "█   enter keeps the filter · esc takes it away"
	case m.note != "" && m.failed:
		return " " + p.paint("✕ "+output.Printable(m.note), bad)
	case m.note != "":
		return " " + p.paint("✓ "+output.Printable(m.note), good)
	case m.err != nil:
		return " " + p.paint("✕ "+output.Printable(m.err.Error()), bad)
	}
	return m.hints()
}

// hints are the keys of the panel, fewer where there is no room.
func (m *Model) hints() string {
	hints := []string{"tab panel", "enter open", "/ filter", "s sort"}
	if m.opened != nil {
		hints = []string{"esc back", "↑ ↓ scroll"}
	}
	hints = append(append(hints, m.actHints()...), "? help", "q")
	for _, less := range []string{"", "s sort", "/ filter", "tab panel"} {
		hints = slices.DeleteFunc(hints, func(hint string) bool { return hint == less })
		if line := " " + strings.Join(hints, " · "); ansi.StringWidth(line) <= m.width {
			return line
		}
	}
	return " " + strings.Join(hints, " · ")
}

// actHints are the keys that change what the panel shows.
func (m *Model) actHints() (hints []string) {
	if m.ReadOnly {
		return nil
	}
	for _, key := range actKeys {
		if verb, is := acts[m.focus][key]; is {
			hints = append(hints, key+" "+string(verb))
		}
	}
	return hints
}
