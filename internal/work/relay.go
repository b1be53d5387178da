package work

import (
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// relay passes on what an answer contains for others than the lane: lapsed sessions to the reaper, and a partition with jobs for other ones to the carrier.
func (p *processor) relay(l *lane, h *protocol.WaitHint, now time.Time) {
	for _, lapsed := range h.Lapsed {
		if s := l.holder(); s == nil || s.name() != lapsed.Session {
			p.reaper.Note(l.partition(), []protocol.LapsedSession{lapsed}, now)
		}
	}
	at := l.partition()
	if h.Owes {
		p.carrier.Note(at)
	}
	if h.Full && p.logged.Allow("full "+at.Queue, now) {
		p.config.Log.Warn("chime: too many jobs that follow others wait to be brought to their queues: no job is taken until they are there", "event", "outbox.full",
			"queue", at.Queue, "partition", at.Index)
	}
}
