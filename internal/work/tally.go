package work

import "github.com/chimejobs/chime/internal/protocol"

// A tally counts how attempts have ended in this worker, and jobs that were not run.
type tally struct{ done, failed, dead, snoozed, parked, missed, expired, cancelled, back int }

// count counts a settlement.
func (t *tally) count(s *protocol.Settlement) {
	switch s.Kind {
	case protocol.SettleDone:
		t.done++
	case protocol.SettleDead:
		t.dead++
	case protocol.SettlePark:
		t.parked++
	case protocol.SettleMissed, protocol.SettleReplan:
		t.missed++
	case protocol.SettleExpired:
		t.expired++
	case protocol.SettleCancelled:
		t.cancelled++
	case protocol.SettleBack:
		t.back++
	case protocol.SettleLater:
		if s.Failed {
			t.failed++
		} else {
			t.snoozed++
		}
	}
}
