package redisstore

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// Later enqueuers remove old ones after an hour: without workers there is no sweep.
func TestNewEnqueuersForgetThoseOfLongAgo(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		const old, fresh = 1000, 50
		long, short := float64(storesuite.Ago(2*time.Hour).Unix())*callerRound, float64(storesuite.Ago(50*time.Minute).Unix())*callerRound
		for i := range old {
			b.client.ZAdd(b.Context(), b.keys().callers, redisZ(long+float64(i), fmt.Sprint("old", i)))
		}
		b.client.ZAdd(b.Context(), b.keys().callers, redisZ(short, "not so old"))
		for i := range fresh {
			call := protocol.EnqueueCall{Partition: storesuite.DefaultPartition, Caller: fmt.Sprint("new", i), Number: 1, Items: []protocol.EnqueueItem{storesuite.Job(fmt.Sprint("j", i))}}
			if a := b.store.Enqueue(b.Context(), []protocol.EnqueueCall{call})[0]; a.Err != nil {
				b.Fatal(a.Err)
			}
		}
		// The counter of jobs is there too.
		if n := b.client.ZCard(b.Context(), b.keys().callers).Val(); n != fresh+2 {
			b.Errorf("%d callers are remembered, want %d", n, fresh+2)
		}
		if err := b.client.ZScore(b.Context(), b.keys().callers, "not so old").Err(); err != nil {
			b.Errorf("one of 50 minutes ago: %v, want it remembered", err)
		}
	})
}

// A call that has refused jobs of a full group is sent again when the group has room, because its reply was lost: it refuses the same jobs, and adds none,
// so that the answer agrees with what the first call did. The next refusal of the enqueuer overwrites the refusals.
func TestARepeatedCallRefusesTheSameJobsOfAFullGroup(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.setRule("a", "0 0 0 0 0 2 0")
		generated := storesuite.Job("generated")
		generated.Group = "a"
		call := protocol.EnqueueCall{Partition: storesuite.DefaultPartition, Caller: "x", Number: 1, Items: append(several("a", 3), inGroup("b", "b1"), generated)}
		const want = "[false false true false true]"
		enqueue := func(when string) {
			b.Helper()
			if answer := b.store.Enqueue(b.Context(), []protocol.EnqueueCall{call})[0]; answer.Err != nil || refusedItems(answer.Full, protocol.ErrGroupFull) != want {
				b.Errorf("%s: refused %v, %v; want %s", when, answer.Full, answer.Err, want)
			}
			b.wantSoundLine(when)
		}
		enqueue("the group is full")
		b.finish("s", b.Take("s", 5)...)
		enqueue("sent again, when the group has room")
		b.Want("line", b.lineIDs(), "")
		b.Enqueue(several("a", 2)...)
		for _, when := range []string{"full", "sent again, when the group has room"} {
			replace := protocol.ReplaceCall{Partition: storesuite.DefaultPartition, Token: "t", Item: inGroup("a", "a8")}
			if became, err := b.store.Replace(b.Context(), replace); err != nil || became != protocol.ReplaceFull {
				t.Errorf("a replacement without a job of its ID, %s: %d, %v; want a refusal", when, became, err)
			}
			b.finish("s", b.Take("s", 5)...)
			b.wantSoundLine(when)
		}
		refusalNames := func() (names []string) {
			for _, name := range b.client.ZRange(b.Context(), b.keys().callers, 0, -1).Val() {
				if strings.HasPrefix(name, "!") {
					names = append(names, name)
				}
			}
			return names
		}
		b.Want("refusals", fmt.Sprint(refusalNames()), "[!x !x 0]")
		b.olderCallers(50 * time.Minute)
		enqueue("sent again after 50 minutes")
		b.olderCallers(time.Hour)
		b.Enqueue(several("a", 2)...)
		next := protocol.EnqueueCall{Partition: storesuite.DefaultPartition, Caller: "x", Number: 2, Items: []protocol.EnqueueItem{inGroup("a", "a9"), inGroup("b", "b2")}}
		for _, when := range []string{"the first call after two hours", "sent again"} {
			if answer := b.store.Enqueue(b.Context(), []protocol.EnqueueCall{next})[0]; refusedItems(answer.Full, protocol.ErrGroupFull) != "[true false]" {
				b.Fatalf("%s: refused %v, %v", when, answer.Full, answer.Err)
			}
			b.finish("s", b.Take("s", 5)...)
			b.Want("line", b.lineIDs(), "")
		}
		b.Want("refusals later", fmt.Sprint(refusalNames()), "[!x 0 !x]")
	})
}

// olderCallers makes it seem that all calls so far were made earlier by d.
func (b *bench) olderCallers(d time.Duration) {
	b.Helper()
	for _, z := range b.client.ZRangeByScoreWithScores(b.Context(), b.keys().callers, &redis.ZRangeBy{Min: "1e15", Max: "inf"}).Val() {
		b.client.ZAdd(b.Context(), b.keys().callers, redisZ(z.Score-d.Seconds()*callerRound, z.Member.(string)))
	}
}

// The seal of a call that was carried out returns which of its jobs were refused, as long as the store knows the call.
func TestASealReturnsTheJobsThatItsCallHasRefused(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.setRule("a", "0 0 0 0 0 2 0")
		enqueue := func(caller string, number int64, items ...protocol.EnqueueItem) []int {
			b.Helper()
			answer := b.store.Enqueue(b.Context(), []protocol.EnqueueCall{{Partition: storesuite.DefaultPartition, Caller: caller, Number: number, Items: items}})[0]
			if answer.Err != nil {
				b.Fatal(answer.Err)
			}
			var refused []int
			for i, err := range answer.Full {
				if err != nil {
					refused = append(refused, i)
				}
			}
			return refused
		}
		seal := func(when string, number int64, items int, want protocol.Sealed, refused []int) {
			b.Helper()
			for range 2 {
				answer := b.store.Seal(b.Context(), []protocol.SealCall{{Partition: storesuite.DefaultPartition, Caller: "x", Number: number, Seal: number + 1, Items: items}})[0]
				if slices.Sort(answer.Refused); answer.Err != nil || answer.Sealed != want || !slices.Equal(answer.Refused, refused) {
					b.Errorf("%s: %+v, want outcome %d, and %v refused", when, answer, want, refused)
				}
			}
		}
		later := inGroup("a", "later")
		later.In = time.Hour
		items := append([]protocol.EnqueueItem{storesuite.Job("x"), storesuite.Job("y"), later}, several("a", 40)...)
		refused := enqueue("x", 1, items...)
		if len(refused) != 38 || refused[0] != 5 {
			b.Fatalf("refused %v, want all of group a from the third on, but the delayed one", refused)
		}
		seal("a long call", 1, len(items), protocol.SealedDone, refused)
		seal("a short call", 2, 2, protocol.SealedDone, enqueue("x", 2, inGroup("b", "b1"), inGroup("a", "a50")))
		enqueue("x", 3, inGroup("b", "b2"))
		seal("a call that has refused nothing", 3, 1, protocol.SealedDone, nil)
		refused = enqueue("x", 4, inGroup("a", "a51"))
		b.olderCallers(59 * time.Minute)
		for i := range 5 {
			enqueue(fmt.Sprint("other", i), 1, inGroup("a", "a52"))
		}
		seal("after 59 minutes", 4, 1, protocol.SealedDone, refused)

		// The store forgets at most 100 entries at once, the oldest first: the enqueuer, but not yet its refusals.
		b.olderCallers(2 * time.Minute)
		for i := range 99 {
			b.client.ZAdd(b.Context(), b.keys().callers, redisZ(float64(storesuite.Ago(2*time.Hour).Unix())*callerRound, fmt.Sprint("old", i)))
		}
		enqueue("new", 1, inGroup("b", "b3"))
		if b.client.ZScore(b.Context(), b.keys().callers, "!x").Err() != nil {
			b.Error("the refusals were removed too: the test proves nothing")
		}
		seal("after an hour", 4, 1, protocol.SealedUnknown, nil)
	})
}

// refusedItems formats which jobs were refused with an error; a question mark: with another one.
func refusedItems(full []error, with error) string {
	texts := make([]string, len(full))
	for i, why := range full {
		texts[i] = strconv.FormatBool(why != nil)
		if why != nil && !errors.Is(why, with) {
			texts[i] = "?"
		}
	}
	return fmt.Sprint(texts)
}
