package top_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/chimejobs/chime/cmd/chime/internal/top"
	"github.com/chimejobs/chime/cmd/chime/internal/top/story"
)

var update = flag.Bool("update", false, "write the frames instead of comparing them")

func TestFramesAtThreeSizes(t *testing.T) {
	for _, size := range []struct{ width, height int }{{80, 24}, {100, 30}, {200, 60}} {
		m := story.Model(size.width, size.height, top.Options{})
		golden(t, fmt.Sprintf("frame-%dx%d", size.width, size.height), text(m))
	}
}

// text is what a screen shows, without colours.
func text(m *top.Model) string {
	lines := strings.Split(ansi.Strip(m.View().Content), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
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
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
	}
}
