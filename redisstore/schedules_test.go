package redisstore

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

func (b *bench) owedNames() string {
	return fmt.Sprint(b.client.ZRange(b.Context(), b.keys().owed, 0, -1).Val())
}

func TestFiftyEqualDeclarationsAtOnceCreateOneSchedule(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		answers := make([]protocol.DeclareAnswer, 50)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				answers[i] = b.store.Declare(b.Context(), []protocol.Declaration{{Name: "report", Queue: "default", Overlap: "skip", Body: []byte(`{"job":"report"}`)}})[0]
			})
		}
		all.Wait()
		created := 0
		for _, a := range answers {
			if a.Err != nil {
				b.Fatal(a.Err)
			}
			if a.New {
				created++
			}
			if a.Changed || a.Revision != answers[0].Revision || !a.Created.Equal(answers[0].Created) {
				b.Errorf("answers %+v and %+v, want the same revision and creation", a, answers[0])
			}
		}
		if created != 1 {
			b.Errorf("created %d times, want once", created)
		}
		b.Want("owed", b.owedNames(), "[report]")
	})
}

func TestAChangeGetsANewRevisionAndWithdrawsFutureOccurrences(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		first := b.Declare("report", "skip", `{"job":"report","n":1}`)
		tomorrow := time.Now().Add(24 * time.Hour).Truncate(time.Second)
		b.Place(*first.Owed, first.Revision, 0, tomorrow)
		before := b.serverSecond()
		second := b.Declare("report", "skip", `{"job":"report","n":2}`)
		if !second.Changed || second.Revision <= first.Revision || !second.Created.Equal(first.Created) || second.Owed == nil {
			b.Fatalf("changed: %+v, want a later revision, the same creation %v, owed", second, first.Created)
		}
		if string(second.Old) != string(first.Stored) {
			b.Errorf("old %s, want %s", second.Old, first.Stored)
		}
		if n := b.client.ZCard(b.Context(), b.keys().due).Val(); n != 0 {
			b.Errorf("%d placed after the change, want none", n)
		}
		if c := second.Owed.Cursor; c.Placed || c.Used != 0 || c.At.Before(before) {
			b.Errorf("cursor %+v, want the instant of the change, the run given back", c)
		}
		if lost := b.Place(*first.Owed, first.Revision, 0, tomorrow); !lost.Lost {
			b.Errorf("placing with the old revision: %+v, want lost", lost)
		}
		same := b.Declare("report", "skip", `{"job":"report","n":2}`)
		if same.Changed || same.New || same.Owed != nil || same.Revision != second.Revision {
			b.Errorf("repeated: %+v, want nothing", same)
		}
	})
}

func TestRemoveDropsPlacedOccurrences(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Scheduled("s", "skip", storesuite.Ago(time.Minute), storesuite.Ago(-time.Hour))
		found, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"})
		if err != nil || !found {
			b.Fatalf("removed %v, %v", found, err)
		}
		b.Want("taken", storesuite.IDs(b.Take("w", 5)), "")
		for _, key := range []string{b.keys().due, b.keys().schedules, b.keys().cursors, b.keys().owed, b.store.keys.registry()} {
			if b.client.Exists(b.Context(), key).Val() != 0 {
				b.Errorf("%s is left", key)
			}
		}
		if found, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); found || err != nil {
			b.Errorf("removed again: %v, %v; want false", found, err)
		}
	})
}

func TestPauseWithdrawsTheNextOccurrenceAndResumeMakesItOwed(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		declared := b.Declare("s", "skip", `{"job":"j"}`)
		b.Place(*declared.Owed, declared.Revision, 0, storesuite.Ago(-time.Hour))
		if _, err := storesuite.PauseSchedule(b.Context(), b.store, "s", true); err != nil {
			b.Fatal(err)
		}
		b.Want("owed", b.owedNames(), "[]")
		if n := b.client.ZCard(b.Context(), b.keys().due).Val(); n != 0 {
			b.Errorf("%d placed while paused", n)
		}
		owed, err := storesuite.PauseSchedule(b.Context(), b.store, "s", false)
		if err != nil || owed.Name != "s" || owed.Cursor.Placed || owed.Cursor.Used != 0 {
			b.Fatalf("resumed %+v, %v; want it owed since the pause", owed, err)
		}
		if lost := b.Place(owed, declared.Revision, 0, storesuite.Ago(-time.Hour)); !lost.Lost {
			b.Errorf("placed with the revision before the pause: %+v, want lost", lost)
		}
		h, _ := parseHead(string(owed.Definition))
		if placed := b.Place(owed, h.revision, 0, storesuite.Ago(-time.Hour)); placed.Placed != 1 {
			b.Errorf("placed %+v, want 1", placed)
		}
	})
}

// A process that has known a queue for a long time registers it again with its next declaration, if the server has lost the registry.
func TestADeclarationWritesALostRegistryAgain(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for _, few := range []int{1, 9} {
			var all []protocol.Declaration
			for i := range few {
				all = append(all, protocol.Declaration{Name: fmt.Sprintf("s%d", i), Queue: "default", Overlap: "skip", Body: []byte(`{"job":"j"}`)})
			}
			b.store.Declare(b.Context(), all)
			b.client.Del(b.Context(), b.store.keys.queues(), b.store.keys.registry())
			for _, answer := range b.store.Declare(b.Context(), all) {
				if answer.Err != nil {
					b.Fatal(answer.Err)
				}
			}
			b.Want("queue", b.client.HGet(b.Context(), b.store.keys.queues(), "default").Val(), "1")
			b.Want("schedules", fmt.Sprint(b.client.ZCard(b.Context(), b.store.keys.registry()).Val()), fmt.Sprint(few))
		}
	})
}

// A schedule that is removed while it is paused leaves no note: if one of its name is created again and paused, it has no note of its own.
func TestARemovedScheduleLeavesNoNote(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Declare("s", "skip", `{"job":"j"}`)
		if _, err := b.store.PauseSchedule(b.Context(), protocol.Pausing{Name: "s", Paused: true, Note: &protocol.Note{Text: "why"}}); err != nil {
			b.Fatal(err)
		}
		if !b.client.HExists(b.Context(), b.keys().notes, "s").Val() {
			b.Fatal("no note is kept")
		}
		if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); err != nil {
			b.Fatal(err)
		}
		if b.client.HExists(b.Context(), b.keys().notes, "s").Val() {
			b.Error("the note of a removed schedule is left")
		}
	})
}
