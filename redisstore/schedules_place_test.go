package redisstore

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

func TestAnOccurrenceIsPlacedOnce(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		declared := b.Declare("report", "skip", `{"job":"report"}`)
		at := time.Now().Add(time.Hour).Truncate(time.Second)
		if first := b.Place(*declared.Owed, declared.Revision, 0, at); first.Placed != 1 {
			b.Fatalf("first: %+v, want 1 placed", first)
		}
		if second := b.Place(*declared.Owed, declared.Revision, 0, at); !second.Lost {
			b.Fatalf("second: %+v, want lost", second)
		}
		b.Want("owed", b.owedNames(), "[]")
		b.Want("due", fmt.Sprint(b.client.ZRange(b.Context(), b.keys().due, 0, -1).Val()), "["+storesuite.OccurrenceID("report", at)+"]")
	})
}

func TestTakingAnOccurrenceMakesTheNextOwed(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		at := storesuite.Ago(time.Minute)
		declared := b.Scheduled("report", "skip", at)
		answer := b.Work("s", protocol.WorkCall{Take: 5})
		b.Want("taken", storesuite.IDs(answer.Taken), storesuite.OccurrenceID("report", at))
		taken := answer.Taken[0]
		if !taken.New || taken.Body != nil || len(taken.Definition) == 0 {
			b.Errorf("taken %+v, want new, with the definition", taken)
		}
		if len(answer.Owed) != 1 || answer.Owed[0].Name != "report" || !answer.Owed[0].Cursor.At.Equal(at) || !answer.Owed[0].Cursor.Placed {
			b.Fatalf("owed %+v, want report at %v", answer.Owed, at)
		}
		b.Want("owed in the store", b.owedNames(), "[report]")
		again := b.Repeat("s", protocol.WorkCall{Take: 5})
		if len(again.Owed) != 1 || again.Owed[0].Cursor != answer.Owed[0].Cursor || !again.Taken[0].New {
			b.Errorf("the same call again: owed %+v, taken %+v; want the first answer", again.Owed, again.Taken)
		}
		next := b.Work("s", protocol.WorkCall{Place: []protocol.Placement{{
			Partition: storesuite.DefaultPartition, Name: "report", Revision: declared.Revision, Cursor: answer.Owed[0].Cursor, Instants: []time.Time{at.Add(time.Hour)},
		}}})
		if next.Placed[0].Placed != 1 {
			b.Errorf("placed %+v, want 1", next.Placed)
		}
		b.Want("owed then", b.owedNames(), "[]")
		// its retry does not make the next one owed
		b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleLater, Body: []byte("\x01b")})
		var retry protocol.WorkAnswer
		for started := time.Now(); len(retry.Taken) == 0 && time.Since(started) < 10*time.Second; {
			retry = b.Work("s", protocol.WorkCall{Take: 1}) // due at the next millisecond
		}
		if len(retry.Taken) != 1 || retry.Taken[0].New || len(retry.Owed) != 0 {
			b.Errorf("retry %+v owed %+v, want an occurrence that is not new and owes nothing", retry.Taken, retry.Owed)
		}
	})
}

func TestAnOccurrenceOfAnEarlierCreationIsDropped(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		at := storesuite.Ago(time.Minute)
		b.client.ZAdd(b.Context(), b.keys().due, redisZ(float64(at.UnixMilli()), storesuite.OccurrenceID("s", at)))
		b.Declare("s", "skip", `{"job":"j"}`)
		answer := b.Work("w", protocol.WorkCall{Take: 5})
		if len(answer.Taken) != 0 || len(answer.Owed) != 0 {
			b.Errorf("taken %+v owed %+v, want nothing: it was created after that instant", answer.Taken, answer.Owed)
		}
	})
}

func TestOwedIsListedAfterASecondAndCanBePostponed(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Declare("s", "skip", `{"job":"j"}`)
		if owed, err := b.store.Owed(b.Context(), []protocol.Partition{storesuite.DefaultPartition}); err != nil || len(owed) != 0 {
			b.Fatalf("owed at once: %+v, %v; want none", owed, err)
		}
		b.client.ZAdd(b.Context(), b.keys().owed, redisZ(1000, "s"), redisZ(1000, "gone"))
		owed, err := b.store.Owed(b.Context(), []protocol.Partition{storesuite.DefaultPartition})
		if err != nil || len(owed) != 1 || !owed[0].Since.Equal(time.UnixMilli(1000)) || owed[0].Cursor != (protocol.Cursor{}) {
			b.Fatalf("owed %+v, %v; want s since 1970", owed, err)
		}
		if err := b.store.Postpone(b.Context(), owed[0]); err != nil {
			b.Fatal(err)
		}
		if owed, _ := b.store.Owed(b.Context(), []protocol.Partition{storesuite.DefaultPartition}); len(owed) != 0 {
			b.Errorf("owed after it was postponed: %+v", owed)
		}
	})
}

// A partition that cannot be read does not hide the others.
func TestOwedSchedulesOfOnePartitionAreListedThoughAnotherFails(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Declare("s", "skip", `{"job":"j"}`)
		b.client.ZAdd(b.Context(), b.keys().owed, redisZ(1000, "s"))
		bad := protocol.Partition{Queue: "bad"}
		b.client.Set(b.Context(), b.store.keys.partition(bad).owed, "somebody else's", 0)
		owed, err := b.store.Owed(b.Context(), []protocol.Partition{bad, storesuite.DefaultPartition})
		if len(owed) != 1 || !errors.Is(err, protocol.ErrUnfit) {
			b.Errorf("owed %+v, %v; want s, and an error about the other partition", owed, err)
		}
	})
}
