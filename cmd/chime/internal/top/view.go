package top

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
)

// The sizes at which the screen changes.
const (
	minWidth, minHeight   = 40, 10  // a smaller terminal shows a message
	wideWidth, wideHeight = 100, 28 // all panels at once
)

// View draws the screen.
func (m *Model) View() tea.View {
	text := ""
	if !m.over {
		text = strings.Join(m.frame(), "\n")
	}
	v := tea.NewView(text)
	v.AltScreen = true
	v.WindowTitle = "chime " + output.Printable(m.Address)
	return v
}

// frame returns the lines of the screen, each exactly as wide as the screen.
func (m *Model) frame() []string {
	p := painter{plain: m.Plain}
	_, p.faint = m.stale()
	var lines []string
	switch {
	case m.width < minWidth || m.height < minHeight:
		lines = []string{"The terminal is too small:", format.Count(minWidth) + " × " + format.Count(minHeight) + " at least."}
	default:
		foot := m.foot()
		lines = m.head(p)
		lines = append(lines, m.body(p, m.height-len(lines)-len(foot))...)
		lines = append(lines, foot...)
	}
	for i := range lines {
		lines[i] = fill(lines[i], m.width)
	}
	for len(lines) < m.height {
		lines = append(lines, fill("", m.width))
	}
	return lines[:m.height]
}

// foot shows the question, the result of the last action, or the keys.
func (m *Model) foot() []string {
	p := painter{plain: m.Plain}
	switch {
	case m.ask != nil:
		return m.ask.lines(p, m.width)
	case m.filter:
		return []string{" /" + output.Printable(m.panels[m.focus].filter) + "█   enter keeps the filter · esc clears it"}
	case m.note != "" && m.failed:
		return []string{" " + p.paint("✕ "+output.Printable(m.note), bad)}
	case m.note != "":
		return []string{" " + p.paint("✓ "+output.Printable(m.note), good)}
	case m.err != nil:
		return []string{" " + p.paint("✕ "+output.Printable(m.err.Error()), bad)}
	}
	return []string{m.hints()}
}

// hints shows the keys of the panel, fewer if they do not fit.
func (m *Model) hints() string {
	hints := []string{"tab panel", "enter open", "/ filter", "s sort"}
	acts := m.actHints()
	switch {
	case m.batches:
		hints, acts = []string{"esc back", "↑ ↓ scroll"}, nil
	case m.opened != nil:
		hints = []string{"esc back", "↑ ↓ scroll"}
	}
	hints = append(append(hints, acts...), "? help", "q")
	for _, less := range []string{"", "s sort", "/ filter", "tab panel"} {
		hints = slices.DeleteFunc(hints, func(hint string) bool { return hint == less })
		if line := " " + strings.Join(hints, " · "); ansi.StringWidth(line) <= m.width {
			return line
		}
	}
	return " " + strings.Join(hints, " · ")
}

// actHints shows the keys of the panel's actions.
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
