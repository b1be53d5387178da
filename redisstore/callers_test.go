package redisstore

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

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
// so that the answer agrees with what the first call did. After 120 s the refusals are forgotten by the next refusal.
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
		b.Want("refusals", fmt.Sprint(refusalNames()), "[!x 1 a3 !x 1 generated]")
		old := float64(storesuite.Ago(time.Hour+time.Second).Unix()) * callerRound // the score of a refusal 121 s later
		for _, name := range refusalNames() {
			b.client.ZAdd(b.Context(), b.keys().callers, redisZ(old, name))
		}
		b.Enqueue(several("a", 2)...)
		next := protocol.EnqueueCall{Partition: storesuite.DefaultPartition, Caller: "x", Number: 2, Items: []protocol.EnqueueItem{inGroup("a", "a9")}}
		if answer := b.store.Enqueue(b.Context(), []protocol.EnqueueCall{next})[0]; refusedItems(answer.Full, protocol.ErrGroupFull) != "[true]" {
			b.Fatalf("refused %v, %v", answer.Full, answer.Err)
		}
		b.Want("refusals later", fmt.Sprint(refusalNames()), "[!x 2 a9]")
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
