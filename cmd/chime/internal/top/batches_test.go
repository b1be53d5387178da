package top_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/top"
	"github.com/chimejobs/chime/cmd/chime/internal/top/story"
)

// Batches in progress have a line in the head, and a screen of their own. Both fit the terminal.
func TestBatchesInProgressAreShown(t *testing.T) {
	for _, width := range []int{40, 80, 200} {
		var batches []*chime.BatchInfo
		var failure error
		s := newScreen(t, width, 24, top.Options{Batches: func() ([]*chime.BatchInfo, error) { return batches, failure }})
		poll := func() { s.press("f", "f") }
		poll()
		s.shows("!batches").press("b").shows("no batch is in progress").press("esc").shows("!no batch is in progress", "QUEUE")
		batches = []*chime.BatchInfo{
			{ID: "import/7", State: chime.BatchRunning, Total: 20_000, Left: 7_600, Done: 12_390, Dead: 10, CreatedAt: story.At.Add(-4 * time.Minute), Queues: []chime.BatchQueue{{Queue: "mail", Left: 7_600}, {Queue: "cpu"}}},
			{ID: "orders \x1b[2J" + strings.Repeat("x", 100), State: chime.BatchOpen, Total: 3, Left: 3, CreatedAt: story.At.Add(-26 * time.Hour), Note: "by anna\nat noon"},
			{ID: "stopped", State: chime.BatchCancelled, Total: 9, Left: 1, CreatedAt: story.At.Add(-time.Hour)},
		}
		poll()
		s.shows("batches 3 in progress").press("b").shows("import/7", "● running", "!\x1b[2J")
		if width >= 80 {
			s.shows("batches 3 in progress: import/7 62%", "⚠ open", "‖ cancelled", "7,600", "62%", "20,000", "b lists them")
		}
		if width >= 200 {
			s.shows("orders \\x1b[2Jxxx", "mail 7,600\n", "by anna\n")
		}
		for line := range strings.Lines(text(s.model)) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > width {
				t.Errorf("a line has %d cells, want at most %d: %s", n, width, line)
			}
		}
		s.press("2").shows("!‖ cancelled").press("b", "down", "down").shows("!import/7   ").press("b").shows("!‖ cancelled")
		batches = nil
		for i := range top.MaxBatches {
			batches = append(batches, &chime.BatchInfo{ID: fmt.Sprint("b", i), State: chime.BatchRunning, Total: 1, Left: 1, CreatedAt: story.At})
		}
		poll()
		s.shows("batches 100 or more in progress")
		failure = errors.New("refused")
		poll()
		s.shows("✕ refused")
	}
}
