package work

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// The content of a call is bounded, and what does not fit is sent with the next one.
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
		call := l.call("w", time.Second, 0, 0, true, false, nil, now)
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

// A call is over within about 5 ms, whatever its runs write into histories.
func TestRunsCountInTheSizeOfACall(t *testing.T) {
	for _, c := range []struct {
		run  *protocol.RunRecord
		want int
	}{{nil, 500}, {&protocol.RunRecord{}, 83}, {&protocol.RunRecord{Note: strings.Repeat("n", 511)}, 83}, {&protocol.RunRecord{Note: strings.Repeat("n", 1500), Error: strings.Repeat("e", 548)}, 50}} {
		if n := settleable(slices.Repeat([]protocol.Settlement{{Kind: protocol.SettleDone, Run: c.run}}, 600)); n != c.want {
			t.Errorf("a call settles %d outcomes with %+v, want %d", n, c.run, c.want)
		}
	}
}

func TestPlacementsThatFailedAreSentAgainUnlessTheWorkerDrains(t *testing.T) {
	now := time.Now()
	places := []protocol.Placement{{Name: "a"}, {Name: "b"}}
	answers := []protocol.PlaceAnswer{{Placed: 1}, {Err: errNoAnswer}}
	for _, draining := range []bool{false, true} {
		var o outbox
		if err := o.placed(places, answers, draining, now); err == nil {
			t.Error("a failure is not reported")
		}
		if again := !o.nothingToSend(); again == draining {
			t.Errorf("draining %v: sent again %v", draining, again)
		}
		if o.urgent(now, draining) {
			t.Error("it is sent again at once, want after a while")
		}
	}
}

func TestALostSessionLosesNoPlacement(t *testing.T) {
	now := time.Now()
	l := newLane(protocol.Partition{Queue: "default"}, &share{weight: 1})
	l.place([]protocol.Placement{{Name: "a"}})
	call := l.call("w", time.Second, 1, 0, true, false, nil, now)
	if len(call.Place) != 1 {
		t.Fatalf("the call carries %d placements, want 1", len(call.Place))
	}
	if l.loseSession(l.holder()); l.holder() == nil {
		t.Fatal("the session is forgotten while a call is under way whose answer may contain what was placed")
	}
	if _, _, err := l.answered(&protocol.WorkAnswer{Err: errNoAnswer}, now); err == nil {
		t.Fatal("a call without an answer counts as answered")
	}
	l.loseSession(l.holder())
	if again := l.call("w", time.Second, 1, 0, true, false, nil, now); len(again.Place) != 1 || again.Session == call.Session || again.Number != 1 {
		t.Errorf("the next call is %+v, want the placement, and a new session's first call", again)
	}
}

// Occurrences that run one after the other do not each wait for a call that takes other jobs.
func TestTheOutcomeOfAnOccurrenceThatFollowsIsUrgent(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		claim  claim
		urgent bool
	}{
		{claim{id: "s@2026-11-21T10:00:00Z", schedule: "s"}, true},
		{claim{id: "s@2026-11-21T10:00:00Z", schedule: "s", new: true}, false},
		{claim{id: "job"}, false},
	} {
		l := newLane(protocol.Partition{Queue: "default"}, &share{weight: 1})
		f := &flight{claim: c.claim, Attempt: &Attempt{}, endedAt: now, settlement: &protocol.Settlement{ID: c.claim.id, Kind: protocol.SettleDone}}
		f.lane, f.session = l, &session{}
		if _, kept := f.returned(); !kept || l.urgent(now, false) != c.urgent {
			t.Errorf("%+v: kept %v, urgent %v; want it urgent: %v", c.claim, kept, l.urgent(now, false), c.urgent)
		}
		if !l.urgent(now.Add(settleWait), false) {
			t.Errorf("%+v: after %v it is not urgent", c.claim, settleWait)
		}
	}
}
