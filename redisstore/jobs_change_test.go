package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// body returns the body of a definition with a recurrence of a number of hours.
func body(hours int, more string) string {
	return fmt.Sprintf(`{"version":1,"job":"j","recurrence":{"frequency":"hour","interval":%d},"misfire":"catch_up"%s}`, hours, more)
}

// scheduledBody declares a schedule with a body, as if it had been created long ago, and places an occurrence.
func (b *bench) scheduledBody(text string, at time.Time) protocol.DeclareAnswer {
	b.Helper()
	declared := b.Declare("s", "skip", text)
	h, _ := parseHead(string(declared.Stored))
	h.created = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	b.client.HSet(b.Context(), b.keys().schedules, "s", h.withState("live"))
	if placed := b.Place(*declared.Owed, declared.Revision, 0, at); placed.Placed != 1 {
		b.Fatalf("placed %+v", placed)
	}
	return declared
}

func (b *bench) cursorOf(name string) protocol.Cursor {
	b.Helper()
	return parseCursor(b.client.HGet(b.Context(), b.keys().cursors, name).Val())
}

// A change of anything but the recurrence, and a pause, lose nothing: if nothing is placed in the future the cursor does not move.
func TestAChangeKeepsWhatWasMissed(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		at := storesuite.Ago(10 * time.Hour)
		b.scheduledBody(body(1, ""), at)
		waiting := b.Declare("s", "skip", body(1, `,"args":1`)) // its occurrence is due and was not taken yet
		if !waiting.Changed || waiting.Owed != nil || b.cursorOf("s") != (protocol.Cursor{At: at.UTC(), Used: 1, Placed: true}) {
			b.Fatalf("changed %+v, cursor %+v; want the cursor at %v and nothing owed: its take will owe the next", waiting, b.cursorOf("s"), at)
		}
		b.Want("owed", b.owedNames(), "[]")
		answer := b.Work("w", protocol.WorkCall{Take: 1})
		b.Want("taken", storesuite.IDs(answer.Taken), storesuite.OccurrenceID("s", at))
		since := b.client.ZScore(b.Context(), b.keys().owed, "s").Val()
		taken := b.Declare("s", "skip", body(1, `,"args":2`))
		if taken.Owed == nil || !taken.Owed.Cursor.At.Equal(at) || !taken.Owed.Cursor.Placed || taken.Owed.Since.UnixMilli() != int64(since) {
			b.Errorf("changed %+v, want the next owed after %v, since its taking", taken.Owed, at)
		}
	})
}

func TestAPauseKeepsWhatWasMissed(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		at := storesuite.Ago(10 * time.Hour)
		b.scheduledBody(body(1, ""), at)
		pause := func(paused bool) protocol.Owed {
			b.Helper()
			owed, err := storesuite.PauseSchedule(b.Context(), b.store, "s", paused)
			if err != nil {
				b.Fatal(err)
			}
			return owed
		}
		pause(true)
		if owed := pause(false); owed.Name != "" || !b.cursorOf("s").Placed {
			b.Errorf("resumed %+v, want nothing owed: its occurrence is due and was not taken yet", owed)
		}
		b.Take("w", 1)
		pause(true)
		b.Want("owed while paused", b.owedNames(), "[]")
		if owed := pause(false); owed.Name != "s" || owed.Cursor.Placed || !owed.Cursor.At.Equal(at) {
			b.Errorf("resumed %+v, want owed the occurrence after %v", owed, at)
		}
	})
}

// After a change of the recurrence the schedule continues from now. The caller counts the missed instants of the old one, and they must still be valid.
func TestAChangeOfTheRecurrenceCountsWhatTheOldOneMissed(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		at := storesuite.Ago(10 * time.Hour)
		b.scheduledBody(body(1, ""), at)
		first := b.Declare("s", "skip", body(2, ""))
		if !first.Recount || first.Changed || first.Owed != nil || string(first.Old) == "" {
			b.Fatalf("answer %+v, want to count first", first)
		}
		change := protocol.Change{Revision: first.Revision, Cursor: first.Cursor, Until: first.Now.Truncate(time.Second), Missed: 10}
		declare := func(change protocol.Change) protocol.DeclareAnswer {
			b.Helper()
			answer := b.store.Declare(b.Context(), []protocol.Declaration{{Name: "s", Queue: "default", Overlap: "skip", Body: []byte(body(2, "")), Change: &change}})[0]
			if answer.Err != nil {
				b.Fatal(answer.Err)
			}
			return answer
		}
		stale := change
		stale.Cursor.Used++
		if answer := declare(stale); !answer.Recount {
			b.Errorf("with another cursor: %+v, want to count again", answer)
		}
		answer := declare(change)
		if !answer.Changed || answer.Owed == nil || answer.Owed.Cursor != (protocol.Cursor{At: change.Until.UTC(), Used: 1}) {
			b.Fatalf("changed %+v, want it to continue from %v", answer, change.Until)
		}
		if again := declare(change); again.Changed {
			b.Errorf("repeated: %+v, want no change", again)
		}
		found, err := b.store.Find(b.Context(), []string{"s"})
		if err != nil || found[0].Missed != 10 {
			b.Errorf("found %+v, %v; want 10 missed", found, err)
		}
		b.Want("the due occurrence still runs", storesuite.IDs(b.Take("w", 5)), storesuite.OccurrenceID("s", at))
	})
}

// A schedule that is created in the second in which one of its name was deleted begins in the next second, in any queue.
func TestDeletingAndCreatingWithinASecondRepeatsNoID(t *testing.T) {
	for _, queue := range []string{"default", "mail"} {
		t.Run(queue, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				for range 3 {
					b.Declare("s", "skip", `{"job":"j"}`)
					if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); err != nil {
						b.Fatal(err)
					}
					deleted := time.UnixMilli(int64(b.client.ZScore(b.Context(), b.store.keys.deleted(), "s").Val()))
					again := b.DeclareOn(queue, "s", "skip", `{"job":"j"}`)
					if !again.New || again.Created.Truncate(time.Second).Before(deleted.Truncate(time.Second).Add(time.Second)) {
						b.Errorf("deleted at %v and created again at %v, want a later second", deleted, again.Created)
					}
					if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

func TestStandingsSayWhatTheServerLost(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		var asked []protocol.Address
		revisions := map[string]int64{}
		for _, name := range []string{"exists", "lost", "deleted", "moved"} {
			answer := b.Declare(name, "skip", `{"job":"j"}`)
			revisions[name] = answer.Revision
			asked = append(asked, protocol.Address{Partition: answer.Partition, Name: name})
		}
		b.client.HDel(b.Context(), b.keys().schedules, "lost")
		before := b.serverTime().Truncate(time.Millisecond)
		if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "deleted"}); err != nil {
			b.Fatal(err)
		}
		b.DeclareOn("mail", "moved", "skip", `{"job":"j"}`)
		got, err := b.store.Standings(b.Context(), asked)
		if err != nil {
			b.Fatal(err)
		}
		if got[0] != (protocol.Standing{Revision: revisions["exists"]}) {
			b.Errorf("exists: %+v", got[0])
		}
		if got[1] != (protocol.Standing{}) {
			b.Errorf("lost: %+v", got[1])
		}
		if got[2].Revision != 0 || got[2].Moved || got[2].Deleted.Before(before) {
			b.Errorf("deleted: %+v, want when", got[2])
		}
		if !got[3].Moved || got[3].Revision != 0 {
			b.Errorf("moved: %+v", got[3])
		}
	})
}

// A caller that reads during a deletion, after any of its commands, sees it only after the schedule is gone, and then at once. So
// a deletion is never mistaken for an earlier one, after which the schedule was created again.
func TestStandingsDistinguishADeletionFromAnEarlierOne(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		var earlier time.Time
		for range 3 { // deleted and created again each time
			answer := b.Declare("s", "skip", `{"job":"j"}`)
			stand := func() protocol.Standing {
				b.Helper()
				got, err := b.store.Standings(b.Context(), []protocol.Address{{Partition: answer.Partition, Name: "s"}})
				if err != nil {
					b.Fatal(err)
				}
				return got[0]
			}
			if now := stand(); now.Revision != answer.Revision || !now.Deleted.Equal(earlier) {
				b.Errorf("created again: %+v; want revision %d, and that an earlier one was deleted at %v", now, answer.Revision, earlier)
			}
			for made := b.serverTime(); b.serverTime().Sub(made) < time.Millisecond; { // a deletion is recorded to the millisecond
				continue
			}
			deleting := b.hooked(func(redis.Cmder) error {
				now := stand()
				if now.Revision == 0 && !now.Deleted.After(earlier) || now.Revision > 0 && now.Deleted.After(earlier) {
					b.Errorf("in a deletion: %+v; an earlier one was deleted at %v", now, earlier)
				}
				return nil
			})
			if _, err := deleting.Remove(b.Context(), protocol.Removal{Name: "s"}); err != nil {
				b.Fatal(err)
			}
			now := stand()
			if now.Revision != 0 || !now.Deleted.After(earlier) {
				b.Errorf("deleted: %+v; an earlier one was deleted at %v", now, earlier)
			}
			earlier = now.Deleted
		}
	})
}
