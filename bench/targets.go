package main

import (
	"fmt"
	"slices"
	"strings"
)

// A target is the required value of a figure of chime: a factor to the best of some peers, or a limit.
type target struct {
	measure, figure string
	unit            string
	less            bool
	against         []string // libraries or peers; empty: all others
	factor          float64  // the required ratio of chime to the best of them; 0: limit counts
	limit           float64  // the greatest allowed value of chime
	least           float64  // at least this, if it is not 0
	longest         string   // a figure that is shown with it
}

// targets were set before this program was written, from figures of the peers and of a prototype.
var targets = slices.Concat(promised, shortScripts())

// shortScripts are the targets of all scripts: the server does nothing else while one runs.
func shortScripts() []target {
	var all []target
	for _, m := range limitMeasures() {
		all = append(all, target{measure: m.name, figure: "median", unit: "ms", limit: 5, longest: "longest"})
	}
	return all
}

var promised = []target{
	{measure: "process 100", figure: "jobs/s", against: []string{"asynq"}, factor: 9},
	{measure: "process 100", figure: "jobs/s", factor: 5},
	{measure: "process 10", figure: "jobs/s", against: []string{"asynq"}, factor: 5},
	{measure: "process 10", figure: "jobs/s", factor: 2.5},
	{measure: "enqueue alone", figure: "jobs/s", against: []string{"asynq"}, factor: 1.05},
	{measure: "enqueue 1", figure: "jobs/s", against: []string{"asynq"}, factor: 1.05},
	{measure: "enqueue 16", figure: "jobs/s", against: []string{"asynq"}, factor: 1.8},
	{measure: "enqueue 100", figure: "jobs/s", against: []string{"asynq"}, factor: 4.5},
	{measure: "enqueue 1000", figure: "jobs/s", against: []string{"asynq"}, factor: 4.5},
	{measure: "enqueue bulk", figure: "jobs/s", against: []string{"river"}, factor: 8},
	{measure: "life bulk", figure: "server CPU a job", unit: "µs", less: true, against: []string{"asynq"}, factor: 9},
	{measure: "life steady", figure: "server CPU a job", unit: "µs", less: true, against: []string{"asynq tuned"}, factor: 1},
	{measure: "process 100", figure: "client CPU a job", unit: "µs", less: true, against: []string{"asynq"}, factor: 7},
	{measure: "life steady", figure: "p50", unit: "ms", limit: 0.5},
	{measure: "life steady", figure: "p99", unit: "ms", limit: 1.4},
	{measure: "life with options", figure: "to a plain one, ID and Once", unit: "×", limit: 1.5},
	{measure: "life with options", figure: "to a plain one, Keep", unit: "×", limit: 2},
	{measure: "life with options", figure: "to a plain one, OnDeath", unit: "×", limit: 1.2},
	{measure: "limit not reached", figure: "of one without a limit", unit: "%", least: 80},
	{measure: "groups life", figure: "server CPU to plain ones", unit: "×", limit: 4},
	{measure: "groups life", figure: "server CPU to plain ones, 10 at once", unit: "×", limit: 6},
	{measure: "groups life", figure: "jobs/s of plain ones", unit: "%", least: 50},
	{measure: "groups memory", figure: "more than a plain one", unit: "B", limit: 300},
	{measure: "groups of one slot", figure: "share in handlers", unit: "%", least: 95},
	{measure: "groups beside a backlog", figure: "to an empty queue", unit: "×", limit: 2},
	{measure: "groups blocked", figure: "take beside blocked jobs", unit: "×", limit: 1.1},
	{measure: "groups blocked", figure: "take beside blocked groups", unit: "×", limit: 1.1},
	{measure: "groups by weight", figure: "from their slots", unit: "slots", limit: 1},
	{measure: "groups by weight", figure: "from their starts", unit: "%", limit: 1},
	{measure: "many 1ms", figure: "to one by one", unit: "×", least: 20},
	{measure: "enqueue batch", figure: "to EnqueueMany", unit: "×", least: 0.5},
	{measure: "300 queues", figure: "of one queue's, at once: 1", unit: "%", least: 80},
	{measure: "300 queues", figure: "of one queue's, at once: 10", unit: "%", least: 80},
	{measure: "delayed", figure: "p99", unit: "ms", limit: 3},
	{measure: "delayed", figure: "early", limit: 0},
	{measure: "idle", figure: "commands/s", limit: 0.6},
	{measure: "idle 4 queues", figure: "commands/s", limit: 2.1},
	{measure: "idle leader", figure: "commands/s", limit: 1},
	{measure: "idle leader of schedules", figure: "commands/s", limit: 1},
	{measure: "idle 50 + 1/s", figure: "commands a job", limit: 60},
	{measure: "memory waiting", figure: "memory a job", unit: "B", limit: 240},
	{measure: "memory delayed", figure: "memory a job", unit: "B", limit: 340},
	{measure: "crash", figure: "until it runs again", unit: "s", limit: 17},
	{measure: "metrics", figure: "a job costs more", unit: "ns", limit: 150},
	{measure: "metrics", figure: "allocations more", limit: 0},
	{measure: "metrics", figure: "not in use, allocations more", limit: 0},
	{measure: "metrics", figure: "the observer alone", unit: "ns", limit: 150},
	{measure: "metrics", figure: "the observer alone, allocations", limit: 0},
	{measure: "dashboard", figure: "page, p95", unit: "ms", limit: 200},
	{measure: "dashboard", figure: "page, sent", unit: "KB", limit: 100},
	{measure: "dashboard", figure: "page, server CPU", unit: "ms", limit: 5},
	{measure: "dashboard", figure: "page that looks through jobs, server CPU", unit: "ms", limit: 5},
	{measure: "dashboard", figure: "page, calls", limit: 400},
	{measure: "dashboard", figure: "scripts", unit: "KB", limit: 30},
	{measure: "dashboard", figure: "styles", unit: "KB", limit: 25},
	{measure: "dashboard", figure: "50 viewers, server CPU", unit: "ms/s", limit: 3},
	{measure: "dashboard", figure: "nobody looks, commands in 30 s", limit: 0},
	{measure: "dashboard", figure: "longest command", unit: "ms", limit: 10},
	{measure: "dashboard", figure: "commands that read all of something", limit: 0},
	{measure: deadMeasure, figure: "overview: p95", unit: "ms", limit: 200},
	{measure: deadMeasure, figure: "failures: p95", unit: "ms", limit: 200},
	{measure: deadMeasure, figure: "a group: p95", unit: "ms", limit: 200},
	{measure: deadMeasure, figure: "a filter: p95", unit: "ms", limit: 200},
	{measure: "next office hours UTC", figure: "time", unit: "ns", less: true, against: []string{"robfig"}, factor: 4},
	{measure: "next 15 min UTC", figure: "time", unit: "ns", less: true, against: []string{"robfig"}, factor: 4},
	{measure: "next weekdays UTC", figure: "time", unit: "ns", less: true, against: []string{"robfig"}, factor: 4},
	{measure: "next 29 Feb New_York old", figure: "time", unit: "ns", limit: 500},
	{measure: "next 5th Friday New_York old", figure: "time", unit: "ns", limit: 500},
	{measure: "next 29 Feb New_York old", figure: "allocations", limit: 0},
	{measure: "calendar weekdays but 100 dates UTC", figure: "next", unit: "ns", limit: 250},
	{measure: "calendar weekdays but 100 dates UTC", figure: "previous", unit: "ns", limit: 250},
	{measure: "calendar weekdays but 100 dates New_York", figure: "next", unit: "ns", limit: 700},
	{measure: "calendar weekdays but 100 dates New_York", figure: "previous", unit: "ns", limit: 700},
	{measure: "calendar weekdays but 100 dates New_York", figure: "next, allocations", limit: 0},
	{measure: "calendar weekdays but 100 dates New_York", figure: "previous, allocations", limit: 0},
	{measure: "calendar once in 28 years UTC", figure: "next", unit: "ns", limit: 10_000},
	{measure: "calendar once in 28 years New_York", figure: "next", unit: "ns", limit: 10_000},
	{measure: "calendar ended days New_York", figure: "first answer", unit: "µs", limit: 100},
	{measure: "calendar ended hours New_York", figure: "first answer", unit: "µs", limit: 2000},
	{measure: "calendar ended hours New_York", figure: "compile", unit: "ms", limit: 20},
	{measure: "http send", figure: "jobs/s", unit: "1/s", least: 990},
	{measure: "http send", figure: "CPU of the sender", unit: "cores", limit: 1},
	{measure: "http put", figure: "PUT, p99", unit: "ms", limit: 10},
	{measure: "http put", figure: "page of 100, p99", unit: "ms", limit: 20},
	{measure: "schedules with history", figure: "a history adds", unit: "B", limit: 1500},
	{measure: "schedules with history", figure: "without a history", unit: "B", limit: 200},
	{measure: "schedules 1000000", figure: "memory a schedule", unit: "B", limit: 600},
	{measure: "schedules 1000000", figure: "an occurrence alone to one of 1000", unit: "×", limit: 1.3},
	{measure: "schedules 1000000", figure: "an occurrence in batches to one of 1000", unit: "×", limit: 2},
}

// A result has a target and whether it is met.
type result string

const (
	met         result = "met"
	missed      result = "missed"
	notMeasured result = "not measured"
)

// evaluate returns the target, chime's value with the minimum and the maximum of the rounds, and whether the target is met. The median decides; if
// the longest of all calls exceeds the limit, the result mentions that too.
func (t target) evaluate(all samples) (wanted, reached string, v result) {
	chime, measured := all.spreadOf(t.measure, t.figure, chimePeer.name())
	if t.factor == 0 {
		wanted = "≤ " + quantity(t.limit)
		if t.least > 0 {
			wanted = "≥ " + quantity(t.least)
		}
		if !measured {
			return wanted, "", notMeasured
		}
		reached, v = chime.String(), passed(t.least == 0 && chime.median <= t.limit || t.least > 0 && chime.median >= t.least)
		if longest, ok := all.spreadOf(t.measure, t.longest, chimePeer.name()); ok && t.longest != "" {
			shown := fmt.Sprintf(", %s %s", t.longest, quantity(longest.most))
			reached += shown
			if longest.most > t.limit {
				v += result(shown + " " + t.unit)
			}
		}
		return wanted, reached, v
	}
	wanted = times(t.factor)
	if len(t.against) == 0 {
		wanted += " the best"
	} else {
		wanted += " " + strings.Join(t.against, ", ")
	}
	name, c, found := t.hardest(all)
	if !measured || !found {
		return wanted, "", notMeasured
	}
	peer, _ := all.spreadOf(t.measure, t.figure, name)
	return wanted, fmt.Sprintf("%s %s, %s to %s", c.ranged(), name, quantity(chime.median), quantity(peer.median)), passed(c.median >= t.factor)
}

func passed(ok bool) result {
	if ok {
		return met
	}
	return missed
}

// hardest returns the compared peer with the lowest ratio to chime.
func (t target) hardest(all samples) (name string, c comparison, found bool) {
	for _, peer := range distinct(all, func(s sample) string { return s.Peer }) {
		if peer == chimePeer.name() || !t.comparesWith(peer) {
			continue
		}
		if with, ok := all.compare(t.measure, t.figure, peer, t.less); ok && (!found || with.median < c.median) {
			name, c, found = peer, with, true
		}
	}
	return name, c, found
}

func (t target) comparesWith(peer string) bool {
	if len(t.against) == 0 {
		return true
	}
	for _, name := range t.against {
		if peer == name || libraryOf(peer) == name {
			return true
		}
	}
	return false
}

// libraryOf is the library in a peer's name.
func libraryOf(peer string) string {
	library, _, _ := strings.Cut(peer, " ")
	return library
}

// without leaves out the rows that end with this cell.
func (t table) without(last string) table {
	t.rows = slices.DeleteFunc(slices.Clone(t.rows), func(row []string) bool { return row[len(row)-1] == last })
	return t
}

// withAOF returns a target's figure with an append-only file: the ratio, or chime's value.
func (t target) withAOF(aof samples) string {
	if t.factor > 0 {
		if name, c, ok := t.hardest(aof); ok {
			return c.ranged() + " " + name
		}
	} else if s, ok := aof.spreadOf(t.measure, t.figure, chimePeer.name()); ok {
		return s.String()
	}
	return "–"
}

// targetTable has a row for every target, and a column for what was recorded with an append-only file, if anything was.
func targetTable(all samples, aof ...sample) table {
	t := table{heading: []string{"measure", "figure", "target", "measured"}}
	if len(aof) > 0 {
		t.heading = append(t.heading, "with AOF")
	}
	t.heading = append(t.heading, "result")
	t.numbers = make([]bool, len(t.heading))
	for _, one := range targets {
		wanted, reached, v := one.evaluate(all)
		row := []string{one.measure, labelOf(one.figure, one.unit), wanted, reached}
		if len(aof) > 0 {
			row = append(row, one.withAOF(aof))
		}
		t.rows = append(t.rows, append(row, string(v)))
	}
	return t
}
