package work

import (
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// What a call carries is bounded, and what does not fit goes with the next one.
func TestEveryJobThatBeganIsAnnouncedOnce(t *testing.T) {
	l := newLane(protocol.Partition{Queue: "default"}, &share{weight: 1})
	now := time.Now()
	for i := range 1200 {
		l.begin(&flight{claim: claim{id: fmt.Sprint("job", i), fence: int64(i)}, ended: i%100 == 0}, now)
	}
	for range 200 {
		l.keep(protocol.Settlement{Kind: protocol.SettleDone}, now)
	}
	announced := map[string]bool{}
	for calls := 1; len(announced) < 1188; calls++ {
		call := l.call("w", time.Second, 0, 0, now)
		if n := len(call.Settle) + len(call.Begun); n > protocol.MaxSettlements || calls > 3 {
			t.Fatalf("call %d carries %d items, want %d at most, in three calls", calls, n, protocol.MaxSettlements)
		}
		for _, job := range call.Begun {
			if announced[job.ID] {
				t.Fatalf("%s is announced twice", job.ID)
			}
			announced[job.ID] = true
		}
		if _, _, err := l.answered(&protocol.WorkAnswer{}, now); err != nil {
			t.Fatal(err)
		}
	}
	if !l.settled() || l.urgent(now.Add(time.Hour), false) {
		t.Error("the lane still has something to send, want nothing")
	}
}
