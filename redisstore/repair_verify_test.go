package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A fault that has disappeared before its turn is not repaired: here a lost job that a new session holds at that time.
func TestAFaultThatHasDisappearedIsNotRepaired(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("a"))
		b.client.Del(b.Context(), b.keys().ready)
		var taken []string
		store := b.hooked(func(cmd redis.Cmder) error {
			args := cmd.Args()
			if len(args) < 4 || args[1] != verifyJobScript.SHA {
				return nil
			}
			switch repairs := args[3+args[2].(int)] == "1"; {
			case repairs && len(taken) == 0: // before it is repaired
				meanwhile(func() {
					b.client.RPush(b.Context(), b.keys().ready, "a")
					taken = append(taken, storesuite.IDs(b.Take("new", 1)))
				})
			case len(taken) == 1: // and after it
				meanwhile(func() { taken = append(taken, storesuite.IDs(b.Take("other", 1))) })
			}
			return nil
		})
		if _, err := store.Verify(b.Context(), true, func(protocol.Finding) {}); err != nil {
			b.Fatal(err)
		}
		b.Want("taken meanwhile", fmt.Sprintf("%q", taken), `["a" ""]`)
		b.Verified()
	})
}

// The newest occurrence of a schedule that owes the next may wait for its second attempt: this is not a schedule in two places.
func TestVerifyTakesARetryForNoSecondPlacement(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Scheduled("s", "allow", storesuite.Ago(time.Minute))
		held := b.Take("s1", 1)[0]
		b.Settle("s1", protocol.Settlement{ID: held.ID, Fence: held.Fence, Kind: protocol.SettleLater, Failed: true, Delay: time.Hour, Body: []byte("\x01b")})
		b.Want("owed", b.owedNames(), "[s]")
		b.Verified()
	})
}

// A fault in one of several partitions, and an unregistered queue, are found; ctx ends the reading.
func TestVerifyLooksAtEveryPartition(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.store.options.Partitions = map[string]int{"wide": 3}
		if _, err := b.store.Partitions(b.Context(), "wide"); err != nil {
			b.Fatal(err)
		}
		for index := range 3 {
			k := b.store.keys.partition(protocol.Partition{Queue: "wide", Index: index})
			b.client.RPush(b.Context(), k.ready, fmt.Sprint("gone", index))
		}
		b.client.RPush(b.Context(), b.store.keys.partition(protocol.Partition{Queue: "unknown"}).ready, "a")
		findings := b.Verify(false)
		b.Want("found", found(findings), "empty gone0, empty gone1, empty gone2, unregistered")
		ctx, cancel := context.WithCancel(b.Context())
		cancel()
		if _, err := b.store.Verify(ctx, false, func(protocol.Finding) {}); err == nil {
			b.Error("its ctx had ended, and it has read all")
		}
	})
}

// A queue that another process registers, or deletes, while Verify reads is not damage.
func TestVerifyAcceptsAQueueThatIsRegisteredMeanwhile(t *testing.T) {
	for _, test := range []struct {
		name      string
		meanwhile func(b *bench)
		want      string
	}{
		{"registered", func(b *bench) { b.client.HSet(b.Context(), b.store.keys.queues(), "default", 1) }, "[]"},
		{"deleted", func(b *bench) { b.client.Del(b.Context(), b.keys().ready, b.keys().jobs) }, "[]"},
		{"neither", func(*bench) {}, "[unregistered]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			onServersWith(t, hookedCalls, func(b *bench) {
				b.client.Del(b.Context(), b.store.keys.queues())
				b.client.RPush(b.Context(), b.keys().ready, "stored")
				b.client.HSet(b.Context(), b.keys().jobs, "stored", "\x01stored")
				reads := 0
				store := b.hooked(func(cmd redis.Cmder) error {
					if cmd.Name() == "hscan" && cmd.Args()[1] == b.store.keys.queues() {
						if reads++; reads == 2 { // all keys were read after the first
							test.meanwhile(b)
						}
					}
					return nil
				})
				kinds := []string{}
				if _, err := store.Verify(b.Context(), false, func(f protocol.Finding) { kinds = append(kinds, f.Kind) }); err != nil {
					b.Fatal(err)
				}
				b.Want("found", fmt.Sprint(kinds), test.want)
			})
		})
	}
}

// A list that is longer than a page, and the bodies compared with it, are read to the end; few of them have faults.
func TestVerifyRepairsWhatIsWrongAmongThousands(t *testing.T) {
	onServersWith(t, repairing, func(b *bench) {
		const n = 3200
		for from := range n / 400 {
			items := make([]protocol.EnqueueItem, 400)
			for i := range items {
				items[i] = storesuite.Job(fmt.Sprintf("job%05d", from*400+i))
			}
			b.Enqueue(items...)
		}
		b.Verified()
		b.client.HDel(b.Context(), b.keys().jobs, "job00007", "job01700")
		b.client.RPush(b.Context(), b.keys().ready, "job00009")
		b.client.HSet(b.Context(), b.keys().jobs, "lost", "\x01lost")
		b.Want("found", found(b.Verify(true)), "duplicate job00009, empty job00007, empty job01700, lost lost")
		b.Verified()
		ran := map[string]int{}
		for range n {
			taken := b.Take("s", 400)
			if len(taken) == 0 {
				break
			}
			var settle []protocol.Settlement
			for _, job := range taken {
				ran[job.ID]++
				settle = append(settle, storesuite.Done(job))
			}
			b.Work("s", protocol.WorkCall{Settle: settle})
		}
		if len(ran) != n-1 || ran["job00009"] != 1 || ran["lost"] != 1 {
			b.Errorf("%d jobs ran, want %d, each once", len(ran), n-1)
		}
		b.Verified()
	})
}

// A partition that a newer version has written is named in the error; the others are verified. Scripts that the server has forgotten are
// sent again.
func TestVerifyRepairsBesideWhatItMayNotRead(t *testing.T) {
	onServersWith(t, repairing, func(b *bench) {
		newer := b.store.keys.partition(protocol.Partition{Queue: "newer"})
		if _, err := b.store.Partitions(b.Context(), "newer"); err != nil {
			b.Fatal(err)
		}
		b.client.HSet(b.Context(), newer.state, "layout", "99")
		b.client.RPush(b.Context(), newer.ready, "x")
		b.client.HSet(b.Context(), newer.inflight("s"), "x", "1")
		b.client.RPush(b.Context(), b.keys().ready, "gone")
		b.client.ScriptFlush(b.Context())
		var findings []protocol.Finding
		looked, err := b.store.Verify(b.Context(), true, func(f protocol.Finding) { findings = append(findings, f) })
		if err == nil || !strings.Contains(err.Error(), `"newer"`) || !strings.Contains(err.Error(), "CHIMELAYOUT") {
			b.Errorf("%v, want an error that names the queue", err)
		}
		b.Want("found", found(findings), "empty gone")
		if looked.Queues != 2 || looked.Partitions != 2 {
			b.Errorf("verified %+v", looked)
		}
		if n := b.client.LLen(b.Context(), newer.ready).Val(); n != 1 {
			b.Errorf("%d jobs wait in a partition of a newer version", n)
		}
	})
}

// The running jobs of each group are counted again, if a count is wrong.
func TestVerifyCountsTheFlightsOfGroups(t *testing.T) {
	onServersWith(t, repairing, func(b *bench) {
		b.setGroup("a", protocol.GroupRule{Running: 2})
		b.Enqueue(inGroup("a", "a1"), inGroup("a", "a2"), inGroup("a", "a3"), inGroup("b", "b1"), inGroup("b", "b2"))
		held := b.Take("s", 3)
		b.Verified()
		k := b.keys()
		for group, text := range b.client.HGetAll(b.Context(), k.groups).Val() {
			b.client.HSet(b.Context(), k.groups, group, text[:1]+"7"+text[2:])
		}
		var found []string
		for _, finding := range b.Verify(true) {
			if finding.Kind == protocol.FoundCount {
				found = append(found, finding.ID+": "+finding.Detail)
			}
		}
		slices.Sort(found)
		b.Want("found", strings.Join(found, "; "), "a: its group counts 7 running jobs, but 2 run: it takes too many, or too few; b: its group counts 7 running jobs, but 1 run: it takes too many, or too few")
		b.wantSoundLine("repaired")
		b.Verified()
		for _, job := range held {
			b.Settle("s", storesuite.Done(job))
		}
		b.Want("the others", storesuite.IDs(b.Take("s", 3)), "b2 a3")
		b.wantSoundLine("taken")
	})
}
