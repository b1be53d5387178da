package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// once is a job that is not added again within an hour.
func once(id string) protocol.EnqueueItem {
	item := own(id)
	item.Once = time.Hour
	return item
}

func TestOnceBarsWhatHasEndedUntilItsTime(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.want("existing", boolsText(b.enqueue(once("a"), once("a"), own("b"), once("b"))), boolsText([]bool{false, true, false, true}))
		for _, taken := range b.take("s", 5) {
			b.settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone})
		}
		later := once("a")
		later.In = time.Minute
		b.want("existing when it has ended", boolsText(b.enqueue(once("a"), later, once("b"))), boolsText([]bool{true, true, false}))
		until := time.UnixMilli(int64(b.client.ZScore(b.Context(), b.keys().once, "a").Val()))
		if in := until.Sub(b.serverTime()); in < 59*time.Minute || in > time.Hour {
			b.Errorf("it may be added again in %v, want in an hour", in)
		}
		b.client.ZAdd(b.Context(), b.keys().once, redisZ(float64(b.serverTime().UnixMilli()-1), "a"))
		b.want("existing when its time is over", boolsText(b.enqueue(later, once("a"))), boolsText([]bool{false, true}))
		b.want("due", strings.Join(b.client.ZRange(b.Context(), b.keys().due, 0, -1).Val(), " "), "a")
	})
}

// A repeated call neither adds the job nor moves the end of its time on, even when both are over by then.
func TestOnceSentTwiceChangesNothing(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(once("a"), job("j"))
		before := snapshotOf(b)
		b.callers--
		b.want("existing", boolsText(b.enqueue(once("a"), job("j"))), boolsText([]bool{true, false}))
		b.want("after the same call", snapshotOf(b), before)
		taken := b.take("s", 2)
		for _, t := range taken {
			b.settle("s", protocol.Settlement{ID: t.ID, Fence: t.Fence, Kind: protocol.SettleDone})
		}
		b.client.Del(b.Context(), b.keys().once)
		b.callers--
		b.enqueue(once("a"), job("j"))
		b.want("left by the same call, when all is over", fmt.Sprint(b.client.Exists(b.Context(), b.keys().once, b.keys().jobs, b.keys().ready).Val()), "0")
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
