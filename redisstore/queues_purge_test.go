package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// Occurrences that wait in ready and behind others are purged: their schedules are released, the next occurrence remains owed or
// placed, and a call ends few occurrences of one schedule.
func TestPurgedOccurrencesLetTheirSchedulesGo(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Scheduled("wait", "wait", storesuite.Ago(3*time.Minute), storesuite.Ago(2*time.Minute))
		b.Scheduled("allow", "allow", storesuite.Ago(9*time.Minute), storesuite.Ago(8*time.Minute), storesuite.Ago(7*time.Minute), storesuite.Ago(6*time.Minute), storesuite.Ago(5*time.Minute), storesuite.Ago(4*time.Minute))
		b.Scheduled("next", "wait", storesuite.Ago(0).Add(time.Hour))
		var back []protocol.Settlement
		for _, job := range b.Take("w", 20) {
			back = append(back, protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleBack})
		}
		if b.Work("w", protocol.WorkCall{Settle: back}); len(back) != 7 {
			b.Fatalf("%d were taken, want 7: one waits behind another one", len(back))
		}
		k := b.keys()
		if ready, behind := b.client.LLen(b.Context(), k.ready).Val(), b.client.ZCard(b.Context(), k.behind).Val(); ready != 7 || behind != 1 {
			b.Fatalf("%d in ready, %d behind; want 7 and 1", ready, behind)
		}
		owed := b.owedNames()
		done, err := b.store.BeginPurge(b.Context(), storesuite.DefaultPartition)
		if err != nil || done != (protocol.PurgeAnswer{Looked: 1, Changed: 1, More: true}) {
			b.Errorf("begun: %+v, %v; want that the one behind is deleted", done, err)
		}
		deleted, steps := 0, 0
		for more := true; more; steps++ {
			done, err := b.store.PurgeStep(b.Context(), storesuite.DefaultPartition)
			if err != nil || done.Looked != done.Changed || done.Changed == 0 {
				b.Fatalf("a step: %+v, %v", done, err)
			}
			deleted, more = deleted+done.Changed, done.More
		}
		if deleted != 7 || steps != 2 {
			b.Errorf("%d occurrences purged in %d steps, want 7 in 2", deleted, steps)
		}
		for _, key := range []string{k.ready, k.behind, k.open, k.crashes, k.purged, k.spared, k.stale} {
			if b.client.Exists(b.Context(), key).Val() != 0 {
				b.Errorf("%s is left", key)
			}
		}
		b.Want("owed", b.owedNames(), owed)
		if n := b.client.ZCard(b.Context(), k.due).Val(); n != 1 {
			b.Errorf("%d are due later, want the occurrence at its schedule's cursor", n)
		}
		if taken := b.Take("w", 20); len(taken) != 0 {
			b.Errorf("%s were taken after the purge", storesuite.IDs(taken))
		}
	})
}

// A cancellation during a purge finishes the purge first: it then finds the remaining jobs, and an ID that is used again has a job of its
// own.
func TestACancellationFinishesAPurge(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		var items []protocol.EnqueueItem
		for i := range 500 {
			items = append(items, protocol.EnqueueItem{ID: fmt.Sprint("a", i), Own: true, Body: []byte("\x01body")})
		}
		b.Enqueue(items...)
		b.Enqueue(protocol.EnqueueItem{ID: "last", Own: true, Body: []byte("\x01body")})
		if _, err := b.store.BeginPurge(b.Context(), storesuite.DefaultPartition); err != nil {
			b.Fatal(err)
		}
		b.Enqueue(protocol.EnqueueItem{ID: "later", Own: true, Body: []byte("\x01body")})
		b.Want("cancelling a purged job", b.Cancel("last"), "none")
		b.Want("cancelling a later job", b.Cancel("later"), "done")
		b.Enqueue(protocol.EnqueueItem{ID: "last", Own: true, Body: []byte("\x01again")}, protocol.EnqueueItem{ID: "later", Own: true, Body: []byte("\x01again")})
		b.Want("taken afterwards", storesuite.IDs(b.Take("w", 10)), "later last")
		if n := b.client.Exists(b.Context(), b.keys().purged, b.keys().spared, b.keys().stale).Val(); n != 0 || b.stateField("purge") != "" {
			b.Errorf("%d of purged, spared and stale are left, and the field purge %q", n, b.stateField("purge"))
		}
	})
}
