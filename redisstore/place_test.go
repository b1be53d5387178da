package redisstore

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// place places one occurrence for an owed schedule.
func (b *bench) place(owed protocol.Owed, revision int64, count int, at ...time.Time) protocol.PlaceAnswer {
	b.Helper()
	answer := b.store.Place(b.Context(), []protocol.Placement{{
		Partition: owed.Partition, Name: owed.Name, Revision: revision, Cursor: owed.Cursor, Instants: at, Count: count,
	}})[0]
	if answer.Err != nil {
		b.Fatal(answer.Err)
	}
	return answer
}

func TestAnOccurrenceIsPlacedOnce(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		declared := b.declare("report", "skip", `{"job":"report"}`)
		at := time.Now().Add(time.Hour).Truncate(time.Second)
		if first := b.place(*declared.Owed, declared.Revision, 0, at); first.Placed != 1 {
			b.Fatalf("first: %+v, want 1 placed", first)
		}
		if second := b.place(*declared.Owed, declared.Revision, 0, at); !second.Lost {
			b.Fatalf("second: %+v, want lost", second)
		}
		b.want("owed", b.owedNames(), "[]")
		b.want("due", fmt.Sprint(b.client.ZRange(b.Context(), b.keys().due, 0, -1).Val()), "["+occurrenceID("report", at)+"]")
	})
}

func TestCountIsNeverExceededAndTheScheduleCompletes(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		declared := b.declare("trial", "allow", `{"job":"trial"}`)
		at := ago(-time.Hour)
		placed := b.place(*declared.Owed, declared.Revision, 2, at, at.Add(time.Second), at.Add(2*time.Second))
		if placed.Placed != 2 {
			b.Fatalf("placed %+v of count 2, want 2", placed)
		}
		found, err := b.store.Find(b.Context(), []string{"trial", "nobody"})
		if err != nil || found[0].Cursor.Used != 2 || found[1].Name != "" {
			b.Fatalf("found %+v, %v", found, err)
		}
		owed := protocol.Owed{Partition: defaultPartition, Name: "trial", Cursor: found[0].Cursor}
		if last := b.place(owed, declared.Revision, 2, at.Add(time.Minute)); !last.Completed {
			b.Fatalf("with no run left: %+v, want completed", last)
		}
		again := b.declare("trial", "allow", `{"job":"trial"}`)
		if again.Owed != nil || again.Changed {
			b.Errorf("declared again: %+v, want nothing", again)
		}
		revived := b.declare("trial", "allow", `{"job":"trial","count":3}`)
		if revived.Owed == nil || revived.Owed.Cursor.Used != 1 {
			b.Errorf("changed: %+v, want owed with the run withdrawn given back", revived)
		}
	})
}

func TestTakingAnOccurrenceMakesTheNextOwed(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		at := ago(time.Minute)
		declared := b.scheduled("report", "skip", at)
		answer := b.work("s", protocol.WorkCall{Take: 5})
		b.want("taken", ids(answer.Taken), occurrenceID("report", at))
		taken := answer.Taken[0]
		if !taken.New || taken.Body != nil || len(taken.Definition) == 0 {
			b.Errorf("taken %+v, want new, with the definition", taken)
		}
		if len(answer.Owed) != 1 || answer.Owed[0].Name != "report" || !answer.Owed[0].Cursor.At.Equal(at) || !answer.Owed[0].Cursor.Placed {
			b.Fatalf("owed %+v, want report at %v", answer.Owed, at)
		}
		b.want("owed in the store", b.owedNames(), "[report]")
		again := b.repeat("s", protocol.WorkCall{Take: 5})
		if len(again.Owed) != 1 || again.Owed[0].Cursor != answer.Owed[0].Cursor || !again.Taken[0].New {
			b.Errorf("the same call again: owed %+v, taken %+v; want the first answer", again.Owed, again.Taken)
		}
		next := b.work("s", protocol.WorkCall{Place: []protocol.Placement{{
			Partition: defaultPartition, Name: "report", Revision: declared.Revision, Cursor: answer.Owed[0].Cursor, Instants: []time.Time{at.Add(time.Hour)},
		}}})
		if next.Placed[0].Placed != 1 {
			b.Errorf("placed %+v, want 1", next.Placed)
		}
		b.want("owed then", b.owedNames(), "[]")
		// its retry owes nothing
		b.settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleLater, Body: []byte("\x01b")})
		var retry protocol.WorkAnswer
		for started := time.Now(); len(retry.Taken) == 0 && time.Since(started) < 10*time.Second; {
			retry = b.work("s", protocol.WorkCall{Take: 1}) // due at the next millisecond
		}
		if len(retry.Taken) != 1 || retry.Taken[0].New || len(retry.Owed) != 0 {
			b.Errorf("retry %+v owed %+v, want an occurrence that is not new and owes nothing", retry.Taken, retry.Owed)
		}
	})
}

func TestAMissedRunIsGivenBackAndRevivesACompletedSchedule(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		at := ago(time.Hour)
		declared := b.scheduled("s", "skip", at)
		answer := b.work("w", protocol.WorkCall{Take: 1})
		if done := b.place(answer.Owed[0], declared.Revision, 1, at.Add(2*time.Hour)); !done.Completed {
			b.Fatalf("placed %+v, want completed: the count is 1", done)
		}
		settled := b.work("w", protocol.WorkCall{Settle: []protocol.Settlement{{ID: answer.Taken[0].ID, Fence: answer.Taken[0].Fence, Kind: protocol.SettleMissed}}})
		if len(settled.Owed) != 1 || settled.Owed[0].Cursor.Used != 0 {
			b.Fatalf("owed %+v, want the schedule with no run used", settled.Owed)
		}
		if placed := b.place(settled.Owed[0], declared.Revision, 1, at.Add(2*time.Hour)); placed.Placed != 1 {
			b.Errorf("placed %+v, want 1", placed)
		}
		found, _ := b.store.Find(b.Context(), []string{"s"})
		if found[0].Missed != 1 || found[0].Cursor.Used != 1 {
			b.Errorf("found %+v, want 1 missed, 1 used", found[0])
		}
	})
}

func TestAnOccurrenceOfAnEarlierCreationIsDropped(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		at := ago(time.Minute)
		b.client.ZAdd(b.Context(), b.keys().due, redisZ(float64(at.UnixMilli()), occurrenceID("s", at)))
		b.declare("s", "skip", `{"job":"j"}`)
		answer := b.work("w", protocol.WorkCall{Take: 5})
		if len(answer.Taken) != 0 || len(answer.Owed) != 0 {
			b.Errorf("taken %+v owed %+v, want nothing: it was created after that instant", answer.Taken, answer.Owed)
		}
	})
}

func TestOwedIsListedAfterASecondAndCanBePostponed(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.declare("s", "skip", `{"job":"j"}`)
		if owed, err := b.store.Owed(b.Context(), []protocol.Partition{defaultPartition}); err != nil || len(owed) != 0 {
			b.Fatalf("owed at once: %+v, %v; want none", owed, err)
		}
		b.client.ZAdd(b.Context(), b.keys().owed, redisZ(1000, "s"), redisZ(1000, "gone"))
		owed, err := b.store.Owed(b.Context(), []protocol.Partition{defaultPartition})
		if err != nil || len(owed) != 1 || !owed[0].Since.Equal(time.UnixMilli(1000)) || owed[0].Cursor != (protocol.Cursor{}) {
			b.Fatalf("owed %+v, %v; want s since 1970", owed, err)
		}
		if err := b.store.Postpone(b.Context(), owed[0]); err != nil {
			b.Fatal(err)
		}
		if owed, _ := b.store.Owed(b.Context(), []protocol.Partition{defaultPartition}); len(owed) != 0 {
			b.Errorf("owed after it was postponed: %+v", owed)
		}
	})
}

// To postpone sets the instant since when a schedule is owed a minute ahead. No change and no move takes that for the truth: instants
// that are still to come would count as missed.
func TestAPostponedScheduleThatChangesIsOwedSinceNow(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for _, name := range []string{"changes", "moves"} {
			owed := *b.declare(name, "skip", `{"job":"j"}`).Owed
			if err := b.store.Postpone(b.Context(), owed); err != nil {
				b.Fatal(err)
			}
		}
		changed := b.declare("changes", "skip", `{"job":"k"}`).Owed
		moved := b.declareOn("mail", "moves", "skip", `{"job":"j"}`).Owed
		for _, owed := range []*protocol.Owed{changed, moved} {
			if ahead := time.Until(owed.Since); ahead > 10*time.Second {
				b.Errorf("%s is owed since %v ahead of now", owed.Name, ahead)
			}
		}
	})
}

// A partition that cannot be read hides no other one.
func TestOwedSchedulesOfOnePartitionAreListedThoughAnotherFails(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.declare("s", "skip", `{"job":"j"}`)
		b.client.ZAdd(b.Context(), b.keys().owed, redisZ(1000, "s"))
		bad := protocol.Partition{Queue: "bad"}
		b.client.Set(b.Context(), b.store.keys.partition(bad).owed, "somebody else's", 0)
		owed, err := b.store.Owed(b.Context(), []protocol.Partition{bad, defaultPartition})
		if len(owed) != 1 || !errors.Is(err, protocol.ErrUnfit) {
			b.Errorf("owed %+v, %v; want s, and an error about the other partition", owed, err)
		}
	})
}
