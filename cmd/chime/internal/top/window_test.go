package top_test

import (
	"testing"
	"time"

	"github.com/chimejobs/chime/cmd/chime/internal/top"
)

func TestAKeyGoesThroughTheWindowsOfTheCharts(t *testing.T) {
	s := newScreen(t, 200, 60, top.Options{}).shows("CET  1h ▾", "OUT, 1H")
	for i, want := range []string{"25", "92", "15"} {
		unit := []string{"h", "d", "m"}[i]
		title := []string{"H", "D", "M"}[i]
		s.press("w").shows("CET  "+want+unit+" ▾", "OUT, "+want+title)
	}
	if s.polls != 3 {
		t.Errorf("%d polls, want one at each key", s.polls)
	}
	s.press("w").shows("CET  1h ▾").press("?").shows("w               charts of another window")
	newScreen(t, 59, 24, top.Options{}).shows("!▾")
}

// A poll under way has the charts of the previous window; another poll follows immediately.
func TestAWindowThatIsChangedDuringAPollIsReadAfterIt(t *testing.T) {
	s := newScreen(t, 200, 60, top.Options{})
	s.now = s.now.Add(2 * time.Second)
	poll := top.Tick(s.model, s.now)
	s.press("w").shows("25h ▾", "OUT, 1H")
	if s.polls != 0 {
		t.Fatalf("%d polls, want none: one is under way", s.polls)
	}
	if s.do(poll); s.polls != 2 {
		t.Errorf("%d polls, want the one under way and another", s.polls)
	}
	s.shows("25h ▾", "OUT, 25H")
}

func TestAFrozenScreenReadsNoOtherWindow(t *testing.T) {
	s := newScreen(t, 200, 60, top.Options{}).press("f", "w").shows("25h ▾", "OUT, 1H")
	if s.polls != 0 {
		t.Errorf("%d polls of a frozen screen", s.polls)
	}
	s.press("f").shows("OUT, 25H")
}
