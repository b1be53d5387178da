package redisstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A caught-up run is placed after the flight before it has ended, by the worker that ended that flight. Until then it is not listed.
func TestWhatIsCaughtUpWaitsForTheEndOfTheFlight(t *testing.T) {
	for _, overlap := range []string{"skip", "wait", "cancel"} {
		t.Run(overlap, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				first, second := storesuite.Ago(time.Hour), storesuite.Ago(30*time.Minute)
				declared := b.Scheduled("s", overlap, first)
				answer := b.Work("w", protocol.WorkCall{Take: 1})
				if placed := b.CatchUp(answer.Owed[0], declared.Revision, second); !placed.Held || placed.Placed != 0 {
					b.Fatalf("placed %+v while the first one is in flight, want held", placed)
				}
				b.client.ZAdd(b.Context(), b.keys().owed, redisZ(b.client.ZScore(b.Context(), b.keys().owed, "s").Val()-60_000, "s"))
				if owed, err := b.store.Owed(b.Context(), []protocol.Partition{storesuite.DefaultPartition}); err != nil || len(owed) != 0 {
					b.Errorf("a ticker finds %+v, %v; want nothing", owed, err)
				}
				ended := b.Work("w", protocol.WorkCall{Settle: []protocol.Settlement{storesuite.Done(answer.Taken[0])}})
				if len(ended.Owed) != 1 || ended.Owed[0].Name != "s" {
					b.Fatalf("the call that ended the flight answered %+v, want s owed", ended.Owed)
				}
				if owed, err := b.store.Owed(b.Context(), []protocol.Partition{storesuite.DefaultPartition}); err != nil || len(owed) != 1 {
					b.Errorf("then a ticker finds %+v, %v; want s, if the worker vanishes", owed, err)
				}
				if placed := b.CatchUp(ended.Owed[0], declared.Revision, second); placed.Placed != 1 {
					b.Errorf("placed %+v, want 1", placed)
				}
				b.Want("taken", storesuite.IDs(b.Take("w", 5)), storesuite.OccurrenceID("s", second))
			})
		})
	}
}

func TestACrashReleasesACaughtUpRun(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		declared := b.Scheduled("s", "wait", storesuite.Ago(time.Hour))
		answer := b.Work("w", protocol.WorkCall{Take: 1, TTL: time.Millisecond})
		if placed := b.CatchUp(answer.Owed[0], declared.Revision, storesuite.Ago(time.Minute)); !placed.Held {
			b.Fatalf("placed %+v, want held", placed)
		}
		b.client.HSet(b.Context(), b.keys().crashes, answer.Taken[0].ID, 1) // it waits for a while after its second crash
		b.Reap(b.UntilLapsed(), 1)
		if score := b.client.ZScore(b.Context(), b.keys().owed, "s").Val(); score > 1e15 {
			b.Errorf("s is held still, with the score %v", score)
		}
	})
}

// A schedule that waits for the end of a flight continues if there is no flight: the entry in open was removed manually, or edited so that it
// cannot be read. A schedule that waits for an existing flight continues to wait.
func TestNothingIsHeldForAFlightThatIsNone(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		since := map[string]float64{}
		for _, name := range []string{"flies", "garbage", "lost"} {
			declared := b.Scheduled(name, "skip", storesuite.Ago(time.Hour))
			answer := b.Work("w", protocol.WorkCall{Take: 1})
			if placed := b.CatchUp(answer.Owed[0], declared.Revision, storesuite.Ago(time.Minute)); !placed.Held {
				b.Fatalf("placed %+v, want held", placed)
			}
			since[name] = float64(answer.Owed[0].Since.UnixMilli())
		}
		b.client.HSet(b.Context(), b.keys().open, "garbage", "somebody")
		b.client.HDel(b.Context(), b.keys().open, "lost")
		for _, want := range []int{2, 0} {
			if _, repaired, err := b.store.RepairOrphans(b.Context(), ""); err != nil || len(repaired) != want {
				b.Fatalf("repaired %+v, %v; want %d", repaired, err, want)
			}
		}
		for name, want := range since {
			if name == "flies" {
				want += passedOver
			}
			if score := b.client.ZScore(b.Context(), b.keys().owed, name).Val(); score != want {
				b.Errorf("%s is owed with score %v, want %v", name, score, want)
			}
		}
	})
}

// No occurrence holds a schedule whose session is gone, with any outcome of its flight.
func TestAFlightOfAVanishedSessionHoldsNoSchedule(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		first, second := storesuite.Ago(2*time.Minute), storesuite.Ago(time.Minute)
		declared := b.Scheduled("s", "skip", first)
		answer := b.Work("w", protocol.WorkCall{Take: 1})
		b.client.Del(b.Context(), b.keys().inflight("w"), b.keys().sessions) // manually, or by an eviction
		b.Place(answer.Owed[0], declared.Revision, 0, second)
		b.Want("taken", storesuite.IDs(b.Take("other", 5)), storesuite.OccurrenceID("s", second))
	})
}

// The sweep releases a schedule whose occurrence is not in flight, or that is held for one that is not in ready. Other schedules remain held.
func TestTheSweepFreesSchedulesThatNothingHolds(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		at := storesuite.Ago(2 * time.Minute)
		for _, name := range []string{"flies", "lost", "held", "gone"} {
			b.Scheduled(name, "wait", at)
			b.Take("w", 1)
		}
		b.client.HDel(b.Context(), b.keys().inflight("w"), storesuite.OccurrenceID("lost", at))
		for _, name := range []string{"held", "gone"} {
			id := storesuite.OccurrenceID(name, at)
			b.client.HDel(b.Context(), b.keys().inflight("w"), id)
			b.client.HSet(b.Context(), b.keys().open, name, id+"\t0\t\t\tw\t")
			if name == "held" {
				b.client.RPush(b.Context(), b.keys().ready, id)
			}
		}
		if _, err := b.sweep(); err != nil {
			b.Fatal(err)
		}
		held := b.client.HKeys(b.Context(), b.keys().open).Val()
		slices.Sort(held)
		b.Want("held", fmt.Sprint(held), "[flies held]")
	})
}

// A sweep does not release a schedule that is held for an occurrence which is about to be purged, or is too deep in ready to be found.
func TestTheSweepFreesNoScheduleWhoseOccurrenceItCannotFind(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		at := storesuite.Ago(2 * time.Minute)
		id := storesuite.OccurrenceID("s", at)
		b.Scheduled("s", "wait", at)
		b.Take("w", 1)
		b.client.HDel(b.Context(), b.keys().inflight("w"), id)
		held := func() bool {
			b.client.HSet(b.Context(), b.keys().open, "s", id+"\t0\t\t\tw\t")
			if err := b.store.freeOpens(b.Context(), storesuite.DefaultPartition); err != nil {
				b.Fatal(err)
			}
			return b.client.HExists(b.Context(), b.keys().open, "s").Val()
		}
		b.client.HSet(b.Context(), b.keys().state, "purge", 1)
		b.client.RPush(b.Context(), b.keys().purged, id)
		if !held() {
			b.Error("it was released while a purge had not ended its occurrence")
		}
		b.client.HDel(b.Context(), b.keys().state, "purge")
		b.client.Del(b.Context(), b.keys().purged)
		others := make([]any, 10_001)
		for i := range others {
			others[i] = fmt.Sprint("other", i)
		}
		b.client.RPush(b.Context(), b.keys().ready, others...)
		b.client.RPush(b.Context(), b.keys().ready, id)
		if !held() {
			b.Error("it was released while its occurrence was deep in ready")
		}
		b.client.Del(b.Context(), b.keys().ready)
		if held() {
			b.Error("it remains held by nothing")
		}
	})
}

// A run that has begun and comes back while another one is in flight waits behind it, oldest first, and runs.
func TestWhatComesBackWaitsBehindTheOneInFlight(t *testing.T) {
	for _, overlap := range []string{"skip", "wait"} {
		t.Run(overlap, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				var at []time.Time
				for i := range 4 {
					at = append(at, storesuite.Ago(time.Duration(5-i)*time.Minute))
				}
				b.Scheduled("s", overlap, at[0])
				last := protocol.Owed{}
				for i := range 3 { // three runs fail, one after the other
					answer := b.Work("w", protocol.WorkCall{Take: 1})
					last = answer.Owed[0]
					job := answer.Taken[0]
					b.Want("taken", job.ID, storesuite.OccurrenceID("s", at[i]))
					b.Settle("w", protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleLater, Delay: time.Hour, Failed: true, Body: []byte("\x01b")})
					found, _ := b.store.Find(b.Context(), []string{"s"})
					h, _ := parseHead(string(found[0].Definition))
					b.Place(last, h.revision, 0, at[i+1])
				}
				fourth := b.Take("w", 1)
				b.Want("taken", storesuite.IDs(fourth), storesuite.OccurrenceID("s", at[3]))
				for i := range 3 {
					b.client.ZAdd(b.Context(), b.keys().due, redisZ(float64(storesuite.Ago(time.Duration(1+i)*time.Second).UnixMilli()), storesuite.OccurrenceID("s", at[i])))
				}
				b.Want("taken while the fourth is in flight", storesuite.IDs(b.Take("w", 5)), "")
				b.Want("due", fmt.Sprint(b.client.ZCard(b.Context(), b.keys().due).Val()), "0")
				running := fourth[0]
				for i := range 3 {
					b.Settle("w", storesuite.Done(running))
					next := b.Take("w", 5)
					b.Want("taken next", storesuite.IDs(next), storesuite.OccurrenceID("s", at[i]))
					if next[0].New {
						b.Errorf("%s is new a second time", next[0].ID)
					}
					running = next[0]
				}
				b.Settle("w", storesuite.Done(running))
				if n := b.client.Exists(b.Context(), b.keys().open, b.keys().behind, b.keys().jobs, b.keys().ready).Val(); n != 0 {
					b.Errorf("%d keys are left", n)
				}
			})
		})
	}
}

func TestRemovingAScheduleLetsGoWhatNeverBegan(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Scheduled("s", "wait", storesuite.Ago(3*time.Minute), storesuite.Ago(2*time.Minute))
		first := b.Take("w", 5)
		b.Want("behind", fmt.Sprint(b.client.ZCard(b.Context(), b.keys().behind).Val()), "1")
		if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); err != nil {
			b.Fatal(err)
		}
		b.Want("behind", fmt.Sprint(b.client.ZCard(b.Context(), b.keys().behind).Val()), "0")
		b.Settle("w", storesuite.Done(first[0]))
		b.Want("taken", storesuite.IDs(b.Take("w", 5)), "")
		if n := b.client.Exists(b.Context(), b.keys().open, b.keys().ready, b.keys().due).Val(); n != 0 {
			b.Errorf("%d keys are left", n)
		}
	})
}

// A schedule that is owed nothing, or whose state or cursor was edited by hand, is not tried again and again.
func TestNothingThatCannotBePlacedIsTriedAgainAndAgain(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for name, damage := range map[string]func(h head){
			"paused": func(h head) { b.client.HSet(b.Context(), b.keys().schedules, "paused", h.withState("paused")) },
			"state":  func(h head) { b.client.HSet(b.Context(), b.keys().schedules, "state", h.withState("asleep")) },
			"cursor": func(head) { b.client.HSet(b.Context(), b.keys().cursors, "cursor", "tomorrow 3 p") },
		} {
			declared := b.Declare(name, "skip", `{"job":"j"}`)
			h, _ := parseHead(string(declared.Stored))
			damage(h)
			b.client.ZAdd(b.Context(), b.keys().owed, redisZ(1000, name))
		}
		owed, err := b.store.Owed(b.Context(), []protocol.Partition{storesuite.DefaultPartition})
		if err != nil || len(owed) != 3 {
			b.Fatalf("owed %+v, %v", owed, err)
		}
		for _, o := range owed {
			if o.Unreadable != (o.Name != "paused") {
				b.Errorf("%s is unreadable: %v", o.Name, o.Unreadable)
			}
			if !o.Unreadable {
				b.Place(o, 1, 0, storesuite.Ago(0))
			}
		}
		b.Want("still owed", b.owedNames(), "[cursor state]")
	})
}

// A definition that was edited by hand is reported as such, and delays nothing.
func TestADefinitionChangedByHandIsUnreadable(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		declared := b.Declare("s", "skip", `{"job":"j"}`)
		b.client.HSet(b.Context(), b.keys().schedules, "s", strings.Replace(string(declared.Stored), `"state":`, `"state": `, 1))
		b.client.ZAdd(b.Context(), b.keys().owed, redisZ(1000, "s"))
		owed, err := b.store.Owed(b.Context(), []protocol.Partition{storesuite.DefaultPartition})
		if err != nil || len(owed) != 1 || !owed[0].Unreadable {
			b.Fatalf("owed %+v, %v; want s, unreadable", owed, err)
		}
		placed := b.store.Place(b.Context(), []protocol.Placement{{Partition: storesuite.DefaultPartition, Name: "s", Revision: declared.Revision, Instants: []time.Time{storesuite.Ago(0)}}})[0]
		if placed.Err == nil || placed.Lost {
			b.Errorf("placed %+v, want an error: a placement that is only lost is tried again at once", placed)
		}
		found, err := b.store.Find(b.Context(), []string{"s"})
		if err != nil || !errors.Is(found[0].Err, protocol.ErrUnreadable) {
			b.Errorf("found %+v, %v; want it unreadable", found, err)
		}
		if removed, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); !removed || err != nil {
			b.Errorf("removed %v, %v; want it deleted", removed, err)
		}
	})
}
