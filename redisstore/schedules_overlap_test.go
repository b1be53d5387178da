package redisstore

import (
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// No failed run vanishes by default: only under policy cancel the newest one replaces it.
func TestOnlyUnderCancelANewRunEndsAWaitingRetry(t *testing.T) {
	first, second := storesuite.Ago(30*time.Second), storesuite.Ago(20*time.Second)
	for overlap, kept := range map[string]bool{"skip": true, "cancel": false, "wait": true, "allow": true} {
		t.Run(overlap, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.Scheduled("s", overlap, first, second)
				b.client.ZRem(b.Context(), b.keys().due, storesuite.OccurrenceID("s", second))
				taken := b.Take("w", 1)
				b.Settle("w", protocol.Settlement{ID: taken[0].ID, Fence: taken[0].Fence, Kind: protocol.SettleLater, Delay: time.Hour, Body: []byte("\x01b")})
				b.client.ZAdd(b.Context(), b.keys().due, redisZ(float64(second.UnixMilli()), storesuite.OccurrenceID("s", second)))
				b.Want("taken", storesuite.IDs(b.Take("w", 5)), storesuite.OccurrenceID("s", second))
				waits := b.client.ZScore(b.Context(), b.keys().due, taken[0].ID).Err() == nil
				body := b.client.HExists(b.Context(), b.keys().jobs, taken[0].ID).Val()
				if waits != kept || body != kept {
					b.Errorf("the retry waits %v, body %v; want %v", waits, body, kept)
				}
			})
		})
	}
}
