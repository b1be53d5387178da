package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// Caught up means run: an occurrence that is caught up waits if one that comes back was taken before it.
func TestWhatIsCaughtUpIsNotSkippedForARunThatComesBack(t *testing.T) {
	for name, settled := range map[string]protocol.Settlement{
		"given back": {Kind: protocol.SettleBack}, "parked": {Kind: protocol.SettlePark, Name: "mail"},
	} {
		t.Run(name, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				first, second := ago(2*time.Minute), ago(time.Minute)
				declared := b.scheduled("s", "skip", first)
				settled.ID, settled.Fence = occurrenceID("s", first), b.take("w", 1)[0].Fence
				b.settle("w", settled)
				found, err := b.store.Find(b.Context(), []string{"s"})
				if err != nil {
					b.Fatal(err)
				}
				if placed := b.store.Place(b.Context(), []protocol.Placement{{
					Partition: defaultPartition, Name: "s", Revision: declared.Revision, Cursor: found[0].Cursor, Instants: []time.Time{second}, CaughtUp: 1,
				}})[0]; placed.Held {
					return // it is placed when the run that came back has ended
				}
				taken := b.work("w", protocol.WorkCall{Take: 1, Serve: []string{"mail"}}).Taken
				b.want("taken", ids(taken), occurrenceID("s", first))
				more := b.take("w", 1)
				b.settle("w", protocol.Settlement{ID: taken[0].ID, Fence: taken[0].Fence, Kind: protocol.SettleDone, Run: &protocol.RunRecord{Outcome: "done"}})
				b.want("taken then", ids(append(more, b.take("w", 1)...)), occurrenceID("s", second))
				if found, _ := b.store.Find(b.Context(), []string{"s"}); found[0].Skipped != 0 {
					b.Errorf("counters %+v: it was caught up and is skipped", found[0].Counters)
				}
			})
		})
	}
}

// Who places next computes from what the answer says: a run that the same call gave back is not used.
func TestTheAnswerKnowsThatASkippedRunWasGivenBack(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		first, second := ago(2*time.Minute), ago(time.Minute)
		declared := b.scheduled("s", "skip", first)
		taken := b.work("w", protocol.WorkCall{Take: 1})
		b.place(taken.Owed[0], declared.Revision, 0, second)
		skipping := b.work("w", protocol.WorkCall{Take: 1})
		found, err := b.store.Find(b.Context(), []string{"s"})
		if err != nil {
			b.Fatal(err)
		}
		if len(skipping.Owed) != 1 || skipping.Owed[0].Cursor != found[0].Cursor {
			b.Errorf("owed %+v, want the cursor as it is stored: %+v", skipping.Owed, found[0].Cursor)
		}
	})
}

// A schedule's counters begin at its creation: what is left of one of that name which was removed counts nothing there.
func TestASupersededRunOfARemovedScheduleIsNotCountedByItsSuccessor(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		first := ago(2 * time.Minute)
		b.scheduled("s", "cancel", first)
		taken := b.take("w", 1)
		b.settle("w", protocol.Settlement{ID: taken[0].ID, Fence: taken[0].Fence, Kind: protocol.SettleLater, Delay: time.Millisecond, Body: []byte("\x01again")})
		if found, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); !found || err != nil {
			b.Fatal(found, err)
		}
		again := b.declare("s", "cancel", `{"job":"j"}`)
		second := again.Created.Truncate(time.Second).Add(time.Second)
		b.place(*again.Owed, again.Revision, 0, second)
		b.client.ZAdd(b.Context(), b.keys().due, redisZ(1, occurrenceID("s", second)), redisZ(2, occurrenceID("s", first)))
		b.want("taken", ids(b.take("w", 5)), occurrenceID("s", second))
		found, err := b.store.Find(b.Context(), []string{"s"})
		if err != nil {
			b.Fatal(err)
		}
		b.want("superseded", fmt.Sprint(found[0].Superseded), "0")
	})
}
