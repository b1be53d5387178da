package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
)

// The block of the README lies between these two lines.
const (
	readmeBegin = "<!-- bench -->\n"
	readmeEnd   = "<!-- /bench -->\n"
)

// A telling is a row of the README's table: a figure of a measure in a reader's words.
type telling struct {
	text            string
	measure, figure string
	less            bool
}

var tellings = []telling{
	{"jobs/s worked off, 100 at once", "process 100", "jobs/s", false},
	{"jobs/s worked off, 10 at once", "process 10", "jobs/s", false},
	{"jobs/s worked off, one at a time", "process 1", "jobs/s", false},
	{"jobs/s enqueued by one goroutine", "enqueue 1", "jobs/s", false},
	{"jobs/s enqueued by 16 goroutines", "enqueue 16", "jobs/s", false},
	{"jobs/s enqueued by 1,000 goroutines", "enqueue 1000", "jobs/s", false},
	{"jobs/s enqueued in bulk", "enqueue bulk", "jobs/s", false},
	{"enqueue to start at 2,000 jobs/s, p99, ms", "life steady", "p99", true},
	{"delayed jobs, distance from their instant, p99, ms", "delayed", "p99", true},
	{"server CPU a job over its life, µs", "life bulk", "server CPU a job", true},
	{"bytes in the server for a waiting job", "memory waiting", "memory a job", true},
	{"crash of a worker to its job running again, s", "crash", "until it runs again", true},
}

// readmeTable compares chime with the better setting of each library, row by row.
func readmeTable(all samples) table {
	chime := chimePeer.name()
	var libraries []string
	for _, p := range peers {
		if p.library != chimePeer.library && (len(libraries) == 0 || libraries[len(libraries)-1] != p.library) {
			libraries = append(libraries, p.library)
		}
	}
	t := table{heading: append([]string{"", "chime"}, libraries...), numbers: make([]bool, 2+len(libraries))}
	for i := range t.numbers {
		t.numbers[i] = i > 0
	}
	for _, row := range tellings {
		own, ok := all.spreadOf(row.measure, row.figure, chime)
		if !ok {
			continue
		}
		cells := []string{row.text, quantity(own.median)}
		for _, library := range libraries {
			best, _, found := target{measure: row.measure, figure: row.figure, less: row.less, against: []string{library}}.best(all)
			if !found {
				cells = append(cells, "–")
				continue
			}
			cells = append(cells, fmt.Sprintf("%s (%s)", quantity(best), times(ratio(own.median, best, row.less))))
		}
		t.rows = append(t.rows, cells)
	}
	return t
}

// readmeBlock is what stands between the two lines of the README.
func readmeBlock(rec recording) (string, error) {
	if len(rec.conditions) == 0 {
		return "", errors.New("the recording does not say its conditions")
	}
	var block bytes.Buffer
	if err := readmeTable(rec.samples).writeMarkdown(&block); err != nil {
		return "", err
	}
	fmt.Fprintf(&block, "\nMedians; in brackets how many times better chime is than the better of that library's settings.\n")
	fmt.Fprintf(&block, "%s\n", rec.conditions[0])
	return block.String(), nil
}

// filled returns the README's text with the block in its place.
func filled(text, block string) (string, error) {
	before, rest, ok := strings.Cut(text, readmeBegin)
	_, after, closed := strings.Cut(rest, readmeEnd)
	if !ok || !closed {
		return "", fmt.Errorf("no block between %q and %q", strings.TrimSpace(readmeBegin), strings.TrimSpace(readmeEnd))
	}
	return before + readmeBegin + block + readmeEnd + after, nil
}

func fillReadme(name string, rec recording) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	block, err := readmeBlock(rec)
	if err != nil {
		return err
	}
	new, err := filled(string(text), block)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(name, []byte(new), 0o644)
}
