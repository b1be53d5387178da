package main

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the program prints to testdata/output.txt")

// changing matches the parts that are different in each run: tokens, times, addresses, and the ends of IDs.
var changing = regexp.MustCompile(`chm_[\w-]{43}|20[0-9]{2}-\d{2}-\d{2}T[\d:.]+Z|127\.0\.0\.1:\d+|#dead-\d+|#[\w-]{14}|"durationMs": \d+|"fence": \d+|/\d{16}"`)

func TestTheProgramGoesThroughAllOfIt(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out, false); err != nil {
		t.Fatalf("%v, after\n%s", err, out.String())
	}
	tour, received, _ := strings.Cut(out.String(), "\nWhat the receiver got:\n\n")
	lines := strings.Split(strings.TrimSpace(received), "\n")
	slices.Sort(lines) // two jobs run at once
	got := changing.ReplaceAllString(tour+"\nWhat the receiver got, sorted:\n\n"+strings.Join(lines, "\n")+"\n", "…")
	const file = "testdata/output.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("it prints\n%s\nand %s has\n%s", got, file, want)
	}
}
