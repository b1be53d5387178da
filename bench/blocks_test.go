package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// The figures in the documents are the figures of the recordings.
func TestTheDocumentsSayWhatWasRecorded(t *testing.T) {
	for _, name := range []string{"../README.md", "../docs/performance.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := filled(string(text), results)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if want != string(text) {
			t.Errorf("%s differs from the recordings; in bench/: go run . -fill %s", name, name)
		}
	}
}

func TestEveryRecordingCanBeRead(t *testing.T) {
	names, err := filepath.Glob("results/*.jsonl")
	if err != nil || len(names) == 0 {
		t.Fatalf("no recording: %v", err)
	}
	for _, name := range names {
		rec, err := readRecording(name)
		if err != nil {
			t.Error(err)
		} else if len(rec.conditions) == 0 || len(rec.samples) == 0 {
			t.Errorf("%s: %d conditions, %d samples", name, len(rec.conditions), len(rec.samples))
		}
	}
}

func TestOnlyBlocksAreReplaced(t *testing.T) {
	begin, end := "<!-- bench long.jsonl detailed -->\n", "<!-- /bench -->\n"
	got, err := filled("a\n"+begin+"old\n"+end+"b\n", results)
	if err != nil || !strings.HasPrefix(got, "a\n"+begin+"| ") || !strings.HasSuffix(got, "\n"+end+"b\n") || strings.Contains(got, "old") {
		t.Errorf("got %q, %v, want the block alone replaced by a table", got, err)
	}
	for _, text := range []string{"a\n", begin, end, begin + end + begin, "<!-- bench none.jsonl detailed -->\n" + end, "<!-- bench long.jsonl nothing -->\n" + end,
		"<!-- bench long.jsonl detailed aof.jsonl -->\n" + end, "<!-- bench long.jsonl targets none.jsonl -->\n" + end} {
		if _, err := filled(text, results); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

// A row with fewer rounds than the other rows states their number.
func TestARowSaysItsRoundsWhereTheyDiffer(t *testing.T) {
	all := samples{
		sampleOf("crash", "a", "s", true, "chime", 1, 7), sampleOf("crash", "a", "s", true, "chime", 2, 9), sampleOf("crash", "a", "s", true, "gocraft defaults", 1, 14),
		sampleOf("crash", "a", "s", true, "gocraft defaults", 2, 18),
		sampleOf("crash", "b", "s", true, "chime", 1, 1), sampleOf("crash", "b", "s", true, "chime", 2, 1),
		sampleOf("crash", "c", "1/s", true, "chime", 1, 1),
	}
	got, rounds := groupTable(all, "crash")
	want := [][]string{
		{"crash: a, s", "8 (7–9)", "16 (14–18) · 2.00 ×"},
		{"crash: b, s", "1", "–"},
		{"crash: c, 1/s (1 round)", "1", "–"},
	}
	if !reflect.DeepEqual(got.rows, want) || rounds != 2 {
		t.Errorf("got %q of %d rounds, want %q of 2", got.rows, rounds, want)
	}
	if text := footerOf(rounds, true); !strings.HasSuffix(text, "2 rounds.") || !strings.Contains(text, "ratios of each round") {
		t.Errorf("the footer is %q", text)
	}
}

// The text below a table names all runs of its figures, and no others.
func TestATableNamesItsRuns(t *testing.T) {
	rec := recording{conditions: []conditions{
		{Date: "2026-03-08", CPU: "some", Flags: []string{"-measures=process"}},
		{Date: "2026-03-09", CPU: "some", Flags: []string{"-measures=limits"}},
		{Date: "2026-03-10", CPU: "some", Flags: []string{"-measures=crash"}},
		{Date: "2026-03-11", CPU: "another"},
	}}
	shown := samples{{run: 1}, {run: 3}, {run: 1}, {run: 4}}
	lines := strings.Split(conditionsOf(rec, shown), "\n")
	if len(lines) != 4 || !strings.Contains(lines[0], "some, ") || !strings.Contains(lines[0], "-measures=process") ||
		lines[1] != "- The same, 2026-03-10 -measures=crash." || !strings.Contains(lines[2], "another") {
		t.Errorf("got %q, want a line for each of the three runs, what they share said once", lines)
	}
}

func TestSettingsSayWhatTheirNamesMean(t *testing.T) {
	rec := recording{conditions: []conditions{{Settings: map[string]string{"asynq tuned": "PoolSize 100", "river tuned": "took no part"}}},
		samples: samples{{Peer: "asynq tuned", run: 1}}}
	if got := settingsOf(rec); got != "- asynq tuned: PoolSize 100\n" {
		t.Errorf("got %q", got)
	}
}
