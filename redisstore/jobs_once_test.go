package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// once is a job that is not added again within an hour.
func once(id string) protocol.EnqueueItem {
	item := storesuite.Own(id)
	item.Once = time.Hour
	return item
}

func TestOnceBarsWhatHasEndedUntilItsTime(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Want("existing", storesuite.BoolsText(b.Enqueue(once("a"), once("a"), storesuite.Own("b"), once("b"))), storesuite.BoolsText([]bool{false, true, false, true}))
		for _, taken := range b.Take("s", 5) {
			b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone})
		}
		later := once("a")
		later.In = time.Minute
		b.Want("existing when it has ended", storesuite.BoolsText(b.Enqueue(once("a"), later, once("b"))), storesuite.BoolsText([]bool{true, true, false}))
		until := time.UnixMilli(int64(b.client.ZScore(b.Context(), b.keys().once, "a").Val()))
		if in := until.Sub(b.serverTime()); in < 59*time.Minute || in > time.Hour {
			b.Errorf("it may be added again in %v, want in an hour", in)
		}
		b.client.ZAdd(b.Context(), b.keys().once, redisZ(float64(b.serverTime().UnixMilli()-1), "a"))
		b.Want("existing when its time is over", storesuite.BoolsText(b.Enqueue(later, once("a"))), storesuite.BoolsText([]bool{false, true}))
		b.Want("due", strings.Join(b.client.ZRange(b.Context(), b.keys().due, 0, -1).Val(), " "), "a")
	})
}

// A repeated call neither adds the job nor extends its time, even if the job has ended and its time is over.
func TestOnceSentTwiceChangesNothing(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(once("a"), storesuite.Job("j"))
		before := snapshotOf(b)
		b.Callers--
		b.Want("existing", storesuite.BoolsText(b.Enqueue(once("a"), storesuite.Job("j"))), storesuite.BoolsText([]bool{true, false}))
		b.Want("after the same call", snapshotOf(b), before)
		taken := b.Take("s", 2)
		for _, t := range taken {
			b.Settle("s", protocol.Settlement{ID: t.ID, Fence: t.Fence, Kind: protocol.SettleDone})
		}
		b.client.Del(b.Context(), b.keys().once)
		b.Callers--
		b.Enqueue(once("a"), storesuite.Job("j"))
		b.Want("left by the same call, when all is over", fmt.Sprint(b.client.Exists(b.Context(), b.keys().once, b.keys().jobs, b.keys().ready).Val()), "0")
	})
}

// A record that was written while the clock was ahead bars for no longer than the next call wants, counted from that call.
func TestARecordOfOnceIsNeverFurtherAheadThanItsCallerBars(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		ahead := func(id string) {
			b.client.ZAdd(b.Context(), b.keys().once, redisZ(float64(b.serverTime().Add(30*24*time.Hour).UnixMilli()), id))
		}
		left := func(id string) time.Duration {
			return time.UnixMilli(int64(b.client.ZScore(b.Context(), b.keys().once, id).Val())).Sub(b.serverTime()).Round(time.Minute)
		}
		for _, id := range []string{"a", "b", "c"} {
			ahead(id)
		}
		item := once("a")
		b.Want("existing", storesuite.BoolsText(b.Enqueue(item, item)), storesuite.BoolsText([]bool{true, true}))
		if how, err := b.store.Replace(b.Context(), protocol.ReplaceCall{Partition: storesuite.DefaultPartition, Token: "t", Item: once("b")}); how != protocol.ReplaceStayed || err != nil {
			b.Error(how, err)
		}
		for id, want := range map[string]time.Duration{"a": time.Hour, "b": time.Hour, "c": 30 * 24 * time.Hour} {
			if left(id) != want {
				b.Errorf("%s is barred for %v, want %v", id, left(id), want)
			}
		}
	})
}

// A sweep removes records whose time is over, and no other, at most 500 a call.
func TestOldRecordsOfOnceAreSweptInSteps(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		past, future := float64(b.serverTime().UnixMilli()-1), float64(b.serverTime().Add(time.Hour).UnixMilli())
		for i := range 1200 {
			b.client.ZAdd(b.Context(), b.keys().once, redisZ(past, fmt.Sprint("old", i)))
		}
		b.client.ZAdd(b.Context(), b.keys().once, redisZ(future, "new"))
		for _, left := range []int64{701, 201, 1} {
			more, err := b.sweep()
			if n := b.client.ZCard(b.Context(), b.keys().once).Val(); err != nil || n != left || more != (left > 1) {
				b.Fatalf("a sweep left %d, more %v, %v; want %d", n, more, err, left)
			}
		}
	})
}
