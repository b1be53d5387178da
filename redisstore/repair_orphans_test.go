package redisstore

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// repairOrphans lets RepairOrphans check every schedule, and returns the repaired ones, in order: "<name>: <reason>".
func (b *bench) repairOrphans() []string {
	b.Helper()
	var went []string
	for next, begun := "", false; next != "" || !begun; begun = true {
		var repaired []protocol.Orphan
		var err error
		if next, repaired, err = b.store.RepairOrphans(b.Context(), next); err != nil || len(repaired) > maxOrphans {
			b.Fatalf("a call repaired %d, %v", len(repaired), err)
		}
		for _, m := range repaired {
			went = append(went, m.Name+": "+m.Reason)
		}
	}
	slices.Sort(went)
	return went
}

// A live schedule is in owed, or the occurrence at its cursor is in due. If a manual edit or an eviction has removed one or the other, or
// the cursor, it is repaired, and no occurrence is placed that may have been taken.
func TestAnOrphanedScheduleIsRepaired(t *testing.T) {
	past, future := storesuite.Ago(time.Minute), storesuite.Ago(-time.Hour)
	for _, c := range []struct {
		what   string
		at     time.Time // of its first occurrence, which is taken if it is due
		next   bool      // the one after it is placed, an hour ahead
		damage func(b *bench)
		reason string          // empty: it needs no repair
		want   protocol.Cursor // At zero: now
	}{
		{"in due", future, false, func(*bench) {}, "", protocol.Cursor{At: future, Used: 1, Placed: true}},
		{"in owed", past, false, func(*bench) {}, "", protocol.Cursor{At: past, Used: 1, Placed: true}},
		{"lost from due", future, false, func(b *bench) { b.client.ZRem(b.Context(), b.keys().due, storesuite.OccurrenceID("s", future)) }, "due", protocol.Cursor{}},
		{"due lost", past, true, func(b *bench) { b.client.Del(b.Context(), b.keys().due) }, "due", protocol.Cursor{Used: 1}},
		{"owed lost", past, false, func(b *bench) { b.client.Del(b.Context(), b.keys().owed) }, "owed", protocol.Cursor{At: past, Used: 1, Placed: true}},
		{"cursor lost", past, true, func(b *bench) { b.client.HDel(b.Context(), b.keys().cursors, "s") }, "cursor", protocol.Cursor{Used: 1}},
		{"cursors lost", past, true, func(b *bench) { b.client.Del(b.Context(), b.keys().cursors) }, "cursor", protocol.Cursor{Used: 1}},
		{"cursor no cursor", past, true, func(b *bench) { b.client.HSet(b.Context(), b.keys().cursors, "s", "tomorrow 3 p") }, "cursor", protocol.Cursor{Used: 1}},
		{"cursor with a space", past, true, func(b *bench) {
			b.client.HSet(b.Context(), b.keys().cursors, "s", future.UTC().Format(time.RFC3339)+" 2 p ")
		}, "cursor", protocol.Cursor{Used: 1}},
		{"cursor no cursor, in owed", past, false, func(b *bench) { b.client.HSet(b.Context(), b.keys().cursors, "s", "?") }, "cursor", protocol.Cursor{Used: 1}},
	} {
		t.Run(c.what, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				declared := b.Scheduled("s", "skip", c.at)
				if c.at.Before(time.Now()) {
					answer := b.Work("w", protocol.WorkCall{Take: 1})
					b.Want("taken", storesuite.IDs(answer.Taken), storesuite.OccurrenceID("s", c.at))
					if c.next {
						b.Place(answer.Owed[0], declared.Revision, 0, future)
					}
					b.Settle("w", storesuite.Done(answer.Taken[0]))
				}
				c.damage(b)
				owedBefore := b.client.ZRangeWithScores(b.Context(), b.keys().owed, 0, -1).Val()
				want := "[]"
				if c.reason != "" {
					want = "[s: " + reasons[c.reason] + "]"
				}
				before := b.serverSecond()
				b.Want("repaired", fmt.Sprint(b.repairOrphans()), want)
				if owed := b.client.ZRangeWithScores(b.Context(), b.keys().owed, 0, -1).Val(); c.reason == "" && !slices.Equal(owed, owedBefore) {
					b.Errorf("it needs no repair, and is owed as %v, before as %v", owed, owedBefore)
				}
				found, err := b.store.Find(b.Context(), []string{"s"})
				if err != nil {
					b.Fatal(err)
				}
				got := found[0].Cursor
				if c.want.At.IsZero() && !got.At.Before(before) && !got.At.After(b.serverTime()) { // now
					got.At = time.Time{}
				}
				if !got.At.Equal(c.want.At) || got.Used != c.want.Used || got.Placed != c.want.Placed {
					b.Errorf("the cursor is %+v, want %+v", found[0].Cursor, c.want)
				}
				if c.reason != "" {
					b.Want("owed", b.owedNames(), "[s]")
				}
				b.Want("repaired again", fmt.Sprint(b.repairOrphans()), "[]")
			})
		})
	}
}

// The cursor is lost while an occurrence is in due, and repaired. The occurrence is not placed again, whether it is taken before or after the
// next one is placed.
func TestADueOccurrenceRunsOnceAfterTheCursorIsRepaired(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		declared, at := b.Scheduled("s", "skip", storesuite.Ago(-time.Hour)), storesuite.Ago(-2*time.Second)
		b.client.Del(b.Context(), b.keys().due, b.keys().cursors)
		b.client.ZAdd(b.Context(), b.keys().due, redisZ(1000, storesuite.OccurrenceID("s", at))) // it is due now, so that the test need not wait
		b.Want("repaired", fmt.Sprint(b.repairOrphans()), "[s: "+reasons["cursor"]+"]")
		found, _ := b.store.Find(b.Context(), []string{"s"})
		owed := protocol.Owed{Partition: storesuite.DefaultPartition, Name: "s", Cursor: found[0].Cursor}
		b.Want("taken", storesuite.IDs(b.Take("w", 5)), storesuite.OccurrenceID("s", at))
		if placed := b.Place(owed, declared.Revision, 0, at); !placed.Lost {
			b.Errorf("placed %+v again, want lost", placed)
		}
		found, _ = b.store.Find(b.Context(), []string{"s"})
		if c := found[0].Cursor; !c.At.Equal(at) || c.Used != 1 || !c.Placed {
			b.Errorf("the cursor is %+v, want that of %v", c, at)
		}
		b.Want("owed", b.owedNames(), "[s]")
	})
}

// A schedule that must place nothing is not changed: paused, completed, moved, deleted, or unreadable.
func TestNothingIsOwedThatIsToPlaceNothing(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for _, name := range []string{"paused", "completed", "moved", "deleted", "unreadable"} {
			declared := b.Scheduled(name, "skip", storesuite.Ago(-time.Hour))
			h, _ := parseHead(string(declared.Stored))
			switch name {
			case "paused", "completed":
				b.client.HSet(b.Context(), b.keys().schedules, name, h.withState(name))
			case "moved":
				b.interruptMove(name, "default", "mail", 1)
			case "deleted":
				b.client.HDel(b.Context(), b.keys().schedules, name)
			case "unreadable":
				b.client.HSet(b.Context(), b.keys().schedules, name, "?"+string(declared.Stored))
			}
		}
		b.client.Del(b.Context(), b.keys().due, b.keys().owed)
		b.Want("repaired", fmt.Sprint(b.repairOrphans()), "[]")
		b.Want("owed", b.owedNames(), "[]")
	})
}

// Each call reads long definitions up to about a mebibyte, and each schedule has its turn.
func TestRepairOrphansReadsLongDefinitionsInSteps(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		const n, length = 15, 100 << 10
		for i := range n {
			b.Declare(fmt.Sprintf("s%02d", i), "skip", `{"job":"j","payload":"`+strings.Repeat("p", length)+`"}`)
		}
		b.client.Del(b.Context(), b.keys().owed)
		if went := b.repairOrphans(); len(went) != n {
			b.Errorf("%d repaired, want %d", len(went), n)
		}
	})
}

// Every schedule has its turn, with any number of schedules and any other entries in the registry.
func TestRepairOrphansChecksEverySchedule(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		const n = 2*maxOrphans + 7
		for i := range n {
			name := fmt.Sprintf("s%04d", i)
			b.client.ZAdd(b.Context(), b.store.keys.registry(), redisZ(0, home{"default", 1}.member(name)))
			b.client.ZAdd(b.Context(), b.keys().owed, redisZ(passedOver+1, name))
		}
		for i := range maxOrphans {
			b.client.ZAdd(b.Context(), b.store.keys.registry(), redisZ(0, fmt.Sprintf("garbage%03d", i)))
		}
		if went := b.repairOrphans(); len(went) != n {
			b.Errorf("%d repaired, want %d", len(went), n)
		}
	})
}
