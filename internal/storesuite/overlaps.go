package storesuite

import (
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func (s *Suite) TestTheOverlapPolicyDecidesWhatRunsTogether(t *testing.T) {
	type step struct {
		overlap                        string
		taken, skipped, afterFirstDone string
	}
	first, second, third := Ago(30*time.Second), Ago(20*time.Second), Ago(10*time.Second)
	a, b2, c := OccurrenceID("s", first), OccurrenceID("s", second), OccurrenceID("s", third)
	for _, want := range []step{
		{overlap: "allow", taken: a + " " + b2 + " " + c},
		{overlap: "skip", taken: a, skipped: "2"},
		{overlap: "wait", taken: a, skipped: "1", afterFirstDone: b2},
		{overlap: "cancel", taken: a, skipped: "1", afterFirstDone: b2},
	} {
		t.Run(want.overlap, func(t *testing.T) {
			s.onServersWith(t, Listening, func(b *Bench) {
				b.Scheduled("s", want.overlap, first, second, third)
				answer := b.Work("w", protocol.WorkCall{Take: 10})
				b.Want("taken", IDs(answer.Taken), want.taken)
				if len(answer.Owed) != 1 {
					b.Errorf("owed %+v, want the schedule, with any outcome of the occurrence at the cursor", answer.Owed)
				}
				found, err := b.Store.Find(b.Context(), []string{"s"})
				if err != nil {
					b.Fatal(err)
				}
				skipped := fmt.Sprint(found[0].Skipped)
				if want.skipped == "" {
					want.skipped = "0"
				}
				b.Want("skipped", skipped, want.skipped)
				b.Want("runs used", fmt.Sprint(found[0].Cursor.Used), fmt.Sprint(3-found[0].Skipped))
				if want.overlap == "cancel" {
					listener := b.Store.Listen("x")
					defer listener.Close()
					extended := listener.Extend(b.Context(), []protocol.ExtendCall{{Partition: DefaultPartition, Session: "w", TTL: time.Second, Schedules: []string{"s"}}})[0]
					b.Want("replaced", fmt.Sprint(extended.Replaced), "["+a+"]")
				}
				b.Settle("w", protocol.Settlement{ID: a, Fence: answer.Taken[0].Fence, Kind: protocol.SettleDone, Run: &protocol.RunRecord{Outcome: "done"}})
				b.Want("after the first is done", IDs(b.Take("w", 10)), want.afterFirstDone)
			})
		})
	}
}

// Caught up means run: a caught-up occurrence waits if one that comes back was taken before it.
func (s *Suite) TestWhatIsCaughtUpIsNotSkippedForARunThatComesBack(t *testing.T) {
	for name, settled := range map[string]protocol.Settlement{
		"given back": {Kind: protocol.SettleBack}, "parked": {Kind: protocol.SettlePark, Name: "mail"},
	} {
		t.Run(name, func(t *testing.T) {
			s.onEveryServer(t, func(b *Bench) {
				first, second := Ago(2*time.Minute), Ago(time.Minute)
				declared := b.Scheduled("s", "skip", first)
				settled.ID, settled.Fence = OccurrenceID("s", first), b.Take("w", 1)[0].Fence
				b.Settle("w", settled)
				found, err := b.Store.Find(b.Context(), []string{"s"})
				if err != nil {
					b.Fatal(err)
				}
				if placed := b.Store.Place(b.Context(), []protocol.Placement{{
					Partition: DefaultPartition, Name: "s", Revision: declared.Revision, Cursor: found[0].Cursor, Instants: []time.Time{second}, CaughtUp: 1,
				}})[0]; placed.Held {
					return // it is placed after the returned run has ended
				}
				taken := b.Work("w", protocol.WorkCall{Take: 1, Serve: []string{"mail"}}).Taken
				b.Want("taken", IDs(taken), OccurrenceID("s", first))
				more := b.Take("w", 1)
				b.Settle("w", protocol.Settlement{ID: taken[0].ID, Fence: taken[0].Fence, Kind: protocol.SettleDone, Run: &protocol.RunRecord{Outcome: "done"}})
				b.Want("taken then", IDs(append(more, b.Take("w", 1)...)), OccurrenceID("s", second))
				if found, _ := b.Store.Find(b.Context(), []string{"s"}); found[0].Skipped != 0 {
					b.Errorf("counters %+v: it was caught up and is skipped", found[0].Counters)
				}
			})
		})
	}
}

// The process that places next computes from the answer: a run that the same call gave back is not used.
func (s *Suite) TestTheAnswerKnowsThatASkippedRunWasGivenBack(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		first, second := Ago(2*time.Minute), Ago(time.Minute)
		declared := b.Scheduled("s", "skip", first)
		taken := b.Work("w", protocol.WorkCall{Take: 1})
		b.Place(taken.Owed[0], declared.Revision, 0, second)
		skipping := b.Work("w", protocol.WorkCall{Take: 1})
		found, err := b.Store.Find(b.Context(), []string{"s"})
		if err != nil {
			b.Fatal(err)
		}
		if len(skipping.Owed) != 1 || skipping.Owed[0].Cursor != found[0].Cursor {
			b.Errorf("owed %+v, want the cursor as it is stored: %+v", skipping.Owed, found[0].Cursor)
		}
	})
}

// An occurrence that was not taken when its schedule moves, moves too, whether it is due or not: in the old queue it could be dropped, and its
// run could not be given back to the count.
func (s *Suite) TestWhatNobodyHasTakenMovesAlong(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		at := Ago(time.Minute)
		b.Scheduled("s", "skip", at)
		moved := b.DeclareOn("mail", "s", "skip", `{"job":"j"}`)
		if want := (protocol.Cursor{At: at.Add(-time.Second).UTC()}); moved.Owed == nil || moved.Owed.Cursor != want {
			b.Fatalf("owed %+v, want no run used and %+v, after which %v is the next again", moved.Owed, want, at)
		}
		b.Want("taken in the old queue", IDs(b.Take("w", 5)), "")
	})
}

// A caught-up occurrence that moves counts as caught up where it is placed again.
func (s *Suite) TestWhatIsCaughtUpCountsOnceThoughItMoves(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		declared := b.Declare("s", "skip", `{"job":"j"}`)
		if placed := b.CatchUp(*declared.Owed, declared.Revision, Ago(time.Minute)); placed.Placed != 1 {
			b.Fatalf("placed %+v", placed)
		}
		b.DeclareOn("mail", "s", "skip", `{"job":"j"}`)
		if found, err := b.Store.Find(b.Context(), []string{"s"}); err != nil || found[0].CaughtUp != 0 {
			b.Errorf("found %+v, %v; want nothing caught up yet", found, err)
		}
	})
}
