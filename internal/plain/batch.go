package plain

import (
	"time"

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
			return State{Good, string(b.State), "All members are done, except " + format.Count(b.Cancelled) + " that " + format.Agree(b.Cancelled, "was", "were") + " cancelled."}
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

// keptDead is how long a batch with dead members is kept at least.
const keptDead = 7 * 24 * time.Hour

// BatchKept says how long a batch is kept; empty: its definition cannot be read.
func BatchKept(b *chime.BatchInfo) string {
	switch text := format.Exact(b.Keep) + " after its end"; {
	case b.Keep <= 0:
		return ""
	case b.Dead > 0 && b.Keep < keptDead:
		return text + ", and at least 7 days because members are dead"
	case b.Keep < keptDead:
		return text + "; at least 7 days if members are dead"
	default:
		return text
	}
}
