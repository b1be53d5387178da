package top

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/overview"
)

// body returns the lines between the head and the foot.
func (m *Model) body(p painter, height int) []string {
	switch {
	case m.help:
		return m.lines(p, "Keys: any key goes back", m.helpText(), height)
	case m.batches:
		lines := m.batchLines(p)
		m.below = min(m.below, max(0, len(lines)-1))
		return m.lines(p, "Batches in progress: esc goes back", lines[m.below:], height)
	case m.opened != nil:
		lines := m.detail()
		return m.lines(p, m.opened.panel.String(), lines[min(m.opened.from, max(0, len(lines)-1)):], height)
	case m.shown == nil:
		text := "reading…"
		if m.err != nil {
			text = "no answer from Redis"
		}
		return []string{"", "  " + text}
	case m.zoom:
		return m.panel(p, m.focus, m.width, height)
	case m.width < wideWidth || m.height < wideHeight:
		return append([]string{m.tabs(p)}, m.panel(p, m.focus, m.width, height-1)...)
	}
	return m.allPanels(p, height)
}

// allPanels shows the queues, and below them the other panels in two pairs.
func (m *Model) allPanels(p painter, height int) []string {
	queues := min(max(len(m.rows(overview.Queues)), 1)+2, height*2/5)
	pairs := (height - queues) / 2
	lines := m.panel(p, overview.Queues, m.width, queues)
	lines = append(lines, m.pair(p, overview.Next, overview.Running, pairs, "┬")...)
	return append(lines, m.pair(p, overview.Failures, overview.Workers, height-queues-pairs, "┼")...)
}

// pair shows two panels beside each other.
func (m *Model) pair(p painter, left, right overview.Panel, height int, join string) []string {
	half := (m.width - 1) / 2
	a, b := m.panel(p, left, half, height), m.panel(p, right, m.width-half-1, height)
	lines := make([]string, height)
	for i := range lines {
		between := "│"
		if i == 0 {
			between = join
		}
		lines[i] = fill(a[i], half) + p.paint(between, faint) + b[i]
	}
	return lines
}

// tabs is the line of panel names if one panel is shown at a time.
func (m *Model) tabs(p painter) string {
	line := ""
	for panel := range overview.Panels {
		with, name := faint, strings.TrimSuffix(panel.String(), ", last hour")
		text := format.Count(int(panel)+1) + " " + name + " " + m.howMany(panel)
		if panel == m.focus {
			with, text = title, "["+text+"]"
		}
		line += " " + p.paint(text, with)
	}
	return line
}

// howMany formats how many rows a panel has.
func (m *Model) howMany(p overview.Panel) string {
	all := int64(len(m.allRows(p)))
	if p == overview.Running {
		all = max(all, m.shown.Held)
	}
	return "(" + format.Count(all) + ")"
}

// panel shows one panel: its title, the titles of columns if they fit, and the rows around the cursor.
func (m *Model) panel(p painter, panel overview.Panel, width, height int) []string {
	rows := m.rows(panel)
	lines := []string{m.titleOf(p, panel, width)}
	titled := panel == overview.Queues || height >= 5
	columns := m.columns(panel)
	widths := layout(columns, rows, width-3, titled)
	if titled && len(rows) > 0 && height > 2 {
		heads := make([]cell, len(columns))
		for i, c := range columns {
			heads[i] = cell{c.title, faint}
		}
		lines = append(lines, "  "+p.line(columns, widths, heads))
	}
	room := height - len(lines)
	if len(rows) == 0 && room > 0 {
		lines = append(lines, "  "+p.paint(m.nothing(panel), faint))
		room--
	}
	at := m.at(panel, rows)
	from := min(max(at-room/2, 0), max(len(rows)-room, 0))
	for i := from; i < len(rows) && i < from+room; i++ {
		lead := " "
		if i == at && panel == m.focus {
			lead = p.paint("▸", title)
		}
		mark := " "
		if m.panels[panel].marked[rows[i].key] {
			mark = p.paint("✓", title)
		}
		lines = append(lines, ansi.Truncate(lead+mark+p.line(columns, widths, rows[i].cells), width, "…"))
	}
	for len(lines) < height {
		lines = append(lines, "")
	}
	return lines[:height]
}

// titleOf returns the line above a panel.
func (m *Model) titleOf(p painter, panel overview.Panel, width int) string {
	state := m.panels[panel]
	text := " " + format.Count(int(panel)+1) + " " + panel.String() + " " + m.howMany(panel) + " "
	with := normal
	if panel == m.focus {
		with = title
	}
	line := p.paint("─", faint) + p.paint(text, with)
	if state.filter != "" {
		line += p.paint("/"+output.Printable(state.filter)+" ", late)
	}
	if state.sort > 0 {
		line += p.paint("by "+orders[panel][state.sort]+" ", faint)
	}
	if note := m.shown.Notes[panel]; note != "" {
		line += p.paint("◌ "+note+" ", late)
	}
	line = ansi.Truncate(line, width, "…")
	return line + p.paint(strings.Repeat("─", max(0, width-ansi.StringWidth(line))), faint)
}

// nothing returns the text of a panel without rows.
func (m *Model) nothing(p overview.Panel) string {
	switch {
	case m.panels[p].filter != "":
		return "nothing matches this text; esc clears the filter"
	case p == overview.Failures && m.shown.Notes[p] == "":
		return "✓ nothing has failed"
	}
	return [overview.Panels]string{"no queue: nothing has been enqueued yet", "no schedule", "no job is running", "", "no worker"}[p]
}

// lines shows a text under a title.
func (m *Model) lines(p painter, name string, text []string, height int) []string {
	head := p.paint("─", faint) + p.paint(" "+name+" ", title)
	lines := []string{head + p.paint(strings.Repeat("─", max(0, m.width-ansi.StringWidth(head))), faint)}
	for _, line := range text {
		lines = append(lines, "  "+line)
	}
	for len(lines) < height {
		lines = append(lines, "")
	}
	return lines[:height]
}

// helpText lists the keys.
func (m *Model) helpText() (lines []string) {
	for _, b := range everywhere {
		lines = append(lines, fill(b.key, 16)+b.does)
	}
	if m.ReadOnly {
		return append(lines, "", "Nothing can be changed with --read-only.")
	}
	lines = append(lines, "", "These keys ask first, and do nothing unless you answer y or type the name:")
	for _, key := range actKeys {
		var where []string
		for panel := range overview.Panels {
			if acts[panel][key] != "" {
				where = append(where, strings.TrimSuffix(panel.String(), ", last hour"))
			}
		}
		lines = append(lines, fill(key, 16)+verbOf(key)+" ("+strings.Join(where, ", ")+")")
	}
	return lines
}

func verbOf(key string) string {
	for _, of := range acts {
		if of[key] != "" {
			return string(of[key])
		}
	}
	return ""
}
