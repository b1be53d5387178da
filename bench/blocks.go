package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A document has blocks that this program fills in, so that no figure in it is typed by hand:
//
//	<!-- bench RECORDING WHAT -->
//	…
//	<!-- /bench -->
//
// RECORDING is a file of the folder results. WHAT is "headline" (the few rows of the README), "detailed" (more rows, with their spread),
// "waking" (asynq's range), "pages" (the dashboard's), "targets", "judged" (those targets whose figure the recording has), "plan", "conditions", "settings", or a
// group of measures. A second RECORDING follows "headline": it has the handlers that wait; and "targets" or "judged": one with an
// append-only file, which adds a column.
var block = regexp.MustCompile(`(?s)(<!-- bench (\S+) (\S+)(?: (\S+))? -->\n).*?(<!-- /bench -->\n)`)

// results is where recordings are kept.
const results = "results"

// filled returns a document's text with every block filled from its recording. folder has the recordings.
func filled(text, folder string) (string, error) {
	recordings := map[string]recording{"": {}}
	read := func(name string) (recording, error) {
		if rec, ok := recordings[name]; ok {
			return rec, nil
		}
		rec, err := readRecording(filepath.Join(folder, name))
		if err == nil {
			err = rec.even()
		}
		recordings[name] = rec
		return rec, err
	}
	var failed error
	blocks := 0
	text = block.ReplaceAllStringFunc(text, func(whole string) string {
		blocks++
		part := block.FindStringSubmatch(whole)
		rec, err := read(part[2])
		var second recording
		if err == nil {
			second, err = read(part[4])
		}
		var filling string
		if err == nil {
			filling, err = fillingOf(part[3], rec, second)
		}
		if err != nil {
			failed = fmt.Errorf("block %s %s: %w", part[2], part[3], err)
			return whole
		}
		return part[1] + filling + part[5]
	})
	if failed == nil && (blocks == 0 || blocks != strings.Count(text, "<!-- bench ")) {
		failed = fmt.Errorf("%d whole blocks of %d that begin", blocks, strings.Count(text, "<!-- bench "))
	}
	return text, failed
}

// fillingOf returns the content of a block. second is the block's second recording; it may be empty.
func fillingOf(what string, rec, second recording) (string, error) {
	if len(rec.conditions) == 0 {
		return "", fmt.Errorf("the recording does not say its conditions")
	}
	if len(second.samples) > 0 && !slices.Contains([]string{"headline", "targets", "judged"}, what) {
		return "", fmt.Errorf("%s takes no second recording", what)
	}
	var filling bytes.Buffer
	var err error
	switch what {
	case "conditions":
		filling.WriteString(conditionsOf(rec, rec.samples))
	case "settings":
		filling.WriteString(settingsOf(rec))
	case "headline":
		t, rounds := headlineTable(rec.samples)
		note, failed := headlineNote(rounds, second.samples)
		err = errors.Join(failed, t.writeMarkdown(&filling))
		fmt.Fprintf(&filling, "\n%s %s\n", note, recordedOf(rec))
	case "detailed":
		t, rounds := detailTable(rec.samples)
		err = t.writeMarkdown(&filling)
		fmt.Fprintf(&filling, "\n%s A library is shown with the one of its settings that chime is the fewest times better than.\n", footerOf(rounds, true))
	case "waking":
		var note string
		note, err = wakingNote(rec.samples)
		fmt.Fprintf(&filling, "%s\n", note)
	case "plan":
		err = planTable(rec.samples).writeMarkdown(&filling)
		fmt.Fprintf(&filling, "\n%s\n", planNotes(rec.samples))
	case "targets":
		err = targetTable(rec.samples, second.samples...).writeMarkdown(&filling)
	case "judged":
		err = targetTable(rec.samples, second.samples...).without(string(notMeasured)).writeMarkdown(&filling)
	case "pages":
		t, rounds := pagesTable(rec.samples)
		err = t.writeMarkdown(&filling)
		fmt.Fprintf(&filling, "\n%s\n", footerOf(rounds, false))
	default:
		t, rounds := groupTable(rec.samples, what)
		if len(t.rows) == 0 {
			return "", fmt.Errorf("nothing of a group %q was recorded", what)
		}
		err = t.writeMarkdown(&filling)
		fmt.Fprintf(&filling, "\n%s\n", footerOf(rounds, len(t.heading) > 2))
	}
	return filling.String(), err
}

// cellMeans is the text below the tables of documents.
const cellMeans = "A cell is the median of the rounds (least–most) · how many times better chime is: the median of the ratios of each round, " +
	"above 1 where chime is better."

// footerOf explains a group's table.
func footerOf(rounds int, compared bool) string {
	if compared {
		return fmt.Sprintf("%s %s.", cellMeans, roundsOf(rounds))
	}
	if rounds == 1 {
		return "1 round."
	}
	return fmt.Sprintf("A cell is the median of the rounds (least–most). %s.", roundsOf(rounds))
}

func roundsOf(n int) string {
	if n == 1 {
		return "1 round"
	}
	return fmt.Sprintf("%d rounds", n)
}

// conditionsOf has a line for each run of the samples: its machine, versions and date. A run with the same machine and versions as the previous
// one has only a short line.
func conditionsOf(rec recording, shown samples) string {
	var text strings.Builder
	last := ""
	for _, run := range distinct(shown, func(s sample) int { return s.run }) {
		c := rec.conditions[run-1]
		line, occasion := c.String(), strings.Join(append([]string{c.Date}, c.Flags...), " ")
		machine := c
		machine.Date, machine.Flags = "", nil
		if common := machine.String(); common == last {
			line = "The same, " + occasion + "."
		} else {
			last = common
		}
		fmt.Fprintf(&text, "- %s\n", line)
	}
	return text.String()
}

// recordedOf returns the sentence that names the date and the revision of each run from which the headlines come.
func recordedOf(rec recording) string {
	var shown samples
	for _, one := range rec.samples {
		if slices.ContainsFunc(headlines, func(h headline) bool { return h.measure == one.Measure && h.figure == one.Figure }) {
			shown = append(shown, one)
		}
	}
	runs := distinct(shown, func(s sample) string {
		c := rec.conditions[s.run-1]
		return fmt.Sprintf("%s (revision %.7s)", c.Date, c.Revision)
	})
	if len(runs) > 1 {
		return fmt.Sprintf("The rows of the table were recorded in %d runs: %s.", len(runs), strings.Join(runs, " and "))
	}
	return "Recorded on " + strings.Join(runs, " and ") + "."
}

// groupTable has a row for every figure of a group's measures and a column for every peer: the median with the least and the
// most, and how many times better chime is. rounds is the number of rounds of most rows; other rows state their own.
func groupTable(all samples, group string) (t table, rounds int) {
	of := map[string]bool{}
	for _, m := range measures {
		of[m.name] = m.group == group
	}
	var own samples
	for _, s := range all {
		if of[s.Measure] && !ofPage(s.Figure) {
			own = append(own, s)
		}
	}
	names := inOrder(distinct(own, func(s sample) string { return s.Peer }))
	t = table{heading: append([]string{""}, names...), numbers: make([]bool, 1+len(names))}
	for i := range t.numbers {
		t.numbers[i] = i > 0
	}
	type head struct {
		measure, figure, unit string
		less                  bool
	}
	var counts []int // rounds of each row
	for _, h := range distinct(own, func(s sample) head { return head{s.Measure, s.Figure, s.Unit, s.Less} }) {
		row, took := []string{h.measure + ": " + labelOf(h.figure, h.unit)}, 0
		for _, name := range names {
			s, ok := own.spreadOf(h.measure, h.figure, name)
			if !ok {
				row = append(row, "–")
				continue
			}
			cell := s.String()
			if c, ok := own.compare(h.measure, h.figure, name, h.less); ok && name != chimePeer.name() {
				cell += " · " + c.String()
			}
			row = append(row, cell)
			took = max(took, s.rounds)
		}
		if slices.ContainsFunc(row[1:], func(cell string) bool { return cell != "–" }) {
			t.rows = append(t.rows, row)
			counts = append(counts, took)
		}
	}
	return t, t.sayRounds(counts)
}

// sayRounds adds the number of rounds to each row that differs from most rows, and returns the number of most rows.
func (t table) sayRounds(counts []int) (rounds int) {
	rounds = mostFrequent(counts)
	for i, n := range counts {
		if n != rounds {
			t.rows[i][0] += " (" + roundsOf(n) + ")"
		}
	}
	return rounds
}

// mostFrequent returns the most frequent number; the greatest if several are equally frequent, and 0 without numbers.
func mostFrequent(numbers []int) (frequent int) {
	times := map[int]int{}
	for _, n := range numbers {
		times[n]++
	}
	for n, of := range times {
		if of > times[frequent] || of == times[frequent] && n > frequent {
			frequent = n
		}
	}
	return frequent
}

// fill fills in the blocks of a document.
func fill(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	new, err := filled(string(text), results)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(name, []byte(new), 0o644)
}
