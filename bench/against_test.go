package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Two builds take turns: neither is always first, and each ratio belongs to one pair.
func TestTwoBuildsTakeTurns(t *testing.T) {
	var order []string
	rates := map[string][]int{"old": {100, 400, 100}, "new": {200, 400, 300}}
	p := pairing{
		before: build{program: "old"}, after: build{program: "new", folder: "."}, measures: chosenMeasures("process 1"), flags: []string{"-short"}, pairs: 3,
		progress: io.Discard,
		run: func(_ context.Context, b build, arguments ...string) ([]byte, error) {
			if got := strings.Join(arguments, " "); got != "-json -peers chime -measures process 1 -rounds 1 -shuffle=false -short" {
				t.Errorf("arguments %q", got)
			}
			n := len(order) / 2
			order = append(order, b.program)
			return fmt.Appendf(nil, `{"conditions":{"date":"2026-03-08","revision":"%s-revision","added later":1}}
{"measure":"process 1","figure":"jobs/s","unit":"1/s","peer":"chime","round":1,"value":%d}
{"measure":"process 1","figure":"server CPU a job","unit":"µs","less_is_better":true,"peer":"chime","round":1,"value":%d}
`, b.program, rates[b.program][n], 1000/rates[b.program][n]), nil
		},
	}
	all, revisions, err := p.do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"old", "new", "new", "old", "old", "new"}; !slices.Equal(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
	want := [][]string{
		{"process 1", "jobs/s", "100", "300", "2.00 ×", "1.00 ×", "3.00 ×", "2.00 1.00 3.00"},
		{"process 1", "server CPU a job, µs", "10", "3", "2.00 ×", "1.00 ×", "3.33 ×", "2.00 1.00 3.33"},
	}
	if got := pairedTable(all).rows; len(got) != 2 || !slices.Equal(got[0], want[0]) || !slices.Equal(got[1], want[1]) {
		t.Errorf("got %q, want %q", got, want)
	}
	var text bytes.Buffer
	if err := writePaired(&text, p, all, revisions, false); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"before: old\n", "after: chime at new-revision\n", pairedMeans} { // the program old does not run in a folder with its source
		if !strings.Contains(text.String(), line) {
			t.Errorf("%q is missing in\n%s", line, text.String())
		}
	}
}

// One failure does not lose the other pairs.
func TestAFailedMeasurementIsLeftOut(t *testing.T) {
	calls := 0
	p := pairing{
		measures: chosenMeasures("process 1"), pairs: 2, progress: io.Discard,
		run: func(context.Context, build, ...string) ([]byte, error) {
			if calls++; calls == 1 {
				return nil, errors.New("no server")
			}
			return []byte(`{"measure":"process 1","figure":"jobs/s","peer":"chime","round":1,"value":5}`), nil
		},
	}
	all, _, err := p.do(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no server") || !strings.Contains(err.Error(), "pair 1") {
		t.Errorf("%v, want the failure and its pair", err)
	}
	if c, ok := all.compare("process 1", "jobs/s", beforePeer, false); len(all) != 3 || !ok || c.median != 1 {
		t.Errorf("%d samples, %v, want three, and the second pair compared", len(all), c)
	}
}

func TestAgainstNothingSaysSo(t *testing.T) {
	if _, _, err := openBuild(t.Context(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want that there is no such file", err)
	}
	folder := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(folder))
	if _, _, err := openBuild(t.Context(), t.TempDir()); err == nil {
		t.Error("a folder without a bench was built")
	}
}

// A program of this source runs against itself.
func TestAProgramIsPairedWithItself(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(benchVariable, "1") // TestMain lets this program be the bench
	b, _, err := openBuild(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	p := pairing{before: b, after: build{program, "."}, measures: chosenMeasures("enqueue 16"), flags: []string{"-short"}, pairs: 1, progress: io.Discard, run: runBuild}
	all, _, err := p.do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if rows := pairedTable(all).rows; len(rows) == 0 || rows[0][4] == "" {
		t.Errorf("rows %q, want ratios", rows)
	}
}
