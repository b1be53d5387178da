package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A move that was interrupted after any step is completed by the next declaration, and the schedule lives in exactly one queue.
func TestAMoveInterruptedAfterAnyStepIsCompletedByADeclaration(t *testing.T) {
	for steps := range 5 {
		t.Run(fmt.Sprintf("after %d steps", steps), func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				declared := b.Declare("s", "skip", `{"job":"j"}`)
				at := storesuite.Ago(-time.Hour)
				b.Place(*declared.Owed, declared.Revision, 0, at)
				b.interruptMove("s", "default", "mail", steps)
				moved := b.DeclareOn("mail", "s", "skip", `{"job":"j"}`)
				mail := b.store.keys.partition(protocol.Partition{Queue: "mail"})
				if n := b.client.ZCard(b.Context(), b.keys().due).Val(); n != 0 {
					b.Errorf("%d placed in the old queue, want none", n)
				}
				if steps == 3 {
					// the new queue has the schedule: a ticker finds the mark
					b.client.ZAdd(b.Context(), b.keys().owed, redisZ(1000, "s"))
					if _, err := b.store.Owed(b.Context(), []protocol.Partition{storesuite.DefaultPartition}); err != nil {
						b.Fatal(err)
					}
				}
				b.Want("owed in the old queue", b.owedNames(), "[]")
				b.Want("registry", b.registered("s").queue, "mail")
				if score, err := b.client.ZScore(b.Context(), mail.owed, "s").Result(); err != nil || score == 0 {
					b.Errorf("owed in the new queue: %v, %v", score, err)
				}
				if !moved.Created.Equal(declared.Created) || moved.Changed || moved.New {
					b.Errorf("moved %+v, want the same creation, nothing changed", moved)
				}
				again := b.DeclareOn("mail", "s", "skip", `{"job":"j"}`)
				if again.Revision != moved.Revision {
					b.Errorf("revision %d, then %d, want the same", moved.Revision, again.Revision)
				}
				found, err := b.store.Find(b.Context(), []string{"s"})
				if err != nil || found[0].Partition.Queue != "mail" {
					b.Errorf("found %+v, %v; want it in mail", found, err)
				}
			})
		})
	}
}

// registered returns where the registry has a schedule.
func (b *bench) registered(name string) home {
	b.Helper()
	homes, err := b.store.homes(b.Context(), name)
	if err != nil {
		b.Fatal(err)
	}
	return homes[0]
}

// interruptMove does only the first steps of a move.
func (b *bench) interruptMove(name, from, to string, steps int) {
	b.Helper()
	if steps == 0 {
		return
	}
	at := b.registered(name)
	begun, err := b.store.beginMove(b.Context(), name, at, to, 0, nil)
	if err != nil {
		b.Fatal(err)
	}
	mark := begun.mark
	h, ok := parseHead(mark)
	if !ok || h.movedTo != to || h.before != "live" {
		b.Fatalf("mark %q", mark)
	}
	if steps > 1 {
		b.arrive(name, to, mark, begun.cursor, begun.origins)
	}
	if steps > 2 {
		if _, err := b.store.changeHome(b.Context(), name, at, home{to, h.generation}); err != nil {
			b.Fatal(err)
		}
	}
	if steps > 3 {
		if err := b.store.endMove(b.Context(), name, from, h.generation); err != nil {
			b.Fatal(err)
		}
	}
}

// arrive takes the second step of a move, and returns the answer.
func (b *bench) arrive(name, to, mark, cursor, origins string) reply {
	b.Helper()
	k := b.store.keys.partition(protocol.Partition{Queue: to})
	values, err := b.store.runOne(b.Context(), "arrive", name, newCall(&moveArriveScript,
		[]string{k.schedules, k.cursors, k.owed, k.gone, k.counters, k.state, k.origins, k.notes, k.owners, k.last, k.history, k.callers, k.idle, k.zones, k.ends},
		[]any{name, mark, cursor, origins, to, "", "", "", "", ""}))
	if err != nil {
		b.Fatal(err)
	}
	return values
}

func TestOwedCompletesAnInterruptedMove(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Declare("s", "skip", `{"job":"j"}`)
		b.client.ZAdd(b.Context(), b.keys().owed, redisZ(1000, "s"))
		b.interruptMove("s", "default", "mail", 1)
		owed, err := b.store.Owed(b.Context(), []protocol.Partition{storesuite.DefaultPartition})
		if err != nil || len(owed) != 1 || owed[0].Partition.Queue != "mail" {
			b.Fatalf("owed %+v, %v; want s in mail", owed, err)
		}
		b.Want("owed in the old queue", b.owedNames(), "[]")
	})
}

// A process that did the first steps of a move, paused, and continues after the schedule was deleted, restores nothing.
func TestADeletedScheduleIsNotBroughtBackByALateStepOfItsMove(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Declare("s", "skip", `{"job":"j"}`)
		at := b.registered("s")
		begun, err := b.store.beginMove(b.Context(), "s", at, "mail", 0, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.DeclareOn("mail", "s", "skip", `{"job":"j"}`) // another process finishes the move
		b.client.ZAdd(b.Context(), b.keys().owed, redisZ(1000, "s"))
		if found, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); !found || err != nil {
			b.Fatalf("removed %v, %v", found, err)
		}
		b.Want("late arrival", b.arrive("s", "mail", begun.mark, begun.cursor, begun.origins).text(0), "")
		if _, err := b.store.Owed(b.Context(), []protocol.Partition{storesuite.DefaultPartition, {Queue: "mail"}}); err != nil {
			b.Fatal(err)
		}
		if found, err := b.store.Find(b.Context(), []string{"s"}); err != nil || found[0].Name != "" {
			b.Errorf("found %+v, %v; want nothing", found, err)
		}
		for _, queue := range []string{"default", "mail"} {
			k := b.store.keys.partition(protocol.Partition{Queue: queue})
			if n := b.client.Exists(b.Context(), k.schedules, k.owed, k.cursors, k.due).Val(); n != 0 {
				b.Errorf("%d keys of schedules are left in %s", n, queue)
			}
		}
	})
}

func TestAScheduleThatMovedAndWasDeletedIsDeclaredInItsOldQueueAtOnce(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		first := b.Declare("s", "skip", `{"job":"j"}`)
		b.DeclareOn("mail", "s", "skip", `{"job":"j"}`)
		if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); err != nil {
			b.Fatal(err)
		}
		again := b.Declare("s", "skip", `{"job":"j"}`)
		if !again.New || again.Revision <= first.Revision || again.Owed == nil {
			b.Errorf("declared again %+v, want a new schedule", again)
		}
		back := b.DeclareOn("mail", "s", "skip", `{"job":"j"}`)
		b.Want("the registry", b.registered("s").queue, "mail")
		if back.New || !back.Created.Equal(again.Created) {
			b.Errorf("moved %+v, want the same schedule", back)
		}
	})
}

func TestAMoveTakesCountersAndTheFlagOfLargeDefinitionsAlong(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		large := `{"job":"j","args":"` + strings.Repeat("x", 4000) + `"}`
		declared := b.Declare("s", "skip", large)
		b.Place(*declared.Owed, declared.Revision, 0, storesuite.Ago(-time.Hour))
		b.client.HSet(b.Context(), b.keys().counters, "s/started", 7, "s/missed", 3)
		b.DeclareOn("mail", "s", "skip", large)
		mail := b.store.keys.partition(protocol.Partition{Queue: "mail"})
		b.Want("flag large", b.client.HGet(b.Context(), mail.state, "large").Val(), "1")
		found, err := b.store.Find(b.Context(), []string{"s"})
		if err != nil || found[0].Started != 7 || found[0].Missed != 3 || found[0].Cursor.Used != 0 {
			b.Errorf("found %+v, %v; want 7 started, 3 missed, the run that was withdrawn given back", found, err)
		}
	})
}

// An occurrence taken before a schedule with a count moved runs in the old queue, even if it is too late or another one runs: its run could
// not be given back to the count.
func TestWhatWasTakenBeforeAMoveIsNotDropped(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		first, second := storesuite.Ago(2*time.Minute), storesuite.Ago(time.Minute)
		b.Scheduled("s", "skip", first, second) // a change of the recurrence may leave two
		late := b.Take("w", 1)[0]
		b.Want("taken", late.ID, storesuite.OccurrenceID("s", first))
		b.client.HSet(b.Context(), b.keys().cursors, "s", second.Add(time.Second).UTC().Format(time.RFC3339)+" 2 s")
		stored := b.client.HGet(b.Context(), b.keys().schedules, "s").Val()
		body := `{"job":"j","recurrence":{"frequency":"minute","count":9},"misfire":"skip"}`
		b.client.HSet(b.Context(), b.keys().schedules, "s", strings.Replace(stored, `"job":"j"}`, body[1:], 1))
		b.DeclareOn("mail", "s", "skip", body)
		b.Want("taken while the first is in flight", storesuite.IDs(b.Take("w", 5)), "")
		b.Settle("w", protocol.Settlement{ID: late.ID, Fence: late.Fence, Kind: protocol.SettleMissed})
		for _, want := range []time.Time{first, second} {
			taken := b.Take("w", 5)
			b.Want("taken then", storesuite.IDs(taken), storesuite.OccurrenceID("s", want))
			b.Settle("w", storesuite.Done(taken[0]))
		}
		found, err := b.store.Find(b.Context(), []string{"s"})
		if err != nil || found[0].Started != 2 || found[0].Skipped+found[0].Missed != 0 || found[0].Cursor.Used != 2 {
			b.Errorf("found %+v, %v; want 2 started and 2 runs used, none dropped", found, err)
		}
	})
}

// Moves to a queue that cannot be written are postponed, so that they hide no schedule behind them.
func TestMovesThatCannotCompleteHideNoOwedSchedule(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.client.Set(b.Context(), b.store.keys.partition(protocol.Partition{Queue: "bad"}).schedules, "somebody else's", 0)
		for i := range maxOwed {
			name := fmt.Sprintf("stuck%03d", i)
			b.Declare(name, "skip", `{"job":"j"}`)
			if _, err := b.store.beginMove(b.Context(), name, b.registered(name), "bad", 0, nil); err != nil {
				b.Fatal(err)
			}
			b.client.ZAdd(b.Context(), b.keys().owed, redisZ(1000, name))
		}
		b.Declare("victim", "skip", `{"job":"j"}`)
		b.client.ZAdd(b.Context(), b.keys().owed, redisZ(2000, "victim"))
		var names []string
		for range 2 {
			owed, err := b.store.Owed(b.Context(), []protocol.Partition{storesuite.DefaultPartition})
			if err != nil {
				b.Fatal(err)
			}
			for _, o := range owed {
				names = append(names, o.Name)
			}
		}
		b.Want("owed", fmt.Sprint(names), "[victim]")
	})
}

// A mark that leads to its own queue, or to another mark, is followed once.
func TestMarksThatLeadInACircleAreFollowedOnce(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		declared := b.Declare("s", "skip", `{"job":"j"}`)
		h, _ := parseHead(string(declared.Stored))
		h.generation++
		b.client.HSet(b.Context(), b.keys().schedules, "s", h.withState("moved to default live 1000 0/0/0/0/0"))
		if _, err := b.store.Find(b.Context(), []string{"s"}); err != nil {
			b.Fatal(err)
		}
		b.client.ZAdd(b.Context(), b.keys().owed, redisZ(1000, "s"))
		for range 3 {
			if _, err := b.store.Owed(b.Context(), []protocol.Partition{storesuite.DefaultPartition}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
