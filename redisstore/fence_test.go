package redisstore

import (
	"testing"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A failover, or a manual edit, may set the counter of fences back or remove it. The next fence is still larger, because the clock has advanced.
func TestAFenceGrowsThoughItsCounterWentBack(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"), storesuite.Job("c"))
		last := b.Work("s", protocol.WorkCall{Take: 1}).Taken[0].Fence
		for _, goBack := range []func() error{
			func() error { return b.client.HDel(b.Context(), b.keys().state, "fence").Err() },
			func() error { return b.client.HSet(b.Context(), b.keys().state, "fence", 1).Err() },
		} {
			if err := goBack(); err != nil {
				b.Fatal(err)
			}
			fence := b.Work("s", protocol.WorkCall{Take: 1}).Taken[0].Fence
			if fence <= last {
				b.Errorf("fence %d after %d, want a larger one", fence, last)
			}
			last = fence
		}
	})
}
