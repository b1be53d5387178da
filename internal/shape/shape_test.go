package shape_test

import (
	"strings"
	"testing"

	"github.com/chimejobs/chime/internal/shape"
)

func TestAnErrorIsNormalized(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"connection refused":       "connection refused",
		"dial tcp 10.1.2.3:6379":   "dial tcp #.#.#.#:#",
		"row 17 of 20":             "row # of #",
		"at 0xC000A1b2":            "at #",
		"commit 9f3c2ab is gone":   "commit # is gone",
		"node12 is full":           "node# is full",
		`file "a b.txt": denied`:   "file #: denied",
		"file 'a.txt': denied":     "file #: denied",
		"can't open, won't retry":  "can't open, won't retry",
		"bad face, dead cafe":      "bad face, dead cafe",
		"took 1.5s\nstack `x` end": "took #.#s\nstack # end",
	} {
		if got := shape.Normalize(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestAShapeIsTheFirstLine(t *testing.T) {
	long := strings.Repeat("é", 150)
	for text, want := range map[string]string{
		"":                             "",
		"\n disk 7 is full\n\tat 0x12": "disk # is full",
		long:                           long[:200],
		"x" + long:                     "x" + long[:198],
		`invalid address "` + strings.Repeat("a", 300) + `": no @`: "invalid address #",
		"bad row \"Ann\nSmith\"":                                   "bad row #",
		"bad row `Ann\nSmith`":                                     "bad row #",
		"bad row 'Ann\nSmith'":                                     "bad row #",
		"row 'Ann' isn't 'Smith":                                   "row # isn't #",
	} {
		if got := shape.Of(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
