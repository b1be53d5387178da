package main

import "strings"

// pageFigures are the figures of each kind of page, in the order of the table's columns.
var pageFigures = []struct{ name, unit string }{{pageTime, "ms"}, {pageCPU, "ms"}, {pageCommands, ""}, {pageSends, ""}, {pageSent, "KB"}}

// ofPage reports whether a figure is of one kind of page: those have a table of their own.
func ofPage(figure string) bool { return strings.HasPrefix(figure, "/") }

// pagesTable has a row for each kind of page of the dashboard.
func pagesTable(all samples) (t table, rounds int) {
	t = table{heading: []string{"page"}, numbers: []bool{false}}
	for _, f := range pageFigures {
		t.heading, t.numbers = append(t.heading, labelOf(strings.TrimPrefix(f.name, ": "), f.unit)), append(t.numbers, true)
	}
	for _, kind := range pageKinds {
		row, recorded := []string{kind.name}, false
		for _, f := range pageFigures {
			s, ok := all.spreadOf(dashboardName, kind.name+f.name, chimePeer.name())
			if recorded, rounds = recorded || ok, max(rounds, s.rounds); !ok {
				row = append(row, "–")
				continue
			}
			row = append(row, s.String())
		}
		if recorded {
			t.rows = append(t.rows, row)
		}
	}
	return t, rounds
}
