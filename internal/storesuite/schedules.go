package storesuite

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func (s *Suite) TestNamesListsEveryScheduleOnceAndInOrder(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		const stay = 2500 // more than a page
		var declarations []protocol.Declaration
		for i := range stay {
			declarations = append(declarations, protocol.Declaration{
				Name: fmt.Sprintf("kept%04d", i), Queue: []string{"default", "mail"}[i%2], Overlap: "skip", Body: []byte(`{"job":"j"}`)})
		}
		for some := range slices.Chunk(declarations, 100) {
			for _, answer := range b.Store.Declare(b.Context(), some) {
				if answer.Err != nil {
					b.Fatal(answer.Err)
				}
			}
		}
		var listed []string
		for after := ""; ; {
			names, last, err := b.Store.Names(b.Context(), protocol.NameRange{After: after})
			if err != nil {
				b.Fatal(err)
			}
			listed = append(listed, names...)
			if after = last; last == "" {
				break
			}
			b.Declare("a new one before "+fmt.Sprint(len(listed)), "skip", `{"job":"j"}`)
			if _, err := b.Store.Remove(b.Context(), protocol.Removal{Name: after}); err != nil { // the next page begins after a name that is gone
				b.Fatal(err)
			}
		}
		if len(listed) != stay || !slices.IsSorted(listed) || len(slices.Compact(listed)) != stay {
			b.Errorf("listed %d names, sorted %v; want each of %d once, in order", len(listed), slices.IsSorted(listed), stay)
		}
	})
}

func (s *Suite) TestFindReadsSchedulesOfSeveralQueuesAndTheirCounters(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		at := Ago(30 * time.Second)
		b.Scheduled("ran", "skip", at)
		b.Work("s", protocol.WorkCall{Take: 1})
		mail := b.DeclareOn("mail", "waits", "skip", `{"job":"j"}`)
		tomorrow := time.Now().Add(24 * time.Hour).Truncate(time.Second)
		b.Place(*mail.Owed, mail.Revision, 0, tomorrow)
		b.DeclareOn("mail", "new", "skip", `{"job":"j"}`)
		found, err := b.Store.Find(b.Context(), []string{"waits", "nobody", "ran", "new"})
		if err != nil || len(found) != 4 {
			b.Fatalf("found %+v, %v", found, err)
		}
		if f := found[0]; f.Partition.Queue != "mail" || !f.Waiting || !f.Cursor.At.Equal(tomorrow) || string(f.Definition) != string(mail.Stored) {
			b.Errorf("waits: %+v", f)
		}
		if found[1].Name != "" {
			b.Errorf("a missing schedule: %+v, want nothing", found[1])
		}
		if f := found[2]; f.Waiting || f.Started != 1 || f.Placed != 1 || !f.Cursor.At.Equal(at) {
			b.Errorf("ran: %+v, want one placed and started, none waiting", f)
		}
		if f := found[3]; f.Name != "new" || f.Waiting || f.Cursor != (protocol.Cursor{}) {
			b.Errorf("new: %+v, want nothing placed", f)
		}
	})
}

// Names that a page's filters skip cost nothing or a bounded amount, and no name is left out.
func (s *Suite) TestNamesOfAPrefixAndOfAQueue(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		for i := range 300 {
			b.DeclareOn([]string{"default", "mail"}[i%2], fmt.Sprintf("%c ü%03d", 'a'+i%3, i), "skip", `{"job":"j"}`)
		}
		list := func(of protocol.NameRange) (all []string, calls int) {
			for {
				names, last, err := b.Store.Names(b.Context(), of)
				if err != nil {
					b.Fatal(err)
				}
				if calls++; len(names) > of.Max {
					b.Errorf("%+v: %d names", of, len(names))
				}
				if all, of.After = append(all, names...), last; last == "" {
					return all, calls
				}
			}
		}
		for _, c := range []struct {
			of         protocol.NameRange
			n          int
			first, end string
		}{
			{protocol.NameRange{Max: 7}, 300, "a ü000", "c ü299"},
			{protocol.NameRange{Max: 7, Prefix: "b"}, 100, "b ü001", "b ü298"},
			{protocol.NameRange{Max: 7, Prefix: "b ü0"}, 33, "b ü001", "b ü097"},
			{protocol.NameRange{Max: 7, Prefix: "b", After: "a"}, 100, "b ü001", "b ü298"},
			{protocol.NameRange{Max: 7, Prefix: "b", After: "b ü094"}, 68, "b ü097", "b ü298"},
			{protocol.NameRange{Max: 7, Queue: "mail"}, 150, "a ü003", "c ü299"},
			{protocol.NameRange{Max: 7, Queue: "mail", Prefix: "c ü2"}, 17, "c ü203", "c ü299"},
		} {
			names, calls := list(c.of)
			if len(names) != c.n || names[0] != c.first || names[len(names)-1] != c.end || calls > c.n/7+2 {
				b.Errorf("%+v: %d names in %d calls, %v to %v; want %d, %s to %s", c.of, len(names), calls, names[0], names[len(names)-1], c.n, c.first, c.end)
			}
		}
		if names, calls := list(protocol.NameRange{Max: 7, Prefix: "d"}); len(names) != 0 || calls != 1 {
			b.Errorf("no such prefix: %v in %d calls", names, calls)
		}
	})
}

// Two changes within a second leave the same cursor and differ only in the revision.
func (s *Suite) TestPlacingForAnEarlierRevisionIsLost(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		b.Declare("s", "skip", `{"job":"0"}`)
		for n := 1; n < 200; n += 2 {
			first := b.Declare("s", "skip", fmt.Sprintf(`{"job":"%d"}`, n))
			second := b.Declare("s", "skip", fmt.Sprintf(`{"job":"%d"}`, n+1))
			if first.Owed.Cursor != second.Owed.Cursor {
				continue // a second has passed between them
			}
			if placed := b.Place(*first.Owed, first.Revision, 0, Ago(-time.Hour)); !placed.Lost {
				b.Errorf("placed %+v for the earlier revision, want lost", placed)
			}
			return
		}
		b.Fatal("no two changes were within a second")
	})
}

func (s *Suite) TestNothingIsPlacedForAPausedSchedule(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		declared := b.Declare("s", "skip", `{"job":"j"}`)
		if _, err := PauseSchedule(b.Context(), b.Store, "s", true); err != nil {
			b.Fatal(err)
		}
		if placed := b.Place(*declared.Owed, declared.Revision, 0, Ago(-time.Hour)); !placed.Lost {
			b.Errorf("placed %+v, want lost", placed)
		}
	})
}

// An occurrence that is taken again without a body is not new: its lateness and overlap are not checked a second time.
func (s *Suite) TestAnOccurrencePostponedWithoutABodyIsNotNew(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		b.Scheduled("s", "skip", Ago(time.Minute))
		first := b.Take("one", 1)
		if len(first) != 1 || !first[0].New {
			b.Fatalf("took %+v, want a new occurrence", first)
		}
		b.Settle("one", protocol.Settlement{ID: first[0].ID, Fence: first[0].Fence, Kind: protocol.SettleLater})
		var again []protocol.TakenJob
		for len(again) == 0 {
			again = b.Take("two", 1)
		}
		if again[0].ID != first[0].ID || again[0].New {
			b.Errorf("took %+v, want %s again and not as a new one", again, first[0].ID)
		}
	})
}

func (s *Suite) TestCountIsNeverExceededAndTheScheduleCompletes(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		declared := b.Declare("trial", "allow", `{"job":"trial"}`)
		at := Ago(-time.Hour)
		placed := b.Place(*declared.Owed, declared.Revision, 2, at, at.Add(time.Second), at.Add(2*time.Second))
		if placed.Placed != 2 {
			b.Fatalf("placed %+v of count 2, want 2", placed)
		}
		found, err := b.Store.Find(b.Context(), []string{"trial", "nobody"})
		if err != nil || found[0].Cursor.Used != 2 || found[1].Name != "" {
			b.Fatalf("found %+v, %v", found, err)
		}
		owed := protocol.Owed{Partition: DefaultPartition, Name: "trial", Cursor: found[0].Cursor}
		if last := b.Place(owed, declared.Revision, 2, at.Add(time.Minute)); !last.Completed {
			b.Fatalf("with no run left: %+v, want completed", last)
		}
		again := b.Declare("trial", "allow", `{"job":"trial"}`)
		if again.Owed != nil || again.Changed {
			b.Errorf("declared again: %+v, want nothing", again)
		}
		revived := b.Declare("trial", "allow", `{"job":"trial","count":3}`)
		if revived.Owed == nil || revived.Owed.Cursor.Used != 1 {
			b.Errorf("changed: %+v, want owed with the run withdrawn given back", revived)
		}
	})
}

func (s *Suite) TestAMissedRunIsGivenBackAndRevivesACompletedSchedule(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		at := Ago(time.Hour)
		declared := b.Scheduled("s", "skip", at)
		answer := b.Work("w", protocol.WorkCall{Take: 1})
		if done := b.Place(answer.Owed[0], declared.Revision, 1, at.Add(2*time.Hour)); !done.Completed {
			b.Fatalf("placed %+v, want completed: the count is 1", done)
		}
		settled := b.Work("w", protocol.WorkCall{Settle: []protocol.Settlement{{ID: answer.Taken[0].ID, Fence: answer.Taken[0].Fence, Kind: protocol.SettleMissed}}})
		if len(settled.Owed) != 1 || settled.Owed[0].Cursor.Used != 0 {
			b.Fatalf("owed %+v, want the schedule with no run used", settled.Owed)
		}
		if placed := b.Place(settled.Owed[0], declared.Revision, 1, at.Add(2*time.Hour)); placed.Placed != 1 {
			b.Errorf("placed %+v, want 1", placed)
		}
		found, _ := b.Store.Find(b.Context(), []string{"s"})
		if found[0].Missed != 1 || found[0].Cursor.Used != 1 {
			b.Errorf("found %+v, want 1 missed, 1 used", found[0])
		}
	})
}

// Postponing moves the instant since which a schedule is owed a minute ahead. Changes and moves must not use that instant: future instants
// would count as missed.
func (s *Suite) TestAPostponedScheduleThatChangesIsOwedSinceNow(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		for _, name := range []string{"changes", "moves"} {
			owed := *b.Declare(name, "skip", `{"job":"j"}`).Owed
			if err := b.Store.Postpone(b.Context(), owed); err != nil {
				b.Fatal(err)
			}
		}
		changed := b.Declare("changes", "skip", `{"job":"k"}`).Owed
		moved := b.DeclareOn("mail", "moves", "skip", `{"job":"j"}`).Owed
		for _, owed := range []*protocol.Owed{changed, moved} {
			if ahead := time.Until(owed.Since); ahead > 10*time.Second {
				b.Errorf("%s is owed since %v ahead of now", owed.Name, ahead)
			}
		}
	})
}

func (s *Suite) TestStartedCountsEveryRunUnderEveryPolicy(t *testing.T) {
	for _, overlap := range []string{"skip", "wait", "cancel", "allow"} {
		t.Run(overlap, func(t *testing.T) {
			s.onEveryServer(t, func(b *Bench) {
				b.Scheduled("s", overlap, Ago(2*time.Minute), Ago(time.Minute))
				runs := 0
				for range 4 {
					for _, job := range b.Take("w", 5) {
						if !job.New {
							b.Errorf("%s is taken for the first time and not new", job.ID)
						}
						runs++
						b.Settle("w", Done(job))
					}
				}
				found, err := b.Store.Find(b.Context(), []string{"s"})
				if err != nil || found[0].Started != int64(runs) || runs+int(found[0].Skipped) != 2 {
					b.Errorf("%d of 2 ran, found %+v, %v; want as many started, the others skipped", runs, found[0].Counters, err)
				}
			})
		})
	}
}

func (s *Suite) TestAMissedRunOfARemovedScheduleLeavesANewOneOfThatNameAlone(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		b.Scheduled("report", "skip", Ago(time.Hour))
		old := b.Take("s", 1)[0]
		if _, err := b.Store.Remove(b.Context(), protocol.Removal{Name: "report"}); err != nil {
			b.Fatal(err)
		}
		again := b.Declare("report", "skip", `{"job":"j"}`)
		b.Place(*again.Owed, again.Revision, 1, Ago(-time.Hour))
		b.Settle("s", protocol.Settlement{ID: old.ID, Fence: old.Fence, Kind: protocol.SettleMissed})
		found, err := b.Store.Find(b.Context(), []string{"report"})
		if err != nil || found[0].Cursor.Used != 1 || found[0].Missed != 0 {
			b.Errorf("found %+v, %v; want its one run used and nothing missed", found, err)
		}
	})
}
