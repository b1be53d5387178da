package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// Later enqueuers remove old ones after an hour: without workers there is no sweep.
func TestNewEnqueuersForgetThoseOfLongAgo(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		const old, fresh = 1000, 50
		long, short := float64(storesuite.Ago(2*time.Hour).Unix())*callerRound, float64(storesuite.Ago(50*time.Minute).Unix())*callerRound
		for i := range old {
			b.client.ZAdd(b.Context(), b.keys().callers, redisZ(long+float64(i), fmt.Sprint("old", i)))
		}
		b.client.ZAdd(b.Context(), b.keys().callers, redisZ(short, "not so old"))
		for i := range fresh {
			call := protocol.EnqueueCall{Partition: storesuite.DefaultPartition, Caller: fmt.Sprint("new", i), Number: 1, Items: []protocol.EnqueueItem{storesuite.Job(fmt.Sprint("j", i))}}
			if a := b.store.Enqueue(b.Context(), []protocol.EnqueueCall{call})[0]; a.Err != nil {
				b.Fatal(a.Err)
			}
		}
		// The counter of jobs is there too.
		if n := b.client.ZCard(b.Context(), b.keys().callers).Val(); n != fresh+2 {
			b.Errorf("%d callers are remembered, want %d", n, fresh+2)
		}
		if err := b.client.ZScore(b.Context(), b.keys().callers, "not so old").Err(); err != nil {
			b.Errorf("one of 50 minutes ago: %v, want it remembered", err)
		}
	})
}
