package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// elsewhere settles a job as done, and another one follows in the queue mail.
func elsewhere(taken protocol.TakenJob, in time.Duration, group string) protocol.Settlement {
	s := done(taken, in)
	s.Follower.Queue, s.Follower.Group = "mail", group
	return s
}

// A job that follows in another queue is in the outbox in the step that ends the one before it, and in its queue after a carry.
func TestASettlementAddsToTheOutboxOnce(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"), storesuite.Job("c"), storesuite.Job("d"))
		held := b.Take("w", 4)
		dead := protocol.Settlement{ID: "c", Fence: held[2].Fence, Kind: protocol.SettleDead, Body: []byte("\x01dead"), Follower: &protocol.Follower{Body: []byte(follower), Queue: "mail"}}
		expired := protocol.Settlement{ID: "d", Fence: held[3].Fence, Kind: protocol.SettleExpired, Follower: &protocol.Follower{Body: []byte(follower), Queue: "mail"}}
		call := protocol.WorkCall{Settle: []protocol.Settlement{elsewhere(held[0], 0, ""), elsewhere(held[1], time.Hour, ""), dead, expired}}
		answer := b.Work("w", call)
		if !answer.Owes || answer.Full || len(answer.Refused) > 0 || answer.Unreadable != "" {
			b.Errorf("%+v, want that there is something to carry", answer)
		}
		if again := b.Repeat("w", call); !again.Owes {
			b.Errorf("%+v, want that the repeated call reports it too", again)
		}
		b.Settle("w", elsewhere(held[0], 0, ""))
		b.Want("waits here", fmt.Sprint(b.ready()), "[]")
		b.Want("the outbox", b.outboxOf(source), "4 wait, 0 delivered, 4 values")
		before := b.serverTime()
		b.carryAll(source, mail)
		ids := []string{
			protocol.FollowerID("a", protocol.EndDone, held[0].Fence, ""), protocol.FollowerID("c", protocol.EndDead, held[2].Fence, ""),
			protocol.FollowerID("d", protocol.EndDead, held[3].Fence, ""),
		}
		later := protocol.FollowerID("b", protocol.EndDone, held[1].Fence, "")
		b.Want("mail", b.has(mail), strings.Join(ids, " ")+" | "+later)
		k := b.store.keys.partition(mail)
		if due := time.UnixMilli(int64(b.client.ZScore(b.Context(), k.due, later).Val())); due.Before(before.Add(59*time.Minute)) || due.After(before.Add(time.Hour+time.Millisecond)) { // rounded up
			b.Errorf("due at %v, want an hour after the end, which was before %v", due, before)
		}
		b.Want("the body", b.client.HGet(b.Context(), k.jobs, ids[0]).Val(), follower)
		b.Verified()
	})
}

// Nothing follows a job that was cancelled or replaced while it was held, in no queue.
func TestNothingFollowsElsewhereAfterACancellation(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Own("cancelled"), storesuite.Own("replaced"))
		held := b.Take("w", 2)
		b.Want("cancelled", b.Cancel("cancelled"), "asked")
		if _, err := b.store.Replace(b.Context(), protocol.ReplaceCall{Partition: storesuite.DefaultPartition, Token: "t", Item: storesuite.Own("replaced")}); err != nil {
			b.Fatal(err)
		}
		b.Work("w", protocol.WorkCall{Settle: []protocol.Settlement{elsewhere(held[0], 0, ""), elsewhere(held[1], 0, "")}})
		b.Want("the outbox", b.outboxOf(storesuite.DefaultPartition), "0 wait, 0 delivered, 0 values")
		b.Verified()
	})
}

// The group of a job that follows in another queue is a group of that queue: it comes before the others there.
func TestAGroupAcrossQueuesIsThatOfTheTarget(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		grouped := storesuite.Job("first")
		grouped.Group = "g"
		b.Enqueue(grouped, storesuite.Job("x"), storesuite.Job("y"), storesuite.Job("z"))
		waits := storesuite.Job("waits")
		waits.Group = "g"
		if _, err := b.store.Partitions(b.Context(), "mail"); err != nil {
			b.Fatal(err)
		}
		if err := b.store.Enqueue(b.Context(), []protocol.EnqueueCall{{Partition: mail, Caller: "m", Number: 1, Items: []protocol.EnqueueItem{waits}}})[0].Err; err != nil {
			b.Fatal(err)
		}
		held := b.Take("w", 4)
		var settled []protocol.Settlement
		for i, job := range held {
			in := time.Duration(0)
			if i == 3 {
				in = time.Hour
			}
			settled = append(settled, elsewhere(job, in, "g"))
		}
		b.Work("w", protocol.WorkCall{Settle: settled})
		b.wantSoundLine("after the end")
		b.carryAll(source, mail)
		k := b.store.keys.partition(mail)
		var line []string
		for _, member := range b.client.ZRange(b.Context(), k.line, 0, -1).Val() {
			line = append(line, member[strings.LastIndexByte(member, '\t')+1:])
		}
		want := []string{followerOf(held[0]), followerOf(held[1]), followerOf(held[2]), "waits"}
		b.Want("in line", fmt.Sprint(line), fmt.Sprint(want))
		b.Want("due", fmt.Sprint(b.client.ZRange(b.Context(), k.due, 0, -1).Val()), fmt.Sprint([]string{followerOf(held[3])}))
		b.Verified()
	})
}

// A queue with several partitions has no groups: a job that had one is added without.
func TestAGroupIsLostInAQueueWithSeveralPartitions(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		wide := newStore(b.client, Options{Namespace: string(b.store.keys), Partitions: map[string]int{"mail": 3}})
		if n, err := wide.Partitions(b.Context(), "mail"); n != 3 || err != nil {
			b.Fatal(n, err)
		}
		b.Enqueue(storesuite.Job("a"))
		held := b.Take("w", 1)[0]
		b.Settle("w", elsewhere(held, 0, "g"))
		target := protocol.Partition{Queue: "mail", Index: protocol.PartitionOf("a", 3)}
		batch := b.next(storesuite.DefaultPartition, target)
		if answer := b.carry(storesuite.DefaultPartition, target, batch.After, batch.Entries); answer.Added != 1 || answer.Ungrouped != 1 {
			b.Errorf("%+v, want it added without its group", answer)
		}
		b.Want("waits", b.has(target), followerOf(held)+" |")
		b.Verified()
	})
}

// A parked job dies, and its OnDeath is on another queue.
func TestABurialAcrossQueues(t *testing.T) {
	onServersWith(t, settableClock, func(b *bench) {
		b.expired("a", withDeath, "mail", 1.5)
		burials, _ := b.swept()
		if len(burials) != 1 {
			b.Fatalf("%d burials, want one", len(burials))
		}
		burials[0].Follower = &protocol.Follower{Body: []byte(follower), Queue: "mail", Group: "g"}
		b.Want("buried", fmt.Sprint(b.bury(burials), b.bury(burials)), "1 0")
		b.Want("the outbox", b.outboxOf(storesuite.DefaultPartition), "1 wait, 0 delivered, 1 values")
		b.Want("waits here", fmt.Sprint(b.ready()), "[]")
		b.carryAll(storesuite.DefaultPartition, mail)
		if n := b.client.ZCard(b.Context(), b.store.keys.partition(mail).line).Val(); n != 1 {
			b.Errorf("%d jobs wait in the group of mail, want the one that follows", n)
		}
		b.Verified()
	})
}

// Many jobs end in one call, and those that follow are carried in the order of the ends.
func TestWhatFollowsElsewhereKeepsTheOrderOfTheEnds(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		const n = 300
		for from := 0; from < n; from += 100 {
			var items []protocol.EnqueueItem
			for i := range 100 {
				items = append(items, storesuite.Job(fmt.Sprintf("j%03d", from+i)))
			}
			b.Enqueue(items...)
		}
		held := b.Take("w", n)
		var settled []protocol.Settlement
		var want []string
		for _, job := range held {
			settled, want = append(settled, elsewhere(job, 0, "")), append(want, followerOf(job))
		}
		b.Work("w", protocol.WorkCall{Settle: settled})
		b.carryAll(storesuite.DefaultPartition, mail)
		b.Want("mail", b.has(mail), strings.Join(want, " ")+" |")
	})
}
