package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// doneInto settles a job as done; the job that follows it has a group.
func doneInto(group string, taken protocol.TakenJob, in time.Duration) protocol.Settlement {
	s := done(taken, in)
	s.Follower.Group = group
	return s
}

func followerOf(taken protocol.TakenJob) string {
	return protocol.FollowerID(taken.ID, protocol.EndDone, taken.Fence, "")
}

// What follows a job comes before the others of its group, in the order in which the jobs before it ended, whether the partition has groups or not.
func TestAJobOfAGroupThatFollowsComesFirst(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.setRule("g", "0 0 0 0 0 1 0") // one job of the group may wait: what follows is not refused
		b.Enqueue(storesuite.Job("x"), storesuite.Job("y"), storesuite.Job("z"))
		held := b.Take("w", 3)
		b.Work("w", protocol.WorkCall{Settle: []protocol.Settlement{doneInto("g", held[0], 0)}})
		b.wantSoundLine("the first job of a group follows")
		b.Want("ready", fmt.Sprint(b.ready()), "[]")
		call := protocol.WorkCall{Settle: []protocol.Settlement{doneInto("g", held[1], 0), doneInto("g", held[2], 0)}}
		b.Work("w", call)
		b.Repeat("w", call)
		b.wantSoundLine("two follow in one call")
		taken := b.Take("w", 5)
		b.Want("taken", storesuite.IDs(taken), followerOf(held[1])+" "+followerOf(held[2])+" "+followerOf(held[0]))
		if string(taken[0].Body) != follower {
			b.Errorf("the body is %q", taken[0].Body)
		}
		b.finish("w", taken...)
		b.wantSoundLine("all are done")
		b.Want("flag", b.stateField("groups"), "")
	})
}

// A job that follows later waits in due, and then in its group.
func TestAJobOfAGroupThatFollowsLaterJoinsItsGroupThen(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("x"))
		held := b.Take("w", 1)
		b.Settle("w", doneInto("g", held[0], time.Hour))
		b.wantSoundLine("it waits in due")
		id := followerOf(held[0])
		b.Want("place", b.client.HGet(b.Context(), b.keys().places, id).Val(), "0000000000000000 g")
		b.Want("taken at once", storesuite.IDs(b.Take("w", 5)), "")
		b.client.ZAdd(b.Context(), b.keys().due, redisZ(1000, id))
		b.setRule("g", "0 0 0 0 0 0 1") // it is paused
		b.Want("taken while the group is paused", storesuite.IDs(b.Take("w", 5)), "")
		b.wantSoundLine("it is due")
		b.Verified()
	})
}

// In an ordered group a chain ends before the next job begins.
func TestAChainOfAnOrderedGroupEndsBeforeTheNextJobBegins(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.setRule("g", "0 0 0 0 1 0 0")
		b.Enqueue(inGroup("g", "a1"), inGroup("g", "a2"))
		for _, want := range []string{"a1", "follower", "a2"} {
			taken := b.Take("w", 5)
			if len(taken) != 1 || want != "follower" && taken[0].ID != want || want == "follower" && !strings.HasPrefix(taken[0].ID, "a1#done-") {
				b.Fatalf("taken %s, want %s alone", storesuite.IDs(taken), want)
			}
			s := doneInto("g", taken[0], 0)
			if want != "a1" {
				s.Follower = nil
			}
			b.Settle("w", s)
			b.wantSoundLine(want + " is done")
		}
	})
}

// Nor does it begin in the call that ends a job of the chain and takes others, as a busy worker's does.
func TestTheCallThatEndsAJobOfAChainTakesNoOtherOfItsOrderedGroup(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.setRule("g", "0 0 0 0 1 0 0")
		b.Enqueue(inGroup("g", "a1"), inGroup("g", "a2"), inGroup("g", "a3"), inGroup("g", "a4"))
		ends := func(s protocol.Settlement, want string) []protocol.TakenJob {
			b.Helper()
			call := protocol.WorkCall{Settle: []protocol.Settlement{s}, Take: 5}
			answer := b.Work("w", call)
			b.Want("taken after "+s.ID, storesuite.IDs(answer.Taken), want)
			b.wantSoundLine(s.ID + " has ended")
			if want == "" && !answer.More {
				b.Errorf("after the end of %s no job may start", s.ID)
			}
			b.Want("taken again after "+s.ID, storesuite.IDs(b.Repeat("w", call).Taken), want)
			return answer.Taken
		}
		first := b.Take("w", 5)[0]
		ends(doneInto("g", first, 0), "")
		second := b.Take("w", 5)[0]
		b.Want("taken then", second.ID, followerOf(first))
		dies := doneInto("g", second, 0)
		dies.Kind = protocol.SettleDead
		ends(dies, "")
		third := b.Take("w", 5)[0]
		b.Want("taken then", third.ID, protocol.FollowerID(second.ID, protocol.EndDead, second.Fence, ""))
		a2 := ends(doneInto("g", third, time.Hour), "a2")[0] // what follows later does not wait in the group yet
		taken := ends(doneInto("h", a2, 0), "a3")            // the chain continues in another group
		b.Want("taken then", storesuite.IDs(b.Take("w", 5)), followerOf(a2))
		b.Want("cancelled", b.Cancel("a3"), "asked")
		ends(doneInto("g", taken[0], 0), "a4") // nothing follows a cancelled job
		b.Verified()
	})
}

// Replaced and followed in one call: what replaces a flight joins the end of its group, what follows one its beginning.
func TestWhatReplacesAndWhatFollowsJoinTheirGroups(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Own("x"), storesuite.Own("y"))
		held := b.Take("w", 2)
		b.Enqueue(inGroup("g", "waits"))
		if how, err := b.store.Replace(b.Context(), protocol.ReplaceCall{Partition: storesuite.DefaultPartition, Token: "t", Item: inGroup("g", "x")}); how != protocol.ReplaceDone {
			b.Fatal(how, err)
		}
		b.Work("w", protocol.WorkCall{Settle: []protocol.Settlement{doneInto("g", held[0], 0), doneInto("g", held[1], 0)}})
		b.wantSoundLine("both have ended")
		b.Want("taken", storesuite.IDs(b.Take("w", 5)), followerOf(held[1])+" waits x")
	})
}

// What follows the death of a parked job may have a group too.
func TestABurialAddsAJobOfAGroup(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("first"))
		b.expired("a", withDeath, "mail", 1.1)
		b.expired("b", withDeath, "mail", 1.1)
		b.expired("c", withDeath, "mail", 1.1)
		burials, _ := b.swept()
		for i := range burials {
			burials[i].Follower.Group = "g"
			if burials[i].ID == "b" {
				burials[i].Follower.In = time.Hour
			}
		}
		b.Want("buried", fmt.Sprint(b.bury(burials)), "3")
		b.Want("buried again", fmt.Sprint(b.bury(burials)), "0")
		b.wantSoundLine("they are dead")
		taken := b.Take("w", 9)
		if len(taken) != 3 || string(taken[1].Body) != alert || string(taken[2].Body) != alert {
			b.Errorf("%s are taken, want the first, and what follows two deaths", storesuite.IDs(taken))
		}
		b.Want("due", fmt.Sprint(len(b.members(b.keys().due))), "1")
		b.finish("w", taken...)
		b.wantSoundLine("all but one are done")
		b.Verified()
	})
}
