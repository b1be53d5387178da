package action

import (
	"fmt"
	"testing"
)

// A gateCall is one step of a test: the owner and host of a request, and whether there is room.
type gateCall struct {
	owner, host string
	times       int
	room        bool
}

func TestAGateGivesEachOwnerAQuarter(t *testing.T) {
	for _, row := range []struct {
		name           string
		perHost, slots int
		calls          []gateCall
	}{
		{"no owner: the host's maximum only", 20, 4, []gateCall{{"", "a", 20, true}, {"", "a", 1, false}, {"", "b", 20, true}}},
		{"a quarter of a host", 20, 256, []gateCall{{"x", "a", 5, true}, {"x", "a", 1, false}, {"x", "b", 5, true}, {"y", "a", 5, true}, {"y", "a", 1, false}}},
		{"a quarter of the slots", 20, 32, []gateCall{{"x", "a", 5, true}, {"x", "b", 3, true}, {"x", "c", 1, false}, {"y", "c", 5, true}}},
		{"four owners use all of a host", 20, 256, []gateCall{
			{"x", "a", 5, true}, {"y", "a", 5, true}, {"z", "a", 5, true}, {"u", "a", 5, true}, {"v", "a", 1, false}, {"", "a", 1, false},
		}},
		{"at least one", 1, 2, []gateCall{{"x", "a", 1, true}, {"x", "b", 1, false}, {"y", "a", 1, false}, {"y", "b", 1, true}}},
	} {
		g := &gate{perHost: row.perHost, slots: row.slots}
		var entered []gateCall
		for i, call := range row.calls {
			for n := range call.times {
				if got := g.enter(call.owner, call.host); got != call.room {
					t.Errorf("%s: call %d of %d times %+v: room %v", row.name, i, n, call, got)
				} else if got {
					entered = append(entered, call)
				}
			}
		}
		for _, call := range entered {
			g.leave(call.owner, call.host)
		}
		if len(g.taken) != 0 {
			t.Errorf("%s: after all have left, %v is taken", row.name, g.taken)
		}
	}
}

// A refused request takes nothing: neither a place at its host nor a slot.
func TestARefusedRequestTakesNoPlace(t *testing.T) {
	g := &gate{perHost: 4, slots: 8}
	g.enter("x", "a")
	g.enter("x", "b")
	before := fmt.Sprint(g.taken)
	if g.enter("x", "c") || g.enterHost("x", "a") || fmt.Sprint(g.taken) != before {
		t.Errorf("a refused request has changed %s to %v", before, g.taken)
	}
	if !g.enterHost("x", "c") { // it has a slot already
		t.Error("a further request of a job with a slot got no place at another host")
	}
	g.leaveHost("x", "c")
	if fmt.Sprint(g.taken) != before {
		t.Errorf("%s before, %v after", before, g.taken)
	}
}
