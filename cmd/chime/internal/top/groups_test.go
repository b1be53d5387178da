package top_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/top"
	"github.com/chimejobs/chime/cmd/chime/internal/top/story"
)

// The groups of a queue are counted while it is opened, and only then; what is shown fits the smallest terminal.
func TestTheGroupsOfAnOpenedQueueAreShown(t *testing.T) {
	var counted []string
	var failure error
	at := story.At
	o := top.Options{Groups: func(queue string) (chime.GroupSum, error) {
		counted = append(counted, queue)
		tally := func(n int64, age time.Duration, group string) chime.GroupTally {
			return chime.GroupTally{Groups: n, Oldest: at.Add(-age), Group: group}
		}
		return chime.GroupSum{
			Now: at, MayStart: tally(1204, time.Second, "tenant-7"), Paused: tally(20, 42*time.Minute, "tenant-42"), Ordered: tally(1010, time.Minute, "x"),
			Running: tally(1300, time.Minute, "y"), Starts: tally(1060, 0, "z"), Next: "tenant-9",
		}, failure
	}}
	s := newScreen(t, 80, 24, o)
	s.answer.Queues[1].Groups = chime.GroupCounts{Jobs: 9000, Waiting: 8000, MayStart: 1204}
	s.press("f", "f").press("enter").shows("queue           default", "!groups").press("esc", "down", "down", "enter")
	if len(counted) != 1 || counted[0] != "mail" {
		t.Errorf("counted %q, want mail once, when it was opened", counted)
	}
	s.shows("groups          1,204 may start a job, at least 3,390 are blocked\n", "20 paused, 1,010 ordered, 1,300 running, 1,060 starts\n",
		"oldest of them  42m, of tenant-42 (paused)\n")
	for line := range strings.Lines(text(s.model)) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
			t.Errorf("a line has %d cells: %s", n, line)
		}
	}
	failure = errors.New("no rights")
	s.press("esc", "enter").shows("1,204 may start a job; the others are not known: no rights")
	before := len(counted)
	s.press("esc", "f", "f")
	if len(counted) != before {
		t.Errorf("%d counts after the queue was closed, want none", len(counted)-before)
	}
}
