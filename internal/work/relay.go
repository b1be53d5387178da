package work

import (
	"log/slog"
	"time"

	"github.com/chimejobs/chime/internal/batch"
	"github.com/chimejobs/chime/internal/carry"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/reap"
	"github.com/chimejobs/chime/internal/retry"
)

// A relay passes on what answers contain for others than their lanes: lapsed sessions to the reaper, partitions with jobs for other ones to the carrier, and
// those with counts of batches to the reporter.
type relay struct {
	reaper  *reap.Reaper
	carrier *carry.Carrier
	batches *batch.Reporter
	log     *slog.Logger
	logged  retry.LogLimiter
}

func newRelay(reaper *reap.Reaper, carrier *carry.Carrier, batches *batch.Reporter, log *slog.Logger) *relay {
	return &relay{reaper: reaper, carrier: carrier, batches: batches, log: log}
}

// note notes an answer to a lane's call.
func (r *relay) note(l *lane, h *protocol.WaitHint, now time.Time) {
	at := l.partition()
	for _, lapsed := range h.Lapsed {
		if s := l.holder(); s == nil || s.name() != lapsed.Session {
			r.reaper.Note(at, []protocol.LapsedSession{lapsed}, now)
		}
	}
	if h.Owes {
		r.carrier.Note(at)
	}
	r.noteBatches(l, h)
	if h.Full && r.logged.Allow(at.Queue, now) {
		r.log.Warn("chime: too many jobs that follow others wait to be brought to their queues: no job is taken until they are there", "event", "outbox.full",
			"queue", at.Queue, "partition", at.Index)
	}
}

// noteBatches notes what an answer to a lane's call shows of batches.
func (r *relay) noteBatches(l *lane, h *protocol.WaitHint) {
	r.batches.Note(l.partition(), h.Reports, h.Batches)
}
