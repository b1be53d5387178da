package plain

import (
	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/format"
)

// Batch describes a batch.
func Batch(b *chime.BatchInfo) State {
	left := format.Plural(b.Left, "member has", "members have") + " not ended"
	switch b.State {
	case chime.BatchOpen:
		return State{Warning, string(b.State), "Its items are being added; it cannot end before EnqueueBatch has finished, or somebody seals or cancels it."}
	case chime.BatchRunning:
		return State{Going, string(b.State), left + "."}
	case chime.BatchDone:
		if b.Cancelled > 0 {
			return State{Good, string(b.State), "All members are done, but for " + format.Count(b.Cancelled) + " that " + format.Agree(b.Cancelled, "was", "were") + " cancelled."}
		}
		return State{Good, string(b.State), "All members are done."}
	case chime.BatchEnded:
		return State{Bad, string(b.State), "All members have ended: " + format.Count(b.Dead) + " dead, " + format.Count(b.Cancelled) + " cancelled."}
	case chime.BatchCancelled:
		if b.Left > 0 {
			return State{Stopped, string(b.State), "It was cancelled; " + left + "."}
		}
		return State{Stopped, string(b.State), "It was cancelled, and all members have ended."}
	}
	return unknown(string(b.State))
}
