package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/chimejobs/chime/internal/format"
)

// A table is rows of cells below a heading.
type table struct {
	heading []string
	numbers []bool // which columns are aligned to the right
	rows    [][]string
}

// writeTable writes the table as text or as Markdown.
func writeTable(w io.Writer, t table, markdown bool) error {
	if markdown {
		return t.writeMarkdown(w)
	}
	return t.writeText(w)
}

func (t table) writeText(w io.Writer) error {
	wide := make([]int, len(t.heading))
	for _, row := range append([][]string{t.heading}, t.rows...) {
		for i, cell := range row {
			wide[i] = max(wide[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range append([][]string{t.heading}, t.rows...) {
		var text strings.Builder
		for i, cell := range row {
			gap := strings.Repeat(" ", wide[i]-utf8.RuneCountInString(cell))
			if t.numbers[i] {
				text.WriteString(gap + cell + "  ")
			} else {
				text.WriteString(cell + gap + "  ")
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(text.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

func (t table) writeMarkdown(w io.Writer) error {
	rule := make([]string, len(t.heading))
	for i := range rule {
		rule[i] = "---"
		if t.numbers[i] {
			rule[i] = "---:"
		}
	}
	for _, row := range append([][]string{t.heading, rule}, t.rows...) {
		if _, err := fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | ")); err != nil {
			return err
		}
	}
	return nil
}

// ratioMeans is the text above every table with ratios.
const ratioMeans = "The last column is how many times better chime is than the peer, round by round, and the median of that: above 1 chime is better, whether more or less is better."

// writeReport writes the conditions, and a table for each measure.
func writeReport(w io.Writer, rec recording, markdown bool) error {
	for _, c := range rec.conditions {
		if _, err := fmt.Fprintln(w, c); err != nil {
			return err
		}
	}
	if len(distinct(rec.samples, func(s sample) string { return s.Peer })) > 1 {
		if _, err := fmt.Fprintf(w, "%s\n%s", settingsOf(rec), ratioMeans+"\n"); err != nil {
			return err
		}
	}
	for _, name := range distinct(rec.samples, func(s sample) string { return s.Measure }) {
		title := name
		if i := slices.IndexFunc(measures, func(m measure) bool { return m.name == name }); i >= 0 {
			title += ": " + measures[i].about
		}
		if markdown {
			title = "### " + title + "\n"
		}
		if _, err := fmt.Fprintf(w, "\n%s\n", title); err != nil {
			return err
		}
		if err := writeTable(w, measureTable(rec.samples, name), markdown); err != nil {
			return err
		}
	}
	return nil
}

// measureTable has a row for every figure of a measure and every peer.
func measureTable(all samples, name string) table {
	t := table{
		heading: []string{"figure", "peer", "median", "least", "most", "rounds", "chime is"},
		numbers: []bool{false, false, true, true, true, true, true},
	}
	var own samples
	for _, s := range all {
		if s.Measure == name {
			own = append(own, s)
		}
	}
	type head struct {
		figure, unit string
		less         bool
	}
	for _, h := range distinct(own, func(s sample) head { return head{s.Figure, s.Unit, s.Less} }) {
		text := labelOf(h.figure, h.unit)
		for _, peer := range inOrder(distinct(own, func(s sample) string { return s.Peer })) {
			s, ok := own.spreadOf(name, h.figure, peer)
			if !ok {
				continue
			}
			better := ""
			if c, ok := own.compare(name, h.figure, peer, h.less); ok && peer != chimePeer.name() {
				better = c.String()
			}
			t.rows = append(t.rows, []string{text, peer, s.middle(), s.bound(s.rounds) + quantity(s.least),
				s.bound(1) + quantity(s.most), strconv.Itoa(s.rounds), better})
			text = ""
		}
	}
	return t
}

// inOrder sorts peers in the order of the list of peers; unknown ones follow in their own order.
func inOrder(names []string) []string {
	place := func(name string) int {
		if i := slices.IndexFunc(peers, func(p peer) bool { return p.name() == name }); i >= 0 {
			return i
		}
		return len(peers)
	}
	slices.SortStableFunc(names, func(a, b string) int { return place(a) - place(b) })
	return names
}

// settingsOf has a line for each peer that took part: its settings.
func settingsOf(rec recording) string {
	var text strings.Builder
	for _, name := range inOrder(distinct(rec.samples, func(s sample) string { return s.Peer })) {
		for _, c := range rec.conditions {
			if about := c.Settings[name]; about != "" {
				fmt.Fprintf(&text, "- %s: %s\n", name, about)
				break
			}
		}
	}
	return text.String()
}

// labelOf returns the name of a figure with its unit if the name does not contain it.
func labelOf(figure, unit string) string {
	switch {
	case unit == "", unit == "1/s" && strings.Contains(figure, "/s"):
		return figure
	}
	return figure + ", " + unit
}

func times(ratio float64) string {
	switch {
	case ratio >= 99.95:
		return format.Grouped(strconv.FormatFloat(ratio, 'f', 0, 64)) + " ×"
	case ratio >= 9.995:
		return strconv.FormatFloat(ratio, 'f', 1, 64) + " ×"
	}
	return strconv.FormatFloat(ratio, 'f', 2, 64) + " ×"
}

// quantity prints a value with three or so digits that mean something: 113,992 and 23.9 and 0.062.
func quantity(value float64) string {
	size := math.Abs(value)
	switch {
	case value == math.Trunc(value), size >= 99.95:
		return format.Grouped(strconv.FormatFloat(value, 'f', 0, 64))
	case size >= 9.995:
		return strconv.FormatFloat(value, 'f', 1, 64)
	case size >= 1:
		return strconv.FormatFloat(value, 'f', 2, 64)
	}
	return strconv.FormatFloat(value, 'g', 2, 64)
}
