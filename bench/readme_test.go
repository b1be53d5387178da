package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorded are the recordings that the README's figures come from.
const recorded = "results/readme.jsonl"

// The README's figures are those that the program prints of what it recorded.
func TestTheReadmeTellsWhatWasRecorded(t *testing.T) {
	rec, err := readRecording(recorded)
	if err != nil {
		t.Fatal(err)
	}
	block, err := readmeBlock(rec)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := filled(string(text), block)
	if err != nil {
		t.Fatal(err)
	}
	if want != string(text) {
		t.Errorf("the block of README.md differs from the recording; in bench/: go run . -from %s -readme ../README.md\nwant\n%s", recorded, block)
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

func TestOnlyTheBlockIsReplaced(t *testing.T) {
	got, err := filled("a\n"+readmeBegin+"old\n"+readmeEnd+"b\n", "new\n")
	if want := "a\n" + readmeBegin + "new\n" + readmeEnd + "b\n"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	for _, text := range []string{"a\n", readmeBegin, readmeEnd} {
		if _, err := filled(text, "new\n"); err == nil || !strings.Contains(err.Error(), "<!-- bench -->") {
			t.Errorf("%q: %v, want an error that names the block", text, err)
		}
	}
}
