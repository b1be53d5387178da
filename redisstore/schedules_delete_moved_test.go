package redisstore

import (
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// After a schedule has moved and is deleted with its waiting jobs, none of them waits in the queues that it has left, in any
// place. Running ones end as usual, and no job of another schedule is deleted.
func TestDeleteWaitingReachesTheQueuesThatAScheduleHasLeft(t *testing.T) {
	onServersWith(t, manualRuns, func(b *bench) {
		b.Scheduled("s", "allow", storesuite.Ago(9*time.Minute), storesuite.Ago(8*time.Minute), storesuite.Ago(7*time.Minute), storesuite.Ago(6*time.Minute), storesuite.Ago(5*time.Minute))
		taken := b.Take("w", 5)
		if len(taken) != 5 {
			b.Fatalf("taken %+v, want 5", taken)
		}
		for i, settled := range []protocol.Settlement{
			{Kind: protocol.SettleDead, Body: []byte("\x01dead"), Failed: true}, {Kind: protocol.SettleLater, Body: []byte("\x01later"), Delay: time.Hour, Failed: true},
			{Kind: protocol.SettlePark, Name: "j"}, {Kind: protocol.SettleBack},
		} {
			settled.ID, settled.Fence = taken[i].ID, taken[i].Fence
			if !b.Settle("w", settled) {
				b.Fatalf("%+v was refused", settled)
			}
		}
		b.Scheduled("s2", "allow", storesuite.Ago(-time.Hour))
		manual := func(id, of string, in time.Duration) protocol.EnqueueItem {
			return protocol.EnqueueItem{ID: id, Own: true, Schedule: of, In: in, Body: []byte(manualBodies(of)[0])}
		}
		b.Enqueue(manual("s#ready", "s", 0), manual("s#due", "s", time.Hour), manual("s2#due", "s2", time.Hour))
		mail := b.store.keys.partition(protocol.Partition{Queue: "mail"})
		b.DeclareOn("mail", "s", "allow", `{"job":"j"}`)
		b.client.HSet(b.Context(), mail.jobs, "s#mail", manualBodies("s")[0])
		b.client.ZAdd(b.Context(), mail.due, redisZ(9e12, "s#mail"))
		b.DeclareOn("cold", "s", "allow", `{"job":"j"}`)

		if found, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s", Waiting: true}); err != nil || !found {
			b.Fatal(found, err)
		}
		k := b.keys()
		for key, want := range map[string]int64{k.due: 2, k.dead: 0, k.unhandled: 0, mail.due: 0} {
			if left := b.client.ZRange(b.Context(), key, 0, -1).Val(); int64(len(left)) != want {
				b.Errorf("%s has %v, want %d", key, left, want)
			}
		}
		for key, want := range map[string]string{k.jobs: "s2#due", mail.jobs: "", k.schedules: "s2", mail.schedules: "", k.origins: ""} {
			if left := strings.Join(b.client.HKeys(b.Context(), key).Val(), " "); left != want {
				b.Errorf("%s has %s, want %s", key, left, want)
			}
		}
		b.Want("taken then", storesuite.IDs(b.Take("w2", 10)), "")
		if !b.Settle("w", protocol.Settlement{ID: taken[4].ID, Fence: taken[4].Fence, Kind: protocol.SettleDone}) {
			b.Error("the settlement of a running one is refused")
		}
	})
}
