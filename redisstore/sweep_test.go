package redisstore

import (
	"testing"

	"github.com/chimejobs/chime/internal/protocol"
)

func TestSweepKeepsTheNewestDeadJobsAndBuriesOldParkedOnes(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.store.options.MaxDead = 2
		b.enqueue(job("a"), job("b"), job("c"), job("d"))
		taken := b.take("s", 4)
		var settled []protocol.Settlement
		for _, j := range taken {
			settled = append(settled, protocol.Settlement{ID: j.ID, Fence: j.Fence, Kind: protocol.SettleDead, Body: j.Body})
		}
		settled[3].Kind, settled[3].Name = protocol.SettlePark, "mail"
		b.work("s", protocol.WorkCall{Settle: settled})
		if _, err := b.store.Sweep(b.Context(), defaultPartition); err != nil {
			b.Fatal(err)
		}
		if s := b.stats(); s.Dead != 2 || s.Parked != 1 {
			b.Errorf("stats %+v, want the 2 newest dead and 1 parked", s)
		}
		b.client.ZAdd(b.Context(), b.keys().parked("mail"), redisZ(1000, "d"))
		if _, err := b.store.Sweep(b.Context(), defaultPartition); err != nil {
			b.Fatal(err)
		}
		if s := b.stats(); s.Dead != 3 || s.Parked != 0 {
			b.Errorf("stats %+v, want the parked one dead", s)
		}
	})
}
