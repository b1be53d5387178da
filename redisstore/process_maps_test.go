package redisstore

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/recent"
)

// A process that starts workers for a queue a tenant forgets the announcements of those that have ended.
func TestAProcessForgetsQueuesThatItDoesNotServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q servedQueues
		for i := range 1000 {
			q.note([]string{fmt.Sprint("tenant", i)})
			time.Sleep(time.Minute) // fake time
		}
		if most := int(serveEvery / time.Minute); len(q.at) > most {
			t.Errorf("%d queues are remembered, want the %d of the last hour", len(q.at), most)
		}
		if due := q.due([]string{"tenant0", "tenant999"}); fmt.Sprint(due) != "[tenant0]" {
			t.Errorf("%v are due, want tenant0", due)
		}
	})
}

// A process that sweeps forgets up to where it has read the schedules of a partition that it does not sweep any more.
func TestAProcessForgetsPartitionsThatItDoesNotSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m residentMarks
		p := func(i int) protocol.Partition { return protocol.Partition{Queue: fmt.Sprint("tenant", i)} }
		for i := range 1000 {
			if !m.seen(p(i), "7") || m.of(p(i)) != "7" {
				t.Fatal("the position is not remembered")
			}
			time.Sleep(time.Minute) // fake time
		}
		if most := int(2*recent.Period/time.Minute) + 1; m.at.Len() > most {
			t.Errorf("%d positions are remembered, want at most the %d of two periods", m.at.Len(), most)
		}
		if m.seen(p(999), "0") || m.of(p(999)) != "" {
			t.Error("a reading that is complete does not begin again")
		}
	})
}

// At most maxReplanned schedules are planned again by one process.
func TestTheSchedulesThatAProcessPlansAgainAreBounded(t *testing.T) {
	s := new(store)
	for i := range maxReplanned {
		if !s.MayReplan(fmt.Sprint("s", i)) {
			t.Fatalf("schedule %d is not planned again", i)
		}
	}
	if s.MayReplan("another") || s.MayReplan("s0") || len(s.replanned.names) != maxReplanned {
		t.Errorf("%d schedules are remembered, want %d and no more", len(s.replanned.names), maxReplanned)
	}
}

// At most maxLogged names from the server are remembered.
func TestTheNamesThatWereLoggedAreBounded(t *testing.T) {
	var l logged
	for i := range 2 * maxLogged {
		if first := l.first(fmt.Sprint("name", i)); first != (i < maxLogged) {
			t.Fatalf("name %d is logged: %v", i, first)
		}
	}
	if len(l.names) != maxLogged {
		t.Errorf("%d names are remembered, want %d", len(l.names), maxLogged)
	}
}
