package plain_test

import (
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/plain"
)

// The groups of a queue in two texts: how many may start a job and how many are blocked, by the reason; and the oldest of their jobs.
func TestGroupsOfAQueueAreDescribed(t *testing.T) {
	now := time.Date(2026, 11, 21, 14, 26, 48, 0, time.UTC)
	tally := func(n int64, age time.Duration, group string) chime.GroupTally {
		return chime.GroupTally{Groups: n, Oldest: now.Add(-age), Group: group}
	}
	for _, c := range []struct {
		mayStart       int64
		sum            chime.GroupSum
		counts, oldest string
	}{
		{0, chime.GroupSum{Now: now}, "0 may start a job, none is blocked", ""},
		{1204, chime.GroupSum{Now: now, MayStart: tally(1204, 4*time.Second, "a")}, "1,204 may start a job, none is blocked", "4s, of a"},
		{2, chime.GroupSum{Now: now, MayStart: tally(2, time.Second, "a"), Starts: tally(1, time.Minute, "b")}, "2 may start a job, 1 is blocked (1 starts)", "1m, of b (starts)"},
		{2, chime.GroupSum{Now: now, MayStart: tally(2, time.Hour, "a"), Paused: tally(3, time.Minute, "b"), Ordered: tally(1, time.Minute, "c"), Running: tally(1, 0, "d")},
			"2 may start a job, 5 are blocked (3 paused, 1 ordered, 1 running)", "1h, of a"},
		{900, chime.GroupSum{Now: now, MayStart: tally(499, time.Second, "a"), Paused: chime.GroupTally{Groups: 1}, Next: "x"}, "900 may start a job, at least 1 is blocked (1 paused)", "1s, of a"},
	} {
		if counts, oldest := plain.Groups(c.mayStart, c.sum); counts != c.counts || oldest != c.oldest {
			t.Errorf("%+v:\n%q, %q, want\n%q, %q", c.sum, counts, oldest, c.counts, c.oldest)
		}
	}
}
