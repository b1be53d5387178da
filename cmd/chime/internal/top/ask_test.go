package top_test

import (
	"strings"
	"testing"

	"github.com/chimejobs/chime/cmd/chime/internal/top"
)

// Every question shows its answers and the end of the typed text, on terminals of any size.
func TestAnAnswerIsInSightOnASmallTerminal(t *testing.T) {
	for _, size := range [][2]int{{40, 10}, {60, 15}, {80, 24}, {100, 30}} {
		for _, c := range asking {
			s := newScreen(t, size[0], size[1], top.Options{}).press(c.keys...)
			if c.yes[0] == "y" || c.yes[0] == "Y" {
				s.shows("? y/N")
				continue
			}
			s.shows("?", " and enter: █").press(c.yes[0]).shows(" and enter: " + c.yes[0] + "█")
		}
	}
}

func TestALongNameIsShortenedInTheMiddleOfAQuestion(t *testing.T) {
	const long = "tenant-4711/monthly-statements-of-the-low-priority-queue"
	screen := func(width, height int) *screen {
		s := newScreen(t, width, height, top.Options{})
		s.answer.Queues[0].Name = long
		s.send(top.Read(s.answer))
		return s
	}
	screen(40, 10).press("home", "p").shows(" ⚠ Pause queue tenant-47…rity-queue? y/N")
	screen(80, 24).press("home", "p").shows("⚠ Pause queue " + long + "? y/N")
	s := screen(40, 10).press("home", "d").shows(" ⚠ Delete queue tenant-4711…ority-queue?\n type the name and enter: █").press(long).shows("the name and enter: …iority-queue█")
	for _, line := range strings.Split(text(s.model), "\n")[:10] {
		if n := len([]rune(line)); n > 40 {
			t.Errorf("%q has %d columns", line, n)
		}
	}
	if s.press("enter"); len(s.acts) != 1 {
		t.Errorf("did %v, want the queue to be deleted", s.acts)
	}
	screen(100, 30).press("home", "d").shows("Delete queue "+long+"?\n type the name and enter: █", "!type "+long)
}
