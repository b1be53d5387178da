package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A move that was interrupted after any step is completed by the next declaration, and the schedule lives in exactly one queue.
func TestAMoveInterruptedAfterAnyStepIsCompletedByADeclaration(t *testing.T) {
	for steps := range 5 {
		t.Run(fmt.Sprintf("after %d steps", steps), func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				declared := b.declare("s", "skip", `{"job":"j"}`)
				at := ago(-time.Hour)
				b.place(*declared.Owed, declared.Revision, 0, at)
				b.interruptMove("s", "default", "mail", steps)
				moved := b.declareOn("mail", "s", "skip", `{"job":"j"}`)
				mail := b.store.keys.partition(protocol.Partition{Queue: "mail"})
				if n := b.client.ZCard(b.Context(), b.keys().due).Val(); n != 0 {
					b.Errorf("%d placed in the old queue, want none", n)
				}
				if steps == 3 {
					// the new queue has the schedule: a ticker finds the mark
					b.client.ZAdd(b.Context(), b.keys().owed, redisZ(1000, "s"))
					if _, err := b.store.Owed(b.Context(), []protocol.Partition{defaultPartition}); err != nil {
						b.Fatal(err)
					}
				}
				b.want("owed in the old queue", b.owedNames(), "[]")
				b.want("registry", b.registered("s").queue, "mail")
				if score, err := b.client.ZScore(b.Context(), mail.owed, "s").Result(); err != nil || score == 0 {
					b.Errorf("owed in the new queue: %v, %v", score, err)
				}
				if !moved.Created.Equal(declared.Created) || moved.Changed || moved.New {
					b.Errorf("moved %+v, want the same creation, nothing changed", moved)
				}
				again := b.declareOn("mail", "s", "skip", `{"job":"j"}`)
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

// registered is where the registry has a schedule.
func (b *bench) registered(name string) home {
	b.Helper()
	homes, err := b.store.homes(b.Context(), name)
	if err != nil {
		b.Fatal(err)
	}
	return homes[0]
}

// interruptMove does the first steps of a move only.
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

// arrive takes the second step of a move, and returns what it answers.
func (b *bench) arrive(name, to, mark, cursor, origins string) reply {
	b.Helper()
	k := b.store.keys.partition(protocol.Partition{Queue: to})
	values, err := b.store.runOne(b.Context(), "arrive", name, newCall(&moveArriveScript,
		[]string{k.schedules, k.cursors, k.owed, k.gone, k.counters, k.state, k.origins, k.notes, k.owners, k.last, k.history}, []any{name, mark, cursor, origins, to, "", "", "", ""}))
	if err != nil {
		b.Fatal(err)
	}
	return values
}

func TestOwedCompletesAnInterruptedMove(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.declare("s", "skip", `{"job":"j"}`)
		b.client.ZAdd(b.Context(), b.keys().owed, redisZ(1000, "s"))
		b.interruptMove("s", "default", "mail", 1)
		owed, err := b.store.Owed(b.Context(), []protocol.Partition{defaultPartition})
		if err != nil || len(owed) != 1 || owed[0].Partition.Queue != "mail" {
			b.Fatalf("owed %+v, %v; want s in mail", owed, err)
		}
		b.want("owed in the old queue", b.owedNames(), "[]")
	})
}

// Whoever did the first steps of a move, stood still, and goes on after the schedule was deleted, brings nothing back.
func TestADeletedScheduleIsNotBroughtBackByALateStepOfItsMove(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.declare("s", "skip", `{"job":"j"}`)
		at := b.registered("s")
		begun, err := b.store.beginMove(b.Context(), "s", at, "mail", 0, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.declareOn("mail", "s", "skip", `{"job":"j"}`) // somebody else finishes the move
		b.client.ZAdd(b.Context(), b.keys().owed, redisZ(1000, "s"))
		if found, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); !found || err != nil {
			b.Fatalf("removed %v, %v", found, err)
		}
		b.want("what arrives late", b.arrive("s", "mail", begun.mark, begun.cursor, begun.origins).text(0), "")
		if _, err := b.store.Owed(b.Context(), []protocol.Partition{defaultPartition, {Queue: "mail"}}); err != nil {
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
		first := b.declare("s", "skip", `{"job":"j"}`)
		b.declareOn("mail", "s", "skip", `{"job":"j"}`)
		if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); err != nil {
			b.Fatal(err)
		}
		again := b.declare("s", "skip", `{"job":"j"}`)
		if !again.New || again.Revision <= first.Revision || again.Owed == nil {
			b.Errorf("declared again %+v, want a new schedule", again)
		}
		back := b.declareOn("mail", "s", "skip", `{"job":"j"}`)
		b.want("the registry", b.registered("s").queue, "mail")
		if back.New || !back.Created.Equal(again.Created) {
			b.Errorf("moved %+v, want the same schedule", back)
		}
	})
}

func TestAMoveTakesCountersAndTheFlagOfLargeDefinitionsAlong(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		large := `{"job":"j","args":"` + strings.Repeat("x", 4000) + `"}`
		declared := b.declare("s", "skip", large)
		b.place(*declared.Owed, declared.Revision, 0, ago(-time.Hour))
		b.client.HSet(b.Context(), b.keys().counters, "s/started", 7, "s/missed", 3)
		b.declareOn("mail", "s", "skip", large)
		mail := b.store.keys.partition(protocol.Partition{Queue: "mail"})
		b.want("flag large", b.client.HGet(b.Context(), mail.state, "large").Val(), "1")
		found, err := b.store.Find(b.Context(), []string{"s"})
		if err != nil || found[0].Started != 7 || found[0].Missed != 3 || found[0].Cursor.Used != 0 {
			b.Errorf("found %+v, %v; want 7 started, 3 missed, the run that was withdrawn given back", found, err)
		}
	})
}

// What nobody has taken when a schedule moves goes along, whether it is due or not: in the old queue it could be dropped, and its run
// could not be given back to the count.
func TestWhatNobodyHasTakenMovesAlong(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		at := ago(time.Minute)
		b.scheduled("s", "skip", at)
		moved := b.declareOn("mail", "s", "skip", `{"job":"j"}`)
		if want := (protocol.Cursor{At: at.Add(-time.Second).UTC()}); moved.Owed == nil || moved.Owed.Cursor != want {
			b.Fatalf("owed %+v, want no run used and %+v, after which %v is the next again", moved.Owed, want, at)
		}
		b.want("taken in the old queue", ids(b.take("w", 5)), "")
	})
}

// What was caught up and moves along counts as caught up where it is placed again.
func TestWhatIsCaughtUpCountsOnceThoughItMoves(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		declared := b.declare("s", "skip", `{"job":"j"}`)
		if placed := b.catchUp(*declared.Owed, declared.Revision, ago(time.Minute)); placed.Placed != 1 {
			b.Fatalf("placed %+v", placed)
		}
		b.declareOn("mail", "s", "skip", `{"job":"j"}`)
		if found, err := b.store.Find(b.Context(), []string{"s"}); err != nil || found[0].CaughtUp != 0 {
			b.Errorf("found %+v, %v; want nothing caught up yet", found, err)
		}
	})
}

// What was taken before a schedule with a count moved runs in the old queue, though it is too late or another one runs: nothing could give back its
// run to the count.
func TestWhatWasTakenBeforeAMoveIsNotDropped(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		first, second := ago(2*time.Minute), ago(time.Minute)
		b.scheduled("s", "skip", first, second) // a change of the recurrence may leave two
		late := b.take("w", 1)[0]
		b.want("taken", late.ID, occurrenceID("s", first))
		b.client.HSet(b.Context(), b.keys().cursors, "s", second.Add(time.Second).UTC().Format(time.RFC3339)+" 2 s")
		stored := b.client.HGet(b.Context(), b.keys().schedules, "s").Val()
		body := `{"job":"j","recurrence":{"frequency":"minute","count":9},"misfire":"skip"}`
		b.client.HSet(b.Context(), b.keys().schedules, "s", strings.Replace(stored, `"job":"j"}`, body[1:], 1))
		b.declareOn("mail", "s", "skip", body)
		b.want("taken while the first is in flight", ids(b.take("w", 5)), "")
		b.settle("w", protocol.Settlement{ID: late.ID, Fence: late.Fence, Kind: protocol.SettleMissed})
		for _, want := range []time.Time{first, second} {
			taken := b.take("w", 5)
			b.want("taken then", ids(taken), occurrenceID("s", want))
			b.settle("w", done(taken[0]))
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
			b.declare(name, "skip", `{"job":"j"}`)
			if _, err := b.store.beginMove(b.Context(), name, b.registered(name), "bad", 0, nil); err != nil {
				b.Fatal(err)
			}
			b.client.ZAdd(b.Context(), b.keys().owed, redisZ(1000, name))
		}
		b.declare("victim", "skip", `{"job":"j"}`)
		b.client.ZAdd(b.Context(), b.keys().owed, redisZ(2000, "victim"))
		var names []string
		for range 2 {
			owed, err := b.store.Owed(b.Context(), []protocol.Partition{defaultPartition})
			if err != nil {
				b.Fatal(err)
			}
			for _, o := range owed {
				names = append(names, o.Name)
			}
		}
		b.want("owed", fmt.Sprint(names), "[victim]")
	})
}

// A mark that leads to its own queue, or to another mark, is followed once.
func TestMarksThatLeadInACircleAreFollowedOnce(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		declared := b.declare("s", "skip", `{"job":"j"}`)
		h, _ := parseHead(string(declared.Stored))
		h.generation++
		b.client.HSet(b.Context(), b.keys().schedules, "s", h.withState("moved to default live 1000 0/0/0/0/0"))
		if _, err := b.store.Find(b.Context(), []string{"s"}); err != nil {
			b.Fatal(err)
		}
		b.client.ZAdd(b.Context(), b.keys().owed, redisZ(1000, "s"))
		for range 3 {
			if _, err := b.store.Owed(b.Context(), []protocol.Partition{defaultPartition}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
