package top

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/chimejobs/chime/internal/overview"
)

// A column is a column of a panel.
type column struct {
	title string
	right bool // its cells are aligned to the right
	gives int  // it is cut to this width before columns are dropped; 0: it is not cut
}

const (
	gap     = 2
	minCell = 8
)

var columns = [overview.Panels][]column{
	overview.Queues: {
		{title: "QUEUE", gives: 24}, {title: "STATE"}, {title: "WAIT", right: true}, {title: "OLDEST", right: true}, {title: "RUN", right: true},
		{title: "DEAD", right: true}, {title: "FAIL/MIN", right: true}, {title: "IN/MIN", right: true}, {title: "OUT/MIN", right: true},
		{title: "DELAYED", right: true}, {title: "PARKED", right: true}, {title: "OUT, "}, // of the window
	},
	overview.Next:     {{title: "DUE", right: true}, {title: "SCHEDULE", gives: 24}, {title: "AT"}, {title: "LAST"}, {title: "QUEUE"}},
	overview.Running:  {{title: "JOB", gives: 16}, {title: "ID", gives: 8}, {title: "QUEUE", gives: 12}, {title: "FOR", right: true}, {title: "WORKER"}, {title: "PROGRESS"}},
	overview.Failures: {{title: "TIMES", right: true}, {title: "JOB", gives: 14}, {title: "ERROR", gives: 20}, {title: "LAST", right: true}, {title: "QUEUE", gives: 12}},
	overview.Workers:  {{title: "WORKER", gives: 14}, {title: "SLOTS", right: true}, {title: "FULL"}, {title: "UP", right: true}},
}

// columns returns the columns of a panel, with the window of their charts.
func (m *Model) columns(p overview.Panel) []column {
	all := slices.Clone(columns[p])
	if p == overview.Queues {
		all[len(all)-1].title += m.shown.Window.Title()
	}
	return all
}

// layout returns the widths of columns for a width of the terminal. First it cuts the columns that give, the widest first. Then it drops columns
// from the right, but never the first two, which it cuts to minCell. So a long name is cut only as far as it must be: the columns are in the order of their importance.
func layout(columns []column, rows []row, cells int, titled bool) []int {
	widths := make([]int, len(columns))
	for i, c := range columns {
		if titled {
			widths[i] = ansi.StringWidth(c.title)
		}
		for _, r := range rows {
			widths[i] = max(widths[i], ansi.StringWidth(r.cells[i].text))
		}
	}
	for ; ; widths = widths[:len(widths)-1] {
		floor := func(i int) int { return columns[i].gives }
		if len(widths) <= 2 {
			floor = func(int) int { return minCell }
		}
		if cut := narrow(columns, widths, cells, floor); cut != nil {
			return cut
		}
		if len(widths) <= 2 {
			return widths
		}
	}
}

// narrow cuts the columns that give, the widest first, none below its floor. It returns nil if they still do not fit.
func narrow(columns []column, widths []int, cells int, floor func(i int) int) []int {
	cut := append([]int(nil), widths...)
	over := -gap - cells
	for _, w := range cut {
		if w > 0 {
			over += w + gap
		}
	}
	for ; over > 0; over-- {
		widest := -1
		for i := range cut {
			if columns[i].gives > 0 && cut[i] > floor(i) && (widest < 0 || cut[i] > cut[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return nil
		}
		cut[widest]--
	}
	return cut
}

// line sets cells in their columns.
func (p painter) line(columns []column, widths []int, cells []cell) string {
	var b strings.Builder
	for i, width := range widths {
		if width == 0 {
			continue
		}
		text := ansi.Truncate(cells[i].text, width, "…")
		space := strings.Repeat(" ", width-ansi.StringWidth(text))
		if columns[i].right {
			b.WriteString(space + p.paint(text, cells[i].paint))
		} else {
			b.WriteString(p.paint(text, cells[i].paint) + space)
		}
		b.WriteString(strings.Repeat(" ", gap))
	}
	return strings.TrimRight(b.String(), " ")
}

// fill cuts or pads a line to a width.
func fill(line string, width int) string {
	line = ansi.Truncate(line, width, "…")
	return line + strings.Repeat(" ", max(0, width-ansi.StringWidth(line)))
}
