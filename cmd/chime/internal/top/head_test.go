package top_test

import (
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/top"
	"github.com/chimejobs/chime/internal/overview"
)

func TestTheHeadSaysWhoLeads(t *testing.T) {
	for _, c := range []struct {
		leader *chime.Leader
		width  int
		shows  string
	}{
		{&chime.Leader{Name: "app-2:812:X", Host: "app-2", PID: 812, Term: 14}, 100, "leader app-2 (term 14) "},
		{&chime.Leader{Name: "app-2:812:X", Host: "app-2", PID: 812, Term: 14}, 80, "leader app-2  "},
		{&chime.Leader{Name: "JBSWY3DPEHPK3PXPJBSWY3DPEH", Term: 1204}, 120, "leader JBSWY3DPEHPK3PXPJBSWY3D… (term 1,204)"},
		{&chime.Leader{Name: "a\x1b[2J:1:X", Host: "a\x1b[2J", PID: 1, Term: 1}, 120, `leader a\x1b[2J (term 1)`},
		{&chime.Leader{Term: 14}, 80, "⚠ nobody leads"},
		{&chime.Leader{}, 80, "⚠ nobody leads"},
		{nil, 80, "!lead"},
	} {
		s := newScreen(t, c.width, 24, top.Options{})
		s.answer.Leader = c.leader
		s.tick(2 * time.Second).shows(c.shows)
	}
}

// A queue without a worker is shown with the words of the pages and of the other commands.
func TestAQueueThatNobodyServesIsNotLive(t *testing.T) {
	s := newScreen(t, 120, 40, top.Options{}).shows("default  ● live", "media    ‖ paused", "reports  ⚠ no worker")
	s.answer.Workers = nil
	s.tick(2*time.Second).shows("default  ⚠ no worker", "media    ‖ paused", "⚠ no worker  heartbeat")
	s.press("enter").shows("state           ⚠ no worker", "No live worker serves it, so none of its jobs runs.").press("esc")
	s.press("3", "enter").shows("state           ● running", "A worker has been running its 1st attempt for 4m 4s.").press("esc", "1")
	s.answer.Notes[overview.Workers] = "no permission"
	s.tick(2*time.Second).shows("default  ● live", "!no worker")
}
