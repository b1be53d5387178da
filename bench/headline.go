package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A headline is a figure of a measure in a reader's words: a row of a table that compares libraries.
type headline struct {
	text            string
	measure, figure string
	less            bool
}

// headlines are the rows of the README: what a visitor asks first, and one of what others do better.
var headlines = []headline{
	{"jobs/s worked off, 100 at once", "process 100", "jobs/s", false},
	{"jobs/s enqueued by 1,000 goroutines", "enqueue 1000", "jobs/s", false},
	{"jobs/s enqueued by one goroutine", "enqueue alone", "jobs/s", false},
	{"ms from enqueuing to start at 2,000 jobs/s, p99", "life steady", "p99", true},
	{"seconds from the crash of a worker until its job runs again", "crash", "until it runs again", true},
}

// details are the rows of the longer table.
var details = []headline{
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

// hardest is the setting of a library with the lowest ratio to chime.
func (h headline) hardest(all samples, library string) (peer string, c comparison, found bool) {
	return target{measure: h.measure, figure: h.figure, less: h.less, against: []string{library}}.hardest(all)
}

// otherLibraries are those that chime is compared with, in the order of the list of peers.
func otherLibraries() []string {
	return slices.DeleteFunc(slices.Compact(librariesOf(peers)), func(name string) bool { return name == chimePeer.library })
}

func librariesOf(peers []peer) (names []string) {
	for _, p := range peers {
		names = append(names, p.library)
	}
	return names
}

// headlineTable has the medians alone. rounds is how many most rows have; the others say theirs.
func headlineTable(all samples) (t table, rounds int) {
	return compareTable(all, headlines, spread.middle, func(s spread, _ comparison) string { return s.middle() })
}

// detailTable has the spread of the rounds too, and how many times better chime is.
func detailTable(all samples) (t table, rounds int) {
	return compareTable(all, details, spread.String, func(s spread, c comparison) string { return fmt.Sprintf("%s · %s", s, c) })
}

// compareTable compares chime with the better setting of each library, row by row. own and other make the cells.
func compareTable(all samples, rows []headline, own func(spread) string, other func(spread, comparison) string) (t table, rounds int) {
	t.heading = slices.Concat([]string{"", chimePeer.name()}, otherLibraries())
	t.numbers = make([]bool, len(t.heading))
	for i := range t.numbers {
		t.numbers[i] = i > 0
	}
	var counts []int // rounds of each row
	for _, row := range rows {
		chime, ok := all.spreadOf(row.measure, row.figure, chimePeer.name())
		if !ok {
			continue
		}
		cells := []string{row.text, own(chime)}
		for _, library := range otherLibraries() {
			name, c, found := row.hardest(all, library)
			if !found {
				cells = append(cells, "–")
				continue
			}
			s, _ := all.spreadOf(row.measure, row.figure, name)
			cells = append(cells, other(s, c))
		}
		t.rows, counts = append(t.rows, cells), append(counts, chime.rounds)
	}
	return t, t.sayRounds(counts)
}

// slowHandlers is the row that the note below the headlines is about.
var slowHandlers = headline{"jobs/s with handlers of 50 ms", "handlers 50ms", "jobs/s", false}

// alikeWithin is the maximum difference, in percent, of figures that are called alike.
const alikeWithin = 25

// headlineNote explains what the headlines measure, and how slow handlers change the first one; handlers is the recording with slow handlers.
func headlineNote(rounds int, handlers samples) (string, error) {
	slow, ok := handlers.spreadOf(slowHandlers.measure, slowHandlers.figure, chimePeer.name())
	if !ok {
		return "", fmt.Errorf("%s was not recorded", slowHandlers.measure)
	}
	rates, texts := []float64{slow.median}, []string{fmt.Sprintf("%s %s", chimePeer.name(), quantity(slow.median))}
	for _, library := range otherLibraries() {
		name, _, found := slowHandlers.hardest(handlers, library)
		if !found {
			continue
		}
		s, _ := handlers.spreadOf(slowHandlers.measure, slowHandlers.figure, name)
		rates, texts = append(rates, s.median), append(texts, fmt.Sprintf("%s %s", library, quantity(s.median)))
	}
	apart, alike := 100*(slices.Max(rates)/slices.Min(rates)-1), "are alike and differ by at most"
	if apart > alikeWithin {
		alike = "differ by up to"
	}
	return fmt.Sprintf("The figures are medians of %s. Each library has its default settings or tuned ones, whichever were better in that row. In the first row the handlers "+
		"do nothing, so it shows the overhead of the library. The figure of asynq depends on how fast the machine wakes a process. "+
		"If each handler takes 50 ms (100 at once, %s), the libraries %s %.0f %%: %s jobs/s. Spread, machine and settings are in docs/performance.md.",
		roundsOf(rounds), roundsOf(slow.rounds), alike, max(1, math.Ceil(apart)), strings.Join(texts, ", ")), nil
}

// wakingNote states the range of asynq's figure in the recording, which varies more between runs than the figures of others.
func wakingNote(all samples) (string, error) {
	var least, most float64
	for _, p := range []peer{asynqDefaults, asynqTuned} {
		s, ok := all.spreadOf("process 100", "jobs/s", p.name())
		if !ok {
			return "", fmt.Errorf("process 100 of %s was not recorded", p.name())
		}
		if least == 0 || s.least < least {
			least = s.least
		}
		most = max(most, s.most)
	}
	return fmt.Sprintf("In this recording asynq worked off %s to %s jobs/s, 100 at once, over all rounds and both settings.", quantity(least), quantity(most)), nil
}
