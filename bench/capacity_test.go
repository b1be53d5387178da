package main

import (
	"slices"
	"strings"
	"testing"
)

func TestThePlanFollowsFromTheFigures(t *testing.T) {
	all := samples{
		told("life bulk", "server CPU a job", "µs", true, "chime", 1, 4),
		told("schedules 1000000", "memory a schedule", "B", true, "chime", 1, 640),
		told("schedules 1000000", "of it the registry", "B", true, "chime", 1, 64),
		told("schedules 1000", "an occurrence in batches", "µs", true, "chime", 1, 29),
		told("schedules 1000000", "an occurrence in batches", "µs", true, "chime", 1, 35),
		told("schedules put", "created", "1/s", false, "chime", 1, 3000),
	}
	want := map[string]string{
		"jobs/s through one Redis, enqueued and worked off in batches": "180,000", // 0.7 s / 4 µs, two digits
		"schedules in a GiB, with a definition of 250 bytes":           "1,700,000",
		"a billion schedules: memory without the registry, GiB":        "540", // 576 bytes each
		"… nodes of 40 GiB of data each":                               "14",
		"… partitions, were nodes to double once":                      "28",
		"… nodes for their occurrences, were each to run once an hour": "16", // 277,778/s; 71 million a node, hence 38.7 µs and 18,088/s
		"… nodes, were each to run once a day":                         "1",
		"… the registry of names, GiB":                                 "60",
		"… namespaces, for a registry is one key on one node":          "2",
		"… hours to create them one by one, from one goroutine":        "93",
	}
	rows := planTable(all).rows
	for text, value := range want {
		if !slices.ContainsFunc(rows, func(row []string) bool { return row[0] == text && row[1] == value }) {
			t.Errorf("no row %q with %s in %q", text, value, rows)
		}
	}
	if slices.ContainsFunc(rows, func(row []string) bool { return strings.Contains(row[0], "waiting") }) {
		t.Error("a row about what was not measured")
	}
}

func TestThePlanKnowsItsMeasures(t *testing.T) {
	for _, row := range plan {
		for _, from := range row.from {
			if !slices.Contains(measureNames(), from.measure) {
				t.Errorf("no measure is called %q", from.measure)
			}
		}
	}
}
