package main

import (
	"bytes"
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
// RECORDING is a file of the folder results. WHAT is "telling" (the few rows of the README), "targets", "judged" (those targets that
// the recording can tell of), "plan", "conditions", "settings", or a group of measures.
var block = regexp.MustCompile(`(?s)(<!-- bench (\S+) (\S+) -->\n).*?(<!-- /bench -->\n)`)

// results is where recordings are kept.
const results = "results"

// filled returns a document's text with every block as its recording has it. folder is where recordings are.
func filled(text, folder string) (string, error) {
	recordings := map[string]recording{}
	var failed error
	blocks := 0
	text = block.ReplaceAllStringFunc(text, func(whole string) string {
		blocks++
		part := block.FindStringSubmatch(whole)
		rec, ok := recordings[part[2]]
		if !ok {
			var err error
			if rec, err = readRecording(filepath.Join(folder, part[2])); err != nil {
				failed = err
				return whole
			}
			recordings[part[2]] = rec
		}
		filling, err := fillingOf(part[3], rec)
		if err != nil {
			failed = fmt.Errorf("block %s %s: %w", part[2], part[3], err)
			return whole
		}
		return part[1] + filling + part[4]
	})
	if failed == nil && (blocks == 0 || blocks != strings.Count(text, "<!-- bench ")) {
		failed = fmt.Errorf("%d whole blocks of %d that begin", blocks, strings.Count(text, "<!-- bench "))
	}
	return text, failed
}

// fillingOf is what stands in a block.
func fillingOf(what string, rec recording) (string, error) {
	if len(rec.conditions) == 0 {
		return "", fmt.Errorf("the recording does not say its conditions")
	}
	var filling bytes.Buffer
	var err error
	switch what {
	case "conditions":
		for _, c := range rec.conditions {
			fmt.Fprintf(&filling, "%s\n\n", c)
		}
	case "settings":
		filling.WriteString(settingsOf(rec))
	case "telling":
		err = tellingTable(rec.samples).writeMarkdown(&filling)
		fmt.Fprintf(&filling, "\nMedians; in brackets how many times better chime is than that library with its better settings, round by round.\n")
		for _, run := range distinct(rec.samples.told(), func(s sample) int { return s.run }) {
			fmt.Fprintf(&filling, "%s\n", rec.conditions[run-1])
		}
	case "plan":
		err = planTable(rec.samples).writeMarkdown(&filling)
	case "targets":
		err = targetTable(rec.samples).writeMarkdown(&filling)
	case "judged":
		err = targetTable(rec.samples).without(string(notMeasured)).writeMarkdown(&filling)
	default:
		t := groupTable(rec.samples, what)
		if len(t.rows) == 0 {
			return "", fmt.Errorf("nothing of a group %q was recorded", what)
		}
		err = t.writeMarkdown(&filling)
	}
	return filling.String(), err
}

// groupTable has a row for every figure of a group's measures and a column for every peer: the median with the least and the
// most, and how many times better chime is.
func groupTable(all samples, group string) table {
	of := map[string]bool{}
	for _, m := range measures {
		of[m.name] = m.group == group
	}
	var own samples
	for _, s := range all {
		if of[s.Measure] {
			own = append(own, s)
		}
	}
	names := inOrder(distinct(own, func(s sample) string { return s.Peer }))
	t := table{heading: append([]string{""}, names...), numbers: make([]bool, 1+len(names))}
	for i := range t.numbers {
		t.numbers[i] = i > 0
	}
	type head struct {
		measure, figure, unit string
		less                  bool
	}
	for _, h := range distinct(own, func(s sample) head { return head{s.Measure, s.Figure, s.Unit, s.Less} }) {
		row := []string{h.measure + ": " + labelOf(h.figure, h.unit)}
		for _, name := range names {
			s, ok := own.spreadOf(h.measure, h.figure, name)
			if !ok {
				row = append(row, "–")
				continue
			}
			cell := s.String()
			if c, ok := own.compare(h.measure, h.figure, name, h.less); ok && name != chimePeer.name() {
				cell += " " + c.String()
			}
			row = append(row, cell)
		}
		if slices.ContainsFunc(row[1:], func(cell string) bool { return cell != "–" }) {
			t.rows = append(t.rows, row)
		}
	}
	return t
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
