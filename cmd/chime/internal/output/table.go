package output

import (
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// A Column is one of a table.
type Column struct {
	Title string
	Right bool // its cells stand at the right, as numbers do
	Most  int  // where the table is too wide this column is cut to so many cells before one is left out; 0: it is not
}

const (
	gap     = 2
	minCell = 8 // a column that has to give way keeps so many cells of the terminal, or goes
)

// table prints rows under their columns. On a terminal the columns give way from the right until the rest fits: those with a Most are cut to it
// first, then columns are left out. The first one always stays. Columns without titles have no line for them.
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

// fit returns the widths that columns get in so many cells of a terminal; those at the right that have none are not shown.
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

// total is how many cells columns take together.
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
