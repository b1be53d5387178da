package command

import (
	"testing"
	"time"

	"github.com/chimejobs/chime"
)

// The list shows what an ordered group waits for, and when one that has used its starts may start a job again.
func TestTheReasonOfABlockedGroupIsComplete(t *testing.T) {
	now := time.Date(2026, 11, 21, 14, 26, 48, 0, time.UTC)
	for _, c := range []struct {
		group chime.GroupInfo
		want  string
	}{
		{chime.GroupInfo{}, ""},
		{chime.GroupInfo{Blocked: chime.GroupPaused}, "paused"},
		{chime.GroupInfo{Blocked: chime.GroupOrdered}, "ordered"},
		{chime.GroupInfo{Blocked: chime.GroupOrdered, By: "a-1"}, "ordered by a-1"},
		{chime.GroupInfo{Blocked: chime.GroupRunning}, "running"},
		{chime.GroupInfo{Blocked: chime.GroupStarts, Until: now.Add(42 * time.Second)}, "starts in 42s"},
	} {
		if got := blockedText(&c.group, now); got != c.want {
			t.Errorf("%+v: %q, want %q", c.group, got, c.want)
		}
	}
}
