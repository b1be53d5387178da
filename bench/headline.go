package main

import (
	"fmt"
	"strconv"
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
	{"jobs/s enqueued by one goroutine, whose ctx never ends", "enqueue alone", "jobs/s", false},
	{"jobs/s enqueued by one goroutine, whose ctx may end", "enqueue 1", "jobs/s", false},
	{"jobs/s enqueued by 16 goroutines", "enqueue 16", "jobs/s", false},
	{"jobs/s enqueued by 1,000 goroutines", "enqueue 1000", "jobs/s", false},
	{"jobs/s enqueued in bulk", "enqueue bulk", "jobs/s", false},
	{"enqueue to start at 2,000 jobs/s, p99, ms", "life steady", "p99", true},
	{"delayed jobs, distance from their instant, p99, ms", "delayed", "p99", true},
	{"server CPU a job over its life, in batches, µs", "life bulk", "server CPU a job", true},
	{"server CPU a job over its life, at 2,000 jobs/s, each alone, µs", "life steady", "server CPU a job", true},
	{"bytes in the server for a waiting job", "memory waiting", "memory a job", true},
	{"crash of a worker to its job running again, s", "crash", "until it runs again", true},
}

// tellingTable compares chime with the better setting of each library, row by row.
func tellingTable(all samples) table {
	chime := chimePeer.name()
	var libraries []string
	for _, p := range peers {
		if p.library != chimePeer.library && (len(libraries) == 0 || libraries[len(libraries)-1] != p.library) {
			libraries = append(libraries, p.library)
		}
	}
	t := table{heading: append(append([]string{"", "chime"}, libraries...), "rounds"), numbers: make([]bool, 3+len(libraries))}
	for i := range t.numbers {
		t.numbers[i] = i > 0
	}
	for _, row := range tellings {
		own, ok := all.spreadOf(row.measure, row.figure, chime)
		if !ok {
			continue
		}
		cells := []string{row.text, own.String()}
		for _, library := range libraries {
			name, c, found := target{measure: row.measure, figure: row.figure, less: row.less, against: []string{library}}.hardest(all)
			if !found {
				cells = append(cells, "–")
				continue
			}
			s, _ := all.spreadOf(row.measure, row.figure, name)
			cells = append(cells, fmt.Sprintf("%s · %s", s, c))
		}
		cells = append(cells, strconv.Itoa(own.rounds))
		t.rows = append(t.rows, cells)
	}
	return t
}

// told are the samples that the README's table shows.
func (s samples) told() samples {
	var shown samples
	for _, one := range s {
		for _, row := range tellings {
			if row.measure == one.Measure && row.figure == one.Figure {
				shown = append(shown, one)
			}
		}
	}
	return shown
}
