package main

import (
	"slices"
	"strings"
	"testing"
)

func TestThePlanFollowsFromTheFigures(t *testing.T) {
	all := samples{
		sampleOf("life bulk", "server CPU a job", "µs", true, "chime", 1, 4),
		sampleOf("schedules 1000000", "memory a schedule", "B", true, "chime", 1, 640),
		sampleOf("schedules 1000000", "of it the registry", "B", true, "chime", 1, 64),
		sampleOf("schedules 1000000", "an occurrence in batches", "µs", true, "chime", 1, 35),
		sampleOf("schedules 1000000", "an occurrence in batches to one of 1000", "×", true, "chime", 1, 35.0/29),
		sampleOf("schedules put", "created", "1/s", false, "chime", 1, 3000),
	}
	want := map[string]string{
		"jobs/s through one Redis, enqueued and worked off in batches":                                                       "180,000", // 0.7 s / 4 µs, two digits
		"schedules in a GiB, with a definition of 250 bytes":                                                                 "1,700,000",
		"a billion schedules: memory without the registry, GiB":                                                              "540", // 576 bytes each
		"… nodes of 40 GiB of data each":                                                                                     "14",
		"… GiB of RAM in each, with room for a fork's copy":                                                                  "80",
		"… schedules on each":                                                                                                "71,000,000",
		"… partitions to set (redisstore.Options.Partitions), for twice as many nodes":                                       "28",
		"… server CPU of an occurrence there, in batches, extrapolated, µs":                                                  "39",
		"… nodes for their occurrences, if each runs once an hour":                                                           "16", // 277,778/s; 71 million a node, so 38.7 µs and 18,088/s
		"… nodes, if each runs once a day":                                                                                   "1",
		"… the registry of names, GiB":                                                                                       "60",
		"… names that one namespace's registry holds in 40 GiB, a node of its own":                                           "670,000,000",
		"… so many namespaces, each with a node for its registry":                                                            "2",
		"slots (Concurrency of all workers together) for 500 jobs/s whose handlers take 20 ms: 10 run at once, 70 % of them": "15",
		"… hours to create them one by one, from one goroutine":                                                              "93",
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

func TestThePlanNamesMeasuresThatExist(t *testing.T) {
	for _, row := range plan {
		for _, from := range row.from {
			if !slices.Contains(measureNames(), from.measure) {
				t.Errorf("no measure is called %q", from.measure)
			}
		}
	}
}

// The notes state which figures are extrapolated, and from what.
func TestThePlanSaysWhatItExtrapolates(t *testing.T) {
	all := samples{
		sampleOf("schedules 1000000", "memory a schedule", "B", true, "chime", 1, 640),
		sampleOf("schedules 1000000", "an occurrence in batches", "µs", true, "chime", 1, 35),
		sampleOf("schedules 1000000", "an occurrence in batches to one of 1000", "×", true, "chime", 1, 1.2),
	}
	if notes := planNotes(all); !strings.Contains(notes, "was not recorded") {
		t.Errorf("%q, want that the registry was not recorded", notes)
	}
	notes := planNotes(append(all, sampleOf("schedules 1000000", "of it the registry", "B", true, "chime", 1, 64)))
	for _, want := range []string{"extrapolated", "71,000,000 on a node", "grew 1.20 ×"} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q does not say %q", notes, want)
		}
	}
}
