package redisstore

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// declare declares one schedule and returns the answer.
func (b *bench) declare(name string, overlap string, body string) protocol.DeclareAnswer {
	b.Helper()
	return b.declareOn("default", name, overlap, body)
}

func (b *bench) declareOn(queue, name string, overlap string, body string) protocol.DeclareAnswer {
	b.Helper()
	answer := b.store.Declare(b.Context(), []protocol.Declaration{{Name: name, Queue: queue, Overlap: overlap, Body: []byte(body)}})[0]
	if answer.Err != nil {
		b.Fatal(answer.Err)
	}
	return answer
}

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

// scheduled declares a schedule and places an occurrence a while ago for each offset, the last one at the cursor.
func (b *bench) scheduled(name string, overlap string, at ...time.Time) protocol.DeclareAnswer {
	b.Helper()
	answer := b.declare(name, overlap, `{"job":"j"}`)
	// as if it had been created long ago
	h, _ := parseHead(string(answer.Stored))
	h.created = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	b.client.HSet(b.Context(), b.keys().schedules, name, h.withState("live"))
	if placed := b.place(*answer.Owed, answer.Revision, 0, at...); placed.Placed != len(at) {
		b.Fatalf("placed %+v, want %d", placed, len(at))
	}
	return answer
}

func occurrenceID(name string, at time.Time) string {
	return name + "@" + at.UTC().Format(time.RFC3339)
}

func ago(d time.Duration) time.Time { return time.Now().Add(-d).Truncate(time.Second) }

func (b *bench) owedNames() string {
	return fmt.Sprint(b.client.ZRange(b.Context(), b.keys().owed, 0, -1).Val())
}

func TestTheSameDeclarationByFiftyAtOnceIsOneCreation(t *testing.T) {
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
		b.want("owed", b.owedNames(), "[report]")
	})
}

func TestAChangeGetsANewRevisionAndWithdrawsTheFuture(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		first := b.declare("report", "skip", `{"job":"report","n":1}`)
		tomorrow := time.Now().Add(24 * time.Hour).Truncate(time.Second)
		b.place(*first.Owed, first.Revision, 0, tomorrow)
		second := b.declare("report", "skip", `{"job":"report","n":2}`)
		if !second.Changed || second.Revision <= first.Revision || !second.Created.Equal(first.Created) || second.Owed == nil {
			b.Fatalf("changed: %+v, want a later revision, the same creation %v, owed", second, first.Created)
		}
		if string(second.Old) != string(first.Stored) {
			b.Errorf("old %s, want %s", second.Old, first.Stored)
		}
		if n := b.client.ZCard(b.Context(), b.keys().due).Val(); n != 0 {
			b.Errorf("%d placed after the change, want none", n)
		}
		if c := second.Owed.Cursor; c.Placed || c.Used != 0 || time.Since(c.At) > 5*time.Second {
			b.Errorf("cursor %+v, want the instant of the change, the run given back", c)
		}
		if lost := b.place(*first.Owed, first.Revision, 0, tomorrow); !lost.Lost {
			b.Errorf("placing with the old revision: %+v, want lost", lost)
		}
		same := b.declare("report", "skip", `{"job":"report","n":2}`)
		if same.Changed || same.New || same.Owed != nil || same.Revision != second.Revision {
			b.Errorf("the same again: %+v, want nothing", same)
		}
	})
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
		owed := protocol.Owed{Partition: line0, Name: "trial", Cursor: found[0].Cursor}
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

func TestTakingAnOccurrenceOwesTheNext(t *testing.T) {
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
			b.Errorf("the same call again: owed %+v, taken %+v; want what the first one said", again.Owed, again.Taken)
		}
		next := b.work("s", protocol.WorkCall{Place: []protocol.Placement{{
			Partition: line0, Name: "report", Revision: declared.Revision, Cursor: answer.Owed[0].Cursor, Instants: []time.Time{at.Add(time.Hour)},
		}}})
		if next.Placed[0].Placed != 1 {
			b.Errorf("placed %+v, want 1", next.Placed)
		}
		b.want("owed then", b.owedNames(), "[]")
		// its retry adds nothing
		b.settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleLater, Body: []byte("\x01b")})
		var retry protocol.WorkAnswer
		for started := time.Now(); len(retry.Taken) == 0 && time.Since(started) < 10*time.Second; {
			retry = b.work("s", protocol.WorkCall{Take: 1}) // due at the next millisecond
		}
		if len(retry.Taken) != 1 || retry.Taken[0].New || len(retry.Owed) != 0 {
			b.Errorf("retry %+v owed %+v, want an old occurrence that owes nothing", retry.Taken, retry.Owed)
		}
	})
}

func TestOverlap(t *testing.T) {
	type step struct {
		overlap                        string
		taken, skipped, afterFirstDone string
	}
	first, second, third := ago(30*time.Second), ago(20*time.Second), ago(10*time.Second)
	a, b2, c := occurrenceID("s", first), occurrenceID("s", second), occurrenceID("s", third)
	for _, want := range []step{
		{overlap: "allow", taken: a + " " + b2 + " " + c},
		{overlap: "skip", taken: a, skipped: "2"},
		{overlap: "wait", taken: a, skipped: "1", afterFirstDone: b2},
		{overlap: "cancel", taken: a, skipped: "1", afterFirstDone: b2},
	} {
		t.Run(string(want.overlap), func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.scheduled("s", want.overlap, first, second, third)
				answer := b.work("w", protocol.WorkCall{Take: 10})
				b.want("taken", ids(answer.Taken), want.taken)
				if len(answer.Owed) != 1 {
					b.Errorf("owed %+v, want the schedule, whatever became of the occurrence at the cursor", answer.Owed)
				}
				found, err := b.store.Find(b.Context(), []string{"s"})
				if err != nil {
					b.Fatal(err)
				}
				skipped := fmt.Sprint(found[0].Skipped)
				if want.skipped == "" {
					want.skipped = "0"
				}
				b.want("skipped", skipped, want.skipped)
				b.want("runs used", fmt.Sprint(found[0].Cursor.Used), fmt.Sprint(3-found[0].Skipped))
				if want.overlap == "cancel" {
					told := b.store.Listen("x")
					defer told.Close()
					beat := told.Extend(b.Context(), []protocol.ExtendCall{{Partition: line0, Session: "w", TTL: time.Second, Schedules: []string{"s"}}})[0]
					b.want("replaced", fmt.Sprint(beat.Replaced), "["+a+"]")
				}
				b.settle("w", protocol.Settlement{ID: a, Fence: answer.Taken[0].Fence, Kind: protocol.SettleDone, Run: &protocol.RunRecord{Outcome: "done"}})
				b.want("after the first is done", ids(b.take("w", 10)), want.afterFirstDone)
			})
		})
	}
}

func TestARetryEndsWhenTheNextRuns(t *testing.T) {
	first, second := ago(30*time.Second), ago(20*time.Second)
	for overlap, kept := range map[string]bool{"skip": false, "cancel": false, "wait": true, "allow": true} {
		t.Run(string(overlap), func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.scheduled("s", overlap, first, second)
				b.client.ZRem(b.Context(), b.keys().due, occurrenceID("s", second))
				taken := b.take("w", 1)
				b.settle("w", protocol.Settlement{ID: taken[0].ID, Fence: taken[0].Fence, Kind: protocol.SettleLater, Delay: time.Hour, Body: []byte("\x01b")})
				b.client.ZAdd(b.Context(), b.keys().due, redisZ(float64(second.UnixMilli()), occurrenceID("s", second)))
				b.want("taken", ids(b.take("w", 5)), occurrenceID("s", second))
				waits := b.client.ZScore(b.Context(), b.keys().due, taken[0].ID).Err() == nil
				body := b.client.HExists(b.Context(), b.keys().jobs, taken[0].ID).Val()
				if waits != kept || body != kept {
					b.Errorf("the retry waits %v, body %v; want %v", waits, body, kept)
				}
			})
		})
	}
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

func TestRemoveDropsWhatIsPlaced(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.scheduled("s", "skip", ago(time.Minute), ago(-time.Hour))
		found, err := b.store.Remove(b.Context(), "s")
		if err != nil || !found {
			b.Fatalf("removed %v, %v", found, err)
		}
		b.want("taken", ids(b.take("w", 5)), "")
		for _, key := range []string{b.keys().due, b.keys().schedules, b.keys().cursors, b.keys().owed, b.store.keys.registry()} {
			if b.client.Exists(b.Context(), key).Val() != 0 {
				b.Errorf("%s is left", key)
			}
		}
		if found, err := b.store.Remove(b.Context(), "s"); found || err != nil {
			b.Errorf("removed again: %v, %v; want false", found, err)
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

func TestPauseWithdrawsAndResumeOwes(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		declared := b.declare("s", "skip", `{"job":"j"}`)
		b.place(*declared.Owed, declared.Revision, 0, ago(-time.Hour))
		if _, err := b.store.PauseSchedule(b.Context(), "s", true); err != nil {
			b.Fatal(err)
		}
		b.want("owed", b.owedNames(), "[]")
		if n := b.client.ZCard(b.Context(), b.keys().due).Val(); n != 0 {
			b.Errorf("%d placed while paused", n)
		}
		owed, err := b.store.PauseSchedule(b.Context(), "s", false)
		if err != nil || owed.Name != "s" || owed.Cursor.Placed || owed.Cursor.Used != 0 {
			b.Fatalf("resumed %+v, %v; want it owed since the pause", owed, err)
		}
		if placed := b.place(owed, declared.Revision, 0, ago(-time.Hour)); placed.Placed != 1 {
			b.Errorf("placed %+v, want 1", placed)
		}
	})
}

// A move cut short after any step is completed by the next declaration, and the schedule lives in exactly one place.
func TestAMoveCutShortAnywhereIsCompleted(t *testing.T) {
	for steps := range 5 {
		t.Run(fmt.Sprintf("after %d steps", steps), func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				declared := b.declare("s", "skip", `{"job":"j"}`)
				at := ago(-time.Hour)
				b.place(*declared.Owed, declared.Revision, 0, at)
				b.cutMove("s", "default", "mail", steps)
				moved := b.declareOn("mail", "s", "skip", `{"job":"j"}`)
				mail := b.store.keys.partition(protocol.Partition{Queue: "mail"})
				if n := b.client.ZCard(b.Context(), b.keys().due).Val(); n != 0 {
					b.Errorf("%d placed in the old queue, want none", n)
				}
				if steps == 3 {
					// the new place has all it needs: a ticker meets the mark
					b.client.ZAdd(b.Context(), b.keys().owed, redisZ(1000, "s"))
					if _, err := b.store.Owed(b.Context(), []protocol.Partition{line0}); err != nil {
						b.Fatal(err)
					}
				}
				b.want("owed in the old queue", b.owedNames(), "[]")
				b.want("registry", b.client.HGet(b.Context(), b.store.keys.registry(), "s").Val(), "mail")
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

// cutMove does the first steps of a move only.
func (b *bench) cutMove(name, from, to string, steps int) {
	b.Helper()
	if steps == 0 {
		return
	}
	k := b.store.keys.partition(protocol.Partition{Queue: from})
	values, err := b.store.runOne(b.Context(), "depart", name, newCall(&departScript,
		[]string{k.schedules, k.cursors, k.owed, k.due, k.jobs, k.crashes, k.state, k.moved}, []any{name, to}))
	if err != nil {
		b.Fatal(err)
	}
	h, ok := parseHead(values.text(0))
	if !ok || h.movedTo != to || h.before != "live" {
		b.Fatalf("mark %q", values.text(0))
	}
	if steps > 1 {
		n := b.store.keys.partition(protocol.Partition{Queue: to})
		b.store.run(b.Context(), b.client, newCall(&arriveScript, []string{n.schedules, n.cursors, n.owed}, []any{name, h.withState("live"), values.text(1), values.number(2)}))
	}
	if steps > 2 {
		b.store.run(b.Context(), b.client, newCall(&registryScript, []string{b.store.keys.registry()}, []any{name, from, to}))
	}
	if steps > 3 {
		b.store.run(b.Context(), b.client, newCall(&departedScript, []string{k.schedules, k.owed}, []any{name, h.revision}))
	}
}

func TestATickerCompletesAMove(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.declare("s", "skip", `{"job":"j"}`)
		b.client.ZAdd(b.Context(), b.keys().owed, redisZ(1000, "s"))
		b.cutMove("s", "default", "mail", 1)
		owed, err := b.store.Owed(b.Context(), []protocol.Partition{line0})
		if err != nil || len(owed) != 1 || owed[0].Partition.Queue != "mail" {
			b.Fatalf("owed %+v, %v; want s in mail", owed, err)
		}
		b.want("owed in the old queue", b.owedNames(), "[]")
	})
}

func TestOwedIsListedAfterASecondAndCanBePostponed(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.declare("s", "skip", `{"job":"j"}`)
		if owed, err := b.store.Owed(b.Context(), []protocol.Partition{line0}); err != nil || len(owed) != 0 {
			b.Fatalf("owed at once: %+v, %v; want none", owed, err)
		}
		b.client.ZAdd(b.Context(), b.keys().owed, redisZ(1000, "s"), redisZ(1000, "gone"))
		owed, err := b.store.Owed(b.Context(), []protocol.Partition{line0})
		if err != nil || len(owed) != 1 || !owed[0].Since.Equal(time.UnixMilli(1000)) || owed[0].Cursor != (protocol.Cursor{}) {
			b.Fatalf("owed %+v, %v; want s since 1970", owed, err)
		}
		if err := b.store.Postpone(b.Context(), owed[0]); err != nil {
			b.Fatal(err)
		}
		if owed, _ := b.store.Owed(b.Context(), []protocol.Partition{line0}); len(owed) != 0 {
			b.Errorf("owed after it was postponed: %+v", owed)
		}
	})
}

func TestNamesGoThroughAllSchedulesThatStay(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		const stay = 1000 // more than a hash keeps in one piece
		var declarations []protocol.Declaration
		for i := range stay {
			declarations = append(declarations, protocol.Declaration{
				Name: fmt.Sprintf("stays%04d", i), Queue: []string{"default", "mail"}[i%2], Overlap: "skip", Body: []byte(`{"job":"j"}`)})
		}
		for some := range slices.Chunk(declarations, 100) {
			for _, answer := range b.store.Declare(b.Context(), some) {
				if answer.Err != nil {
					b.Fatal(answer.Err)
				}
			}
		}
		seen, pages := map[string]bool{}, 0
		for cursor, first := "", true; first || cursor != ""; first = false {
			names, next, err := b.store.Names(b.Context(), cursor)
			if err != nil {
				b.Fatal(err)
			}
			for _, name := range names {
				seen[name] = true
			}
			cursor = next
			pages++
			b.declare(fmt.Sprintf("new%d", pages), "skip", `{"job":"j"}`)
			if pages > stay {
				b.Fatal("the names never end")
			}
		}
		for i := range stay {
			if name := declarations[i].Name; !seen[name] {
				b.Errorf("%s is not among the names", name)
			}
		}
		if _, _, err := b.store.Names(b.Context(), "somebody else's"); err == nil {
			b.Error("a cursor that is no number: no error")
		}
	})
}

func TestFindReadsAcrossQueuesAndCountsWhatRan(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		at := ago(30 * time.Second)
		b.scheduled("ran", "skip", at)
		b.work("s", protocol.WorkCall{Take: 1})
		mail := b.declareOn("mail", "waits", "skip", `{"job":"j"}`)
		tomorrow := time.Now().Add(24 * time.Hour).Truncate(time.Second)
		b.place(*mail.Owed, mail.Revision, 0, tomorrow)
		b.declareOn("mail", "new", "skip", `{"job":"j"}`)
		found, err := b.store.Find(b.Context(), []string{"waits", "nobody", "ran", "new"})
		if err != nil || len(found) != 4 {
			b.Fatalf("found %+v, %v", found, err)
		}
		if f := found[0]; f.Partition.Queue != "mail" || !f.Waiting || !f.Cursor.At.Equal(tomorrow) || string(f.Definition) != string(mail.Stored) {
			b.Errorf("waits: %+v", f)
		}
		if found[1].Name != "" {
			b.Errorf("nobody: %+v, want nothing", found[1])
		}
		if f := found[2]; f.Waiting || f.Started != 1 || f.Placed != 1 || !f.Cursor.At.Equal(at) {
			b.Errorf("ran: %+v, want one placed and started, none waiting", f)
		}
		if f := found[3]; f.Name != "new" || f.Waiting || f.Cursor != (protocol.Cursor{}) {
			b.Errorf("new: %+v, want nothing placed", f)
		}
	})
}

func TestOneLeaderAtATime(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		first, err := b.store.Lead(b.Context(), "one", time.Minute)
		if err != nil || !first.Leading || first.Term != 1 {
			b.Fatalf("first %+v, %v", first, err)
		}
		if again, _ := b.store.Lead(b.Context(), "one", time.Minute); !again.Leading || again.Term != 1 {
			b.Errorf("again %+v, want the same term", again)
		}
		if other, _ := b.store.Lead(b.Context(), "two", time.Minute); other.Leading || other.Leader != "one" || other.Left <= 0 {
			b.Errorf("another %+v, want one leading", other)
		}
		line := b.store.Listen("two")
		defer line.Close()
		if s := <-line.Signals(); !s.Connected {
			b.Fatalf("signal %+v, want connected", s)
		}
		if err := b.store.Resign(b.Context(), "one"); err != nil {
			b.Fatal(err)
		}
		if s := <-line.Signals(); !s.Elect {
			b.Errorf("signal %+v, want an election", s)
		}
		if other, _ := b.store.Lead(b.Context(), "two", time.Minute); !other.Leading || other.Term != 2 {
			b.Errorf("another %+v, want it leading in term 2", other)
		}
	})
}

func TestWakeUps(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		line := b.store.Listen("w-s")
		defer line.Close()
		if s := <-line.Signals(); !s.Connected {
			b.Fatalf("signal %+v, want connected", s)
		}
		b.work("s", protocol.WorkCall{Take: 1, Sleep: true, Lapses: true})
		b.enqueue(job("a"))
		if s := <-line.Signals(); !s.Wake {
			b.Fatalf("signal %+v, want a wake-up", s)
		}
		taken := b.work("s", protocol.WorkCall{Take: 2, Sleep: true, Lapses: true}).Taken
		b.want("taken", ids(taken), "a")
		later := job("b")
		later.At = time.Now().Add(10 * time.Second).Truncate(time.Millisecond)
		b.enqueue(later)
		if s := <-line.Signals(); !s.Alarm.Equal(later.At) {
			b.Fatalf("signal %+v, want an alarm at %v", s, later.At)
		}
		look := b.store.Poll(b.Context(), []protocol.PollCall{{Partition: line0, Worker: "w-s", Sleep: true}})[0]
		if look.Next <= 0 || look.Second || look.More {
			b.Errorf("look %+v, want the first keeper of the alarm", look)
		}
		if err := b.store.Leave(b.Context(), []protocol.LeaveCall{{Partition: line0, Worker: "w-s"}}); err != nil {
			b.Fatal(err)
		}
		if n := b.client.ZCard(b.Context(), b.keys().idle).Val(); n != 0 {
			b.Errorf("%d asleep, want none", n)
		}
	})
}

func TestSweep(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.store.options.MaxDead = 2
		b.enqueue(job("a"), job("b"), job("c"), job("d"))
		taken := b.take("s", 4)
		var settled []protocol.Settlement
		for _, j := range taken {
			settled = append(settled, protocol.Settlement{ID: j.ID, Fence: j.Fence, Kind: protocol.SettleDead, Body: j.Body})
		}
		settled[3].Kind, settled[3].Name = protocol.SettlePark, "mail"
		b.work("s", protocol.WorkCall{Settle: settled})
		if _, err := b.store.Sweep(b.Context(), line0); err != nil {
			b.Fatal(err)
		}
		if s := b.stats(); s.Dead != 2 || s.Parked != 1 {
			b.Errorf("stats %+v, want the 2 newest dead and 1 parked", s)
		}
		b.client.ZAdd(b.Context(), b.keys().parked("mail"), redisZ(1000, "d"))
		if _, err := b.store.Sweep(b.Context(), line0); err != nil {
			b.Fatal(err)
		}
		if s := b.stats(); s.Dead != 3 || s.Parked != 0 {
			b.Errorf("stats %+v, want the parked one dead", s)
		}
	})
}

// A partition that cannot be read hides no other.
func TestOwedSchedulesOfOnePartitionAreListedThoughAnotherFails(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.declare("s", "skip", `{"job":"j"}`)
		b.client.ZAdd(b.Context(), b.keys().owed, redisZ(1000, "s"))
		bad := protocol.Partition{Queue: "bad"}
		b.client.Set(b.Context(), b.store.keys.partition(bad).owed, "somebody else's", 0)
		owed, err := b.store.Owed(b.Context(), []protocol.Partition{bad, line0})
		if len(owed) != 1 || !errors.Is(err, protocol.ErrUnfit) {
			b.Errorf("owed %+v, %v; want s, and an error about the other partition", owed, err)
		}
	})
}

// A declaration by a process that has known the queue for long writes it again where the registry was lost.
func TestADeclarationWritesALostRegistryAgain(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for _, few := range []int{1, maxRegisterPlainly, maxRegisterPlainly + 1} {
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
			b.want("queue", b.client.HGet(b.Context(), b.store.keys.queues(), "default").Val(), "1")
			b.want("schedules", fmt.Sprint(b.client.HLen(b.Context(), b.store.keys.registry()).Val()), fmt.Sprint(few))
		}
	})
}
