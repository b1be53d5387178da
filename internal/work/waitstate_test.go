package work

import (
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A worker with parked jobs sleeps while the outbox of the partition is full, and requests them when it has drained.
func TestParkedJobsWaitForTheOutbox(t *testing.T) {
	now, served := time.Now(), []string{"name"}
	call := &protocol.WorkCall{Take: 1, Sleep: true, Serve: served}
	all := func(string) bool { return true }
	w := &waitState{}
	w.findParked(&protocol.WaitHint{Looked: true, Parked: served, ParkedMark: 1}, nil, all, now)
	full := protocol.WaitHint{Full: true, Parked: served, ParkedMark: 1}
	w.findParked(&full, served, all, now)
	w.worked(call, &protocol.WorkAnswer{WaitHint: full}, now)
	if !w.isAsleep() || len(w.serve()) != 1 {
		t.Errorf("asleep: %v, requests %v; want that it sleeps, and still requests the name", w.isAsleep(), w.serve())
	}
	w.wakeIfMore(&protocol.PollAnswer{WaitHint: protocol.WaitHint{ParkedMark: 1}})
	if w.isAsleep() {
		t.Error("asleep after the outbox has drained, want it awake")
	}
}
