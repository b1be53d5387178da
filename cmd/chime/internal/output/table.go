package output

import (
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// A Column is a column of a table.
type Column struct {
	Title string
	Right bool // its cells are aligned to the right, as numbers are
	Most  int  // if the table is too wide, the column is cut to this width before columns are dropped; 0: it is not cut
}

const (
	gap     = 2
	minCell = 8 // a column is cut to no fewer cells, and dropped instead
)

// table prints rows under their columns. If a terminal is too narrow, it first cuts the columns that have a Most, and then drops columns from the
// right. It never drops the first one. It prints no line of titles if no column has a title.
func (p Printer) table(columns []Column, rows [][]string) error {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = ansi.StringWidth(c.Title)
	}
	shown := make([][]string, len(rows))
	for r, row := range rows {
		shown[r] = make([]string, len(columns))
		for i := range columns {
			if i < len(row) {
				shown[r][i] = Printable(row[i])
			}
			widths[i] = max(widths[i], ansi.StringWidth(shown[r][i]))
		}
	}
	if p.Width > 0 {
		widths = fit(columns, widths, p.Width)
	}
	var b strings.Builder
	if slices.ContainsFunc(columns, func(c Column) bool { return c.Title != "" }) {
		titles := make([]string, len(columns))
		for i, c := range columns {
			titles[i] = c.Title
		}
		shown = slices.Insert(shown, 0, titles)
	}
	for _, row := range shown {
		line := ""
		for i, width := range widths {
			cell := ansi.Truncate(row[i], width, "…")
			space := strings.Repeat(" ", width-ansi.StringWidth(cell))
			if columns[i].Right {
				cell = space + cell
			} else {
				cell += space
			}
			if i > 0 {
				line += strings.Repeat(" ", gap)
			}
			line += cell
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(p.Out, b.String())
	return err
}

// fit returns the widths of the columns in a number of cells. Columns without a width, at the right, are not shown.
func fit(columns []Column, widths []int, cells int) []int {
	for i, c := range slices.Backward(columns) {
		if over := total(widths) - cells; over > 0 && c.Most > 0 && widths[i] > c.Most {
			widths[i] = max(c.Most, widths[i]-over)
		}
	}
	for len(widths) > 1 {
		last := len(widths) - 1
		switch over := total(widths) - cells; {
		case over <= 0:
			return widths
		case widths[last]-over >= minCell:
			fitted := append([]int(nil), widths...)
			fitted[last] -= over
			return fitted
		}
		widths = widths[:last]
	}
	return []int{max(1, min(widths[0], cells))}
}

// total returns how many cells all columns take together.
func total(widths []int) int {
	sum := gap * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// shellWord quotes a text for a shell, where that is needed.
func shellWord(text string) string {
	safe := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_-./:@%+,", c)
	}
	if text != "" && strings.IndexFunc(text, func(c rune) bool { return !safe(c) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
