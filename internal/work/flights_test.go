package work

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// Heartbeats no longer ask about the occurrences of a schedule with OverlapCancel when the last one is given back or cancelled before it has begun.
func TestHeartbeatsWatchNoOccurrenceThatWasGivenBackBeforeItBegan(t *testing.T) {
	now := time.Now()
	for _, leave := range []struct {
		name string
		call func(h *flights)
	}{
		{"the worker drains", func(h *flights) { h.giveBackWaiting(now) }},
		{"it has waited too long", func(h *flights) { h.due(now.Add(time.Hour)) }},
		{"the job is cancelled", func(h *flights) {
			for i := range 2 {
				h.cancel(protocol.HeldJob{ID: fmt.Sprint(i)}, now)
			}
		}},
	} {
		config, s := &Config{Log: slog.New(slog.DiscardHandler)}, newSession(protocol.Partition{Queue: "a"}, time.Minute)
		h := &flights{config: config, slots: newSlots(1, false, false), gatherer: newGatherer(), heartbeat: newHeartbeat(nil, nil, time.Minute, nil)}
		h.heartbeat.open(s)
		l := newLane(s.partition(), &share{weight: 1})
		for i := range 2 {
			f := &flight{claim: claim{config: config, id: fmt.Sprint(i), clock: &storeClock{}, schedule: "s", cancels: true}, Attempt: &Attempt{}, lane: l, session: s}
			h.heartbeat.watch(s, f.schedule, 1)
			h.slots.waiting.push(f)
		}
		leave.call(h)
		if n := h.heartbeat.kept[s].cancels["s"]; n != 0 {
			t.Errorf("%s: heartbeats ask about %d occurrences that the session does not hold", leave.name, n)
		}
	}
}
