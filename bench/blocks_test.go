package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The figures of the documents are those that the program prints of what it recorded.
func TestTheDocumentsTellWhatWasRecorded(t *testing.T) {
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
	begin, end := "<!-- bench long.jsonl telling -->\n", "<!-- /bench -->\n"
	got, err := filled("a\n"+begin+"old\n"+end+"b\n", results)
	if err != nil || !strings.HasPrefix(got, "a\n"+begin+"| ") || !strings.HasSuffix(got, "\n"+end+"b\n") || strings.Contains(got, "old") {
		t.Errorf("got %q, %v, want the block alone replaced by a table", got, err)
	}
	for _, text := range []string{"a\n", begin, end, begin + end + begin, "<!-- bench none.jsonl telling -->\n" + end, "<!-- bench long.jsonl nothing -->\n" + end} {
		if _, err := filled(text, results); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}
