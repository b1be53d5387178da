package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// Each call that adds results or records of Once removes twice as many whose time is over, 500 at most. It removes none that is in force. So their
// number is bounded without a sweep, at any rate of jobs.
func TestACallThatAddsRecordsRemovesThoseThatAreOver(t *testing.T) {
	result := &protocol.Result{Keep: time.Hour, Body: []byte("r")}
	settle := func(n int) func(b *bench) {
		return func(b *bench) {
			var call protocol.WorkCall
			for _, taken := range b.Take("w", n) {
				call.Settle = append(call.Settle, protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone, Result: result})
			}
			b.Work("w", call)
		}
	}
	enqueue := func(n int, make func(id string) protocol.EnqueueItem) func(b *bench) {
		return func(b *bench) {
			var items []protocol.EnqueueItem
			for i := range n {
				items = append(items, make(fmt.Sprint("new", i)))
			}
			b.Enqueue(items...)
		}
	}
	cancelled := func(b *bench) {
		for _, taken := range b.Take("w", 5) {
			b.Cancel(taken.ID)
			b.Settle("w", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone, Result: result})
		}
	}
	replace := func(b *bench) {
		item := once("new")
		if how, err := b.store.Replace(b.Context(), protocol.ReplaceCall{Partition: storesuite.DefaultPartition, Token: "t", Item: item}); how != protocol.ReplaceAdded || err != nil {
			b.Fatal(how, err)
		}
	}
	cancel := func(b *bench) {
		if how, err := b.store.CancelJob(b.Context(), "default", "new0", result); how != protocol.CancelDone || err != nil {
			b.Fatal(how, err)
		}
	}
	for name, c := range map[string]struct {
		before, act func(b *bench)
		once        bool
		added       int64
		removed     int64
	}{
		"enqueue":                 {nil, enqueue(30, once), true, 30, 60},
		"enqueue many":            {nil, enqueue(protocol.MaxItems, once), true, 500, 500},
		"replace":                 {nil, replace, true, 1, 2},
		"finished jobs":           {enqueue(30, storesuite.Job), settle(30), false, 30, 60},
		"cancelled running jobs":  {enqueue(5, storesuite.Job), cancelled, false, 5, 10},
		"a cancelled waiting job": {enqueue(1, storesuite.Job), cancel, false, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				if c.before != nil {
					c.before(b)
				}
				k, now := b.keys(), b.serverTime()
				set := k.kept
				if c.once {
					set = k.once
				}
				const over = 700
				var members []redis.Z
				for i := range over {
					id := fmt.Sprint("old", i)
					members = append(members, redisZ(float64(now.Add(-time.Duration(i+1)*time.Second).UnixMilli()), id))
					if !c.once {
						b.client.HSet(b.Context(), k.results, id, "dold")
					}
				}
				members = append(members, redisZ(float64(now.Add(time.Hour).UnixMilli()), "in force"))
				b.client.ZAdd(b.Context(), set, members...)
				c.act(b)
				if left := b.client.ZCard(b.Context(), set).Val(); left != over+1+c.added-c.removed {
					b.Errorf("%d members are left of %d, after %d were added: want %d removed", left, over+1, c.added, c.removed)
				}
				if b.client.ZScore(b.Context(), set, "in force").Err() != nil || b.client.ZScore(b.Context(), set, "old0").Err() != nil {
					b.Error("a record in force was removed, or a newer one before the oldest")
				}
				if results := b.client.HLen(b.Context(), k.results).Val(); !c.once && results != over+c.added-c.removed {
					b.Errorf("%d results are left, want %d", results, over+c.added-c.removed)
				}
			})
		})
	}
}
