package main

import (
	"fmt"
	"math"
)

// share of a core that a plan may count on: the rest is for bursts, snapshots and what was not thought of.
const plannedShare = 0.7

// gibibytes of data that a plan gives to one node: what a machine of 64 GiB holds with room to fork.
const plannedGiB = 40

// planned is what follows from a figure of chime, in a reader's words.
type planned struct {
	text            string
	measure, figure string
	of              func(value float64) float64
}

func perCore(microseconds float64) float64 { return plannedShare * 1e6 / microseconds }
func perGiB(bytes float64) float64         { return (1 << 30) / bytes }
func billionGiB(bytes float64) float64     { return 1e9 * bytes / (1 << 30) }

var plan = []planned{
	{"jobs/s through one Redis, enqueued and worked off in batches", "life bulk", "server CPU a job", perCore},
	{"jobs/s through one Redis, each enqueued and taken alone", "life steady", "server CPU a job", perCore},
	{"jobs/s that a worker's core takes and settles, besides their handlers", "process 100", "client CPU a job", perCore},
	{"jobs/s that an enqueuing core sends in bulk", "enqueue bulk", "client CPU a job", perCore},
	{"waiting jobs in a GiB, with 100 bytes of payload", "memory waiting", "memory a job", perGiB},
	{"delayed jobs in a GiB, likewise", "memory delayed", "memory a job", perGiB},
	{"schedules in a GiB, with a definition of 250 bytes", "schedules 1000000", "memory a schedule", perGiB},
	{"occurrences/s through one Redis, in batches, with 1,000,000 schedules", "schedules 1000000", "an occurrence in batches", perCore},
	{"occurrences/s through one Redis, each alone, with 1,000,000 schedules", "schedules 1000000", "an occurrence alone", perCore},
	{"a billion schedules: memory, GiB", "schedules 1000000", "memory a schedule", billionGiB},
	{fmt.Sprintf("… nodes of %d GiB of data each", plannedGiB), "schedules 1000000", "memory a schedule", func(bytes float64) float64 {
		return math.Ceil(billionGiB(bytes) / plannedGiB)
	}},
	{"… nodes for their occurrences, were each to run once an hour", "schedules 1000000", "an occurrence in batches", func(microseconds float64) float64 {
		return math.Ceil(1e9 / 3600 / perCore(microseconds))
	}},
	{"… nodes, were each to run once a day", "schedules 1000000", "an occurrence in batches", func(microseconds float64) float64 {
		return math.Ceil(1e9 / 86400 / perCore(microseconds))
	}},
	{"… hours to declare them all, one node at a time", "schedules 1000000", "declared", func(perSecond float64) float64 { return 1e9 / perSecond / 3600 }},
}

// planTable says what follows from the figures; rows whose figure was not measured are left out.
func planTable(all samples) table {
	t := table{heading: []string{"", "plan with", "from", "measured"}, numbers: []bool{false, true, false, true}}
	for _, row := range plan {
		s, ok := all.spreadOf(row.measure, row.figure, chimePeer.name())
		if !ok {
			continue
		}
		t.rows = append(t.rows, []string{row.text, quantity(rounded(row.of(s.median))), row.measure + ": " + row.figure, quantity(s.median)})
	}
	return t
}

// rounded keeps two digits: a plan that pretends to know more deceives.
func rounded(value float64) float64 {
	if value <= 0 {
		return value
	}
	unit := math.Pow(10, math.Floor(math.Log10(value))-1)
	return math.Round(value/unit) * unit
}
