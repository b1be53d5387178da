package redisstore

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// membersIn returns jobs of a batch, some of them with a group or a delay.
func membersIn(batch string, items ...protocol.EnqueueItem) protocol.FillCall {
	call := protocol.FillCall{Partition: storesuite.DefaultPartition, Batch: batch}
	for i, item := range items {
		item.Body = member(batch)
		call.Positions, call.Items = append(call.Positions, int64(i+1)), append(call.Items, item)
	}
	return call
}

func (b *bench) fillWith(batch string, items ...protocol.EnqueueItem) {
	b.Helper()
	if a := b.store.FillBatch(b.Context(), []protocol.FillCall{membersIn(batch, items...)})[0]; a.Err != nil || a.Closed {
		b.Fatalf("%+v", a)
	}
}

// revoke marks a batch as cancelled in the partition, as Cancel does before it looks for the members.
func (b *bench) revoke(batch string) {
	b.count(protocol.CountCall{Partition: storesuite.DefaultPartition, Batch: batch, Close: true, Cancel: true})
}

// A take that finds members of a cancelled batch ends them as cancelled, wherever they waited, and takes the others.
func TestATakeEndsMembersOfACancelledBatch(t *testing.T) {
	for name, place := range map[string]func(b *bench){
		"waiting": func(b *bench) { b.fillBatch("x", 1, "m1", "m2") },
		"due": func(b *bench) {
			b.fillWith("x", protocol.EnqueueItem{ID: "m1", At: b.Now().Add(-time.Second)}, protocol.EnqueueItem{ID: "m2", At: b.Now().Add(-time.Second)})
		},
		"parked": func(b *bench) {
			b.fillBatch("x", 1, "m1", "m2")
			for _, job := range b.Take("other", 2) {
				b.Settle("other", protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettlePark, Name: "work", Batch: "x"})
			}
		},
		"given back": func(b *bench) {
			b.fillBatch("x", 1, "m1", "m2")
			b.Work("other", protocol.WorkCall{Take: 2, Ahead: 2, TTL: time.Millisecond})
			lapsed := b.UntilLapsed()
			b.revoke("x")
			b.Reap(lapsed, 0)
		},
		"in a group": func(b *bench) {
			b.fillWith("x", protocol.EnqueueItem{ID: "m1", Group: "g"}, protocol.EnqueueItem{ID: "m2", Group: "h"})
		},
		"in an ordered group": func(b *bench) {
			b.setRule("g", "0 0 0 0 1 0 0")
			b.fillWith("x", protocol.EnqueueItem{ID: "m1", Group: "g"}, protocol.EnqueueItem{ID: "m2", Group: "g"})
		},
		"in front of an ordered group": func(b *bench) {
			b.setRule("g", "0 0 0 0 1 0 0")
			b.fillWith("x", protocol.EnqueueItem{ID: "m1", Group: "g"}, protocol.EnqueueItem{ID: "m2", Group: "g"})
			job := b.Take("other", 1)[0]
			b.Settle("other", protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleLater, Delay: time.Hour, Batch: "x"})
			b.client.ZAddXX(b.Context(), b.keys().due, redisZ(1, "m1"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				place(b)
				b.fillBatch("y", 1, "n1", "n2")
				b.revoke("x")
				var taken []protocol.TakenJob
				for range 4 {
					taken = append(taken, b.Work("s", protocol.WorkCall{Take: 3, Serve: []string{"work"}}).Taken...)
				}
				b.Want("taken", storesuite.IDs(taken), "n1 n2")
				b.Want("counts", b.ofBatch(storesuite.DefaultPartition, "x"), "2 added, 2 cancelled")
				b.Want("counts of the other one", b.ofBatch(storesuite.DefaultPartition, "y"), "2 added, 2 left")
				if n, revoked := b.client.HLen(b.Context(), b.keys().jobs).Val(), b.client.HExists(b.Context(), b.keys().state, "revoked").Val(); n != 2 || revoked {
					b.Errorf("%d jobs are left, and takes look for members: %v; want the 2 that were taken, and no", n, revoked)
				}
				b.Want("counters", b.client.HGet(b.Context(), b.keys().counters, "/cancelled").Val(), "2")
				due, _, err := b.store.DueReports(b.Context(), storesuite.DefaultPartition)
				if err != nil || !slices.ContainsFunc(due, func(c protocol.PartitionCounts) bool { return c.Batch == "x" && c.Counts.Cancelled == 2 }) {
					b.Errorf("reports due: %+v, %v; want that of x at once", due, err)
				}
				b.wantSoundLine("at the end")
				for _, job := range taken {
					b.Settle("s", protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleDone, Batch: "y"})
				}
				b.Want("counts of the other one", b.ofBatch(storesuite.DefaultPartition, "y"), "2 added, 2 done")
				b.Verified()
			})
		})
	}
}

// An ordinary job that waits behind many members of a cancelled batch is taken, a call ends as many as it asks for, and a repeated call changes nothing.
func TestTakesGetThroughACancelledBatch(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		var ids []string
		for i := range 25 {
			ids = append(ids, fmt.Sprint("m", i))
		}
		b.fillBatch("x", 1, ids...)
		b.Enqueue(protocol.EnqueueItem{ID: "plain", Body: member("")})
		held := b.Take("s", 1)
		b.revoke("x")
		calls := 0
		var taken []protocol.TakenJob
		for ; len(taken) == 0 && calls < 10; calls++ {
			answer := b.Work("s", protocol.WorkCall{Take: 10})
			if taken = answer.Taken; len(taken) == 0 && !answer.More {
				b.Fatalf("call %d shows nothing that waits", calls)
			}
			if again := b.Repeat("s", protocol.WorkCall{Take: 10}); storesuite.IDs(again.Taken) != storesuite.IDs(taken) {
				b.Errorf("repeated: %s, want %s", storesuite.IDs(again.Taken), storesuite.IDs(taken))
			}
		}
		b.Want("taken", storesuite.IDs(taken), "plain")
		if calls != 3 {
			b.Errorf("it took %d calls, want 3", calls)
		}
		b.Want("counts", b.ofBatch(storesuite.DefaultPartition, "x"), "25 added, 24 cancelled, 1 left")
		b.Settle("s", protocol.Settlement{ID: held[0].ID, Fence: held[0].Fence, Kind: protocol.SettleDone, Batch: "x"})
		b.Want("counts", b.ofBatch(storesuite.DefaultPartition, "x"), "25 added, 1 done, 24 cancelled")
		if b.client.HExists(b.Context(), b.keys().state, "revoked").Val() {
			b.Error("no member is left, and takes still look for members")
		}
	})
}

// The ID of a member that a take has ended may be used again at once, as after a cancellation.
func TestATakeForgetsTheIDOfAMemberThatItEnds(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.fillWith("x", protocol.EnqueueItem{ID: "m", Own: true, Once: time.Hour})
		b.revoke("x")
		b.Want("taken", storesuite.IDs(b.Take("s", 5)), "")
		b.Want("existed", fmt.Sprint(b.Enqueue(protocol.EnqueueItem{ID: "m", Own: true, Once: time.Hour, Body: member("")})), "[false]")
		b.Want("taken", storesuite.IDs(b.Take("s", 5)), "m")
	})
}

// Counts of a cancelled batch that are removed or become right take the mark away.
func TestTheMarkForTakesGoesWithTheBatch(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.fillBatch("x", 1, "m")
		b.fillBatch("y", 1, "n")
		revoked := func() string { return b.client.HGet(b.Context(), b.keys().state, "revoked").Val() }
		b.revoke("x")
		b.revoke("x")
		b.revoke("y")
		b.Want("two batches", revoked(), "2")
		b.count(protocol.CountCall{Partition: storesuite.DefaultPartition, Batch: "x", Forget: true})
		b.Want("one is forgotten", revoked(), "1")
		b.client.HDel(b.Context(), b.keys().state, "revoked") // an earlier state
		b.revoke("y")
		b.Want("asked again", revoked(), "1")
		b.Cancel("n")
		b.Want("nothing is left", revoked(), "")
	})
}

// A dead member of a cancelled batch remains dead: it is not requeued, beside others that are. When the batch is forgotten it belongs to none.
func TestADeadMemberOfACancelledBatchIsNotRequeued(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.fillBatch("x", 1, "m")
		b.fillBatch("y", 1, "n")
		for _, job := range b.Take("s", 2) {
			of := map[string]string{"m": "x", "n": "y"}[job.ID]
			b.Settle("s", protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleDead, Failed: true, Body: member(of), Batch: of})
		}
		b.revoke("x")
		requeued := func() string {
			return b.requeue(protocol.RequeuedJob{ID: "m", Read: member("x"), Body: member("x")}, protocol.RequeuedJob{ID: "n", Read: member("y"), Body: member("y")})
		}
		b.Want("requeued", requeued(), "xe")
		b.Want("counts", b.ofBatch(storesuite.DefaultPartition, "x"), "1 added, 1 dead")
		b.Want("counts of the other one", b.ofBatch(storesuite.DefaultPartition, "y"), "1 added, 1 left")
		b.Want("taken", storesuite.IDs(b.Take("s", 5)), "n")
		b.count(protocol.CountCall{Partition: storesuite.DefaultPartition, Batch: "x", Forget: true})
		b.Want("requeued when it is forgotten", requeued(), "en")
		b.Want("taken", storesuite.IDs(b.Take("s", 5)), "m")
	})
}
