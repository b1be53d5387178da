package redisstore

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// occurs declares a schedule whose occurrences belong to a group, and places one that is due since some time ago. It returns its ID.
func (b *bench) occurs(name, overlap, group string, ago time.Duration) (declared protocol.DeclareAnswer, id string) {
	b.Helper()
	declared = b.Declare(name, overlap, `{"version":3,"job":"j","recurrence":{"frequency":"hour"},"misfire":"run_once","grace":"1m0s","group":"`+group+`"}`)
	b.backdate(name)
	return declared, b.occursNext(declared, group, protocol.Cursor{}, ago)
}

// occursNext places the occurrence after the cursor.
func (b *bench) occursNext(declared protocol.DeclareAnswer, group string, cursor protocol.Cursor, ago time.Duration) (id string) {
	b.Helper()
	at := storesuite.Ago(ago)
	answer := b.store.Place(b.Context(), []protocol.Placement{{
		Partition: storesuite.DefaultPartition, Name: declared.Owed.Name, Revision: declared.Revision, Cursor: cursor, Instants: []time.Time{at}, Group: group,
	}})[0]
	if answer.Err != nil || answer.Placed != 1 {
		b.Fatalf("placed %+v", answer)
	}
	return storesuite.OccurrenceID(declared.Owed.Name, at)
}

// ends settles occurrences and other jobs as done.
func (b *bench) ends(session string, jobs ...protocol.TakenJob) {
	b.Helper()
	for _, job := range jobs {
		settled := storesuite.Done(job)
		if isOccurrence(job.ID) {
			settled.Run = ran(job.ID, "done")
		}
		b.Settle(session, settled)
	}
}

// Soonest finds an overdue occurrence also while it waits for the turn of its group, and not once it was taken.
func TestSoonestFindsOccurrencesInLine(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		_, first := b.occurs("first", "skip", "g", 2*time.Minute)
		b.occurs("second", "skip", "g", time.Minute)
		declared := b.Declare("third", "skip", `{"version":3,"job":"j","recurrence":{"frequency":"hour"},"group":"g"}`)
		b.occursNext(declared, "g", protocol.Cursor{}, -time.Hour)
		soonest := func(n int) string {
			coming, err := b.store.Soonest(b.Context(), n, nil)
			if err != nil {
				b.Fatal(err)
			}
			var names []string
			for _, c := range coming {
				text := c.Name
				if c.At.IsZero() {
					text += ":owed"
				}
				names = append(names, text)
			}
			return strings.Join(names, " ")
		}
		b.Want("soonest, all in due", soonest(5), "first second third")
		b.setGroup("g", protocol.GroupRule{Running: 1})
		b.pauseGroup("g", true, protocol.Note{})
		b.Want("taken from a paused group", storesuite.IDs(b.Take("s", 5)), "")
		b.Want("soonest, two in line", soonest(5), "first second third")
		b.Want("the soonest", soonest(1), "first")
		b.pauseGroup("g", false, protocol.Note{})
		taken := b.Take("s", 5)
		b.Want("taken", storesuite.IDs(taken), first)
		b.Want("soonest, one taken", soonest(5), "first:owed second third")
		b.Settle("s", protocol.Settlement{ID: first, Fence: taken[0].Fence, Kind: protocol.SettleBack, Run: ran(first, "back")})
		b.Want("soonest, one came back", soonest(5), "first:owed second third")
	})
}

// An occurrence in line counts as untaken, as one in due does: in each action on its schedule.
func TestAnOccurrenceInLineWasNotTaken(t *testing.T) {
	const owed, placed, gone = "owed", "placed", "gone"
	actions := map[string]struct {
		does  func(b *bench, declared protocol.DeclareAnswer, id string) error
		after string // what the schedule is then
	}{
		"nothing": {func(*bench, protocol.DeclareAnswer, string) error { return nil }, placed},
		"pause and resume": {func(b *bench, _ protocol.DeclareAnswer, _ string) error {
			for _, paused := range []bool{true, false} {
				if _, err := b.store.PauseSchedule(b.Context(), protocol.Pausing{Name: "s", Paused: paused}); err != nil {
					return err
				}
			}
			return nil
		}, placed},
		"change": {func(b *bench, _ protocol.DeclareAnswer, _ string) error {
			return b.Declare("s", "skip", `{"version":3,"job":"k","recurrence":{"frequency":"hour"},"misfire":"run_once","grace":"1m0s","group":"other"}`).Err
		}, placed},
		"cancel": {func(b *bench, _ protocol.DeclareAnswer, id string) error {
			b.Want("cancelled", b.Cancel(id), "done")
			return nil
		}, owed},
		"delete the job": {func(b *bench, _ protocol.DeclareAnswer, id string) error {
			b.Want("deleted", b.bulk(b.store.DeleteJobs(b.Context(), "default", []string{id})), "u")
			return nil
		}, placed},
		"requeue": {func(b *bench, _ protocol.DeclareAnswer, id string) error {
			b.Want("requeued", b.requeue(protocol.RequeuedJob{ID: id}), "u")
			return nil
		}, placed},
		"purge": {func(b *bench, _ protocol.DeclareAnswer, _ string) error {
			if _, err := b.store.BeginPurge(b.Context(), storesuite.DefaultPartition); err != nil {
				return err
			}
			_, err := b.store.finishPurge(b.Context(), storesuite.DefaultPartition)
			return err
		}, placed},
		"purge of the group": {func(b *bench, _ protocol.DeclareAnswer, _ string) error {
			done, _, err := b.store.PurgeGroup(b.Context(), "default", "g", "")
			if done.Changed != 1 || done.More {
				b.Errorf("purged %+v, want the ordinary job", done)
			}
			return err
		}, placed},
		"replan": {func(b *bench, declared protocol.DeclareAnswer, _ string) error {
			cursor := b.cursorOf("s")
			back := cursor.At.Add(-time.Second)
			address := protocol.Address{Partition: storesuite.DefaultPartition, Name: "s"}
			_, err := b.store.Replan(b.Context(), []protocol.Replan{{Address: address, Definition: declared.Stored, Revision: declared.Revision, Cursor: cursor, Back: back}})
			return err
		}, owed},
		"delete the schedule": {func(b *bench, _ protocol.DeclareAnswer, _ string) error {
			_, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"})
			return err
		}, gone},
		"move": {func(b *bench, _ protocol.DeclareAnswer, _ string) error {
			return b.DeclareOn("mail", "s", "skip", `{"version":3,"job":"j","recurrence":{"frequency":"hour"},"misfire":"run_once","grace":"1m0s","group":"g"}`).Err
		}, gone},
	}
	for what, action := range actions {
		t.Run(what, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				declared, id := b.occurs("s", "skip", "g", time.Second)
				b.wantSoundLine("placed")
				b.Enqueue(inGroup("g", "job"))
				b.pauseGroup("g", true, protocol.Note{})
				b.Want("taken from a paused group", storesuite.IDs(b.Take("s", 5)), "")
				b.Want("in line", b.lineIDs(), "g:job g:"+id)
				b.wantSoundLine("in line")
				b.Verified()
				if err := action.does(b, declared, id); err != nil {
					b.Fatal(err)
				}
				b.wantSoundLine(what)
				b.Verified()
				b.pauseGroup("g", false, protocol.Note{})
				answer := b.Work("t", protocol.WorkCall{Take: 5})
				taken := strings.TrimSpace(strings.ReplaceAll(storesuite.IDs(answer.Taken), "job", ""))
				want := map[string]string{placed: id}[action.after]
				b.Want("taken then", taken, want)
				owes := len(answer.Owed) == 1 || b.owedNames() == "[s]"
				if owes != (action.after != gone) {
					b.Errorf("owed %+v and %s, want the next one owed unless it is gone", answer.Owed, b.owedNames())
				}
				b.wantSoundLine("taken")
				b.Verified()
			})
		})
	}
}

// An occurrence of a group that was given back, parked or reaped, or whose retry is due, is not new a second time, and its schedule is not owed for it again.
func TestAnOccurrenceThatReturnsToItsGroupIsNotNew(t *testing.T) {
	ends := map[string]func(b *bench, job protocol.TakenJob) string{
		"given back": func(b *bench, job protocol.TakenJob) string {
			b.Settle("s", protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleBack})
			return "t"
		},
		"parked": func(b *bench, job protocol.TakenJob) string {
			b.Settle("s", protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettlePark, Name: "j"})
			return "t"
		},
		"reaped": func(b *bench, job protocol.TakenJob) string {
			for _, lapsed := range b.lapse("s") {
				b.Reap(lapsed, 1)
			}
			return "t"
		},
		"retried": func(b *bench, job protocol.TakenJob) string {
			b.Settle("s", protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleLater, Failed: true, Body: []byte("\x01body")})
			return "t"
		},
	}
	for what, end := range ends {
		t.Run(what, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				_, id := b.occurs("s", "skip", "g", time.Second)
				answer := b.Work("s", protocol.WorkCall{Take: 1})
				if len(answer.Taken) != 1 || !answer.Taken[0].New || len(answer.Owed) != 1 {
					b.Fatalf("taken %+v, owed %+v; want a new one, and the next owed", answer.Taken, answer.Owed)
				}
				b.Want("flights", string(rune('0'+b.flightsOf("g"))), "1")
				session := end(b, answer.Taken[0])
				b.wantSoundLine(what)
				b.client.ZAdd(b.Context(), b.keys().owed, redisZ(1, "s")) // as if a ticker had placed nothing yet
				var again protocol.WorkAnswer
				for range 50 {
					if again = b.Work(session, protocol.WorkCall{Take: 1, Serve: []string{"j"}}); len(again.Taken) > 0 {
						break
					}
				}
				if len(again.Taken) != 1 || again.Taken[0].ID != id || again.Taken[0].New {
					b.Fatalf("taken again %+v, want %s, not new", again.Taken, id)
				}
				b.ends(session, again.Taken...)
				b.wantSoundLine("done")
				b.Verified()
			})
		})
	}
}

// In an ordered group the retry of an occurrence runs before the next one of its schedule, for which the schedule is held meanwhile: else each would wait
// for the other.
func TestABackfillInAnOrderedGroupWaitsForRetries(t *testing.T) {
	for _, overlap := range []string{"skip", "wait", "cancel"} {
		t.Run(overlap, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.setGroup("g", protocol.GroupRule{Ordered: protocol.OrderOn})
				first, second := storesuite.Ago(3*time.Hour), storesuite.Ago(2*time.Hour)
				declared := b.longKnown("s", overlap, storesuite.Ago(time.Hour))
				b.ends("s", b.Take("s", 1)...)
				answer, err := b.store.Backfill(b.Context(), protocol.Backfilling{Name: "s", Revision: declared.Revision, Group: "g", Jobs: []protocol.BackfilledJob{
					{ID: storesuite.OccurrenceID("s", first), Body: []byte("\x01one")}, {ID: storesuite.OccurrenceID("s", second), Body: []byte("\x01two")},
				}})
				if err != nil || answer.Placed != 2 {
					b.Fatalf("backfilled %+v, %v", answer, err)
				}
				b.wantSoundLine("backfilled")
				b.Verified()
				one := b.Take("s", 5)
				b.Want("first", storesuite.IDs(one), storesuite.OccurrenceID("s", first))
				b.wantSoundLine("first")
				b.Settle("s", protocol.Settlement{ID: one[0].ID, Fence: one[0].Fence, Kind: protocol.SettleLater, Failed: true, Body: []byte("\x01again")})
				b.wantSoundLine("failed")
				var again []protocol.TakenJob
				for range 50 {
					if again = b.Take("s", 5); len(again) > 0 {
						break
					}
				}
				b.Want("its retry", storesuite.IDs(again), one[0].ID)
				b.wantSoundLine("its retry")
				b.Verified()
				b.ends("s", again...)
				next := b.Take("s", 5)
				b.Want("the next one", storesuite.IDs(next), storesuite.OccurrenceID("s", second))
				b.wantSoundLine("the next one")
				b.ends("s", next...)
				b.wantSoundLine("done")
				b.Verified()
			})
		})
	}
}

// The occurrences of several schedules in one group share its limit, and take turns with its ordinary jobs in the order of places.
func TestOccurrencesShareTheLimitOfTheirGroup(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.setGroup("g", protocol.GroupRule{Running: 1})
		_, one := b.occurs("a", "allow", "g", 3*time.Second)
		_, two := b.occurs("b", "allow", "g", 2*time.Second)
		first := b.Take("s", 5)
		b.Want("first", storesuite.IDs(first), one)
		b.Enqueue(inGroup("g", "job"))
		b.wantSoundLine("first")
		b.ends("s", first...)
		second := b.Take("s", 5)
		b.Want("second", storesuite.IDs(second), two)
		b.ends("s", second...)
		b.Want("third", storesuite.IDs(b.Take("s", 5)), "job")
		b.wantSoundLine("third")
	})
}

// A schedule with a group is refused for a queue with several partitions, before anything is sent, also if it would move there.
func TestAScheduleWithAGroupNeedsOnePartition(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.use(newStore(b.client, Options{Namespace: string(b.store.keys), Partitions: map[string]int{"wide": 2}}))
		declared := protocol.Declaration{Name: "s", Queue: "wide", Overlap: "skip", Body: []byte(`{"version":3,"job":"j","group":"g"}`), Group: "g"}
		plain := protocol.Declaration{Name: "p", Queue: "wide", Overlap: "skip", Body: []byte(`{"version":1,"job":"j"}`)}
		answers := b.store.Declare(b.Context(), []protocol.Declaration{declared, plain})
		var invalid *protocol.InvalidError
		if !errors.As(answers[0].Err, &invalid) || invalid.Field != "group" || invalid.Value != "g" {
			b.Errorf("declared: %v, want the group refused", answers[0].Err)
		}
		if answers[1].Err != nil || !answers[1].New {
			b.Errorf("the other one: %+v, want it declared", answers[1])
		}
		b.Want("registered", strings.Join(b.client.ZRange(b.Context(), b.store.keys.registry(), 0, -1).Val(), " ")[:2], "p\t")
	})
}

// An occurrence that its overlap policy drops, or puts behind another one, counts no flight and no start of its group.
func TestAnOccurrenceThatIsSkippedHasNoTurn(t *testing.T) {
	for _, overlap := range []string{"skip", "wait"} {
		t.Run(overlap, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.setGroup("g", protocol.GroupRule{Running: 3, Starts: 3, Per: time.Hour})
				declared, id := b.occurs("s", overlap, "g", 3*time.Second)
				first := b.Take("s", 1)
				b.Want("first", storesuite.IDs(first), id)
				second := b.occursNext(declared, "g", b.cursorOf("s"), 2*time.Second)
				b.Enqueue(inGroup("g", "job"))
				answer := b.Work("t", protocol.WorkCall{Take: 5})
				b.Want("taken beside it", storesuite.IDs(answer.Taken), "job")
				if len(answer.Owed) != 1 || (len(answer.Skipped) == 1) != (overlap == "skip") {
					b.Errorf("owed %+v, skipped %v; want the next one owed", answer.Owed, answer.Skipped)
				}
				b.wantSoundLine("taken")
				if n := b.flightsOf("g"); n != 2 {
					b.Errorf("%d flights are counted, want 2", n)
				}
				b.Verified()
				b.ends("s", first...)
				b.wantSoundLine("ended")
				want := map[string]string{"skip": "", "wait": second}[overlap]
				b.Want("taken then", storesuite.IDs(b.Take("s", 5)), want)
				b.Enqueue(inGroup("g", "last"))
				want = map[string]string{"skip": "last", "wait": ""}[overlap]
				b.Want("the last start", storesuite.IDs(b.Take("t", 5)), want)
				b.wantSoundLine("the last start")
				b.Verified()
			})
		})
	}
}
