package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A schedule's counters begin at its creation: the rest of a removed schedule of that name counts nothing there.
func TestASupersededRunOfARemovedScheduleIsNotCountedByItsSuccessor(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		first := storesuite.Ago(2 * time.Minute)
		b.Scheduled("s", "cancel", first)
		taken := b.Take("w", 1)
		b.Settle("w", protocol.Settlement{ID: taken[0].ID, Fence: taken[0].Fence, Kind: protocol.SettleLater, Delay: time.Millisecond, Body: []byte("\x01again")})
		if found, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); !found || err != nil {
			b.Fatal(found, err)
		}
		again := b.Declare("s", "cancel", `{"job":"j"}`)
		second := again.Created.Truncate(time.Second).Add(time.Second)
		b.Place(*again.Owed, again.Revision, 0, second)
		b.client.ZAdd(b.Context(), b.keys().due, redisZ(1, storesuite.OccurrenceID("s", second)), redisZ(2, storesuite.OccurrenceID("s", first)))
		b.Want("taken", storesuite.IDs(b.Take("w", 5)), storesuite.OccurrenceID("s", second))
		found, err := b.store.Find(b.Context(), []string{"s"})
		if err != nil {
			b.Fatal(err)
		}
		b.Want("superseded", fmt.Sprint(found[0].Superseded), "0")
	})
}
