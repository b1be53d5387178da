package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// crashed makes jobs look as if their holders had vanished this often.
func (b *bench) crashed(times int, ids ...string) {
	b.Helper()
	b.client.HSet(b.Context(), b.keys().state, "crashed", "1")
	for _, id := range ids {
		b.client.HSet(b.Context(), b.keys().crashes, id, times)
	}
}

// A job whose holders have vanished twice is given to a worker without another such job, and alone. No other job waits for it.
func TestAWorkerIsGivenOneSuspectAtATime(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		past := time.Now().Add(-time.Hour)
		for i, id := range []string{"s1", "s2", "s3"} {
			item := storesuite.Job(id)
			item.At = past.Add(time.Duration(i) * time.Second)
			b.Enqueue(item)
		}
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"))
		b.crashed(2, "s1", "s2", "s3")
		b.crashed(1, "a")
		first := b.Work("one", protocol.WorkCall{Take: 5, Sleep: true})
		b.Want("given first", storesuite.IDs(first.Taken), "s1")
		if !first.Taken[0].Suspect() || !first.More {
			b.Errorf("took %+v, more %v; want a suspect, and more", first.Taken, first.More)
		}
		b.NoSuspects = true
		b.Want("beside it", storesuite.IDs(b.Take("one", 5)), "a b")
		b.NoSuspects = false
		for _, id := range []string{"s2", "s3"} {
			score := b.client.ZScore(b.Context(), b.keys().due, id).Val()
			if wait := time.UnixMilli(int64(score)).Sub(first.Now.Truncate(time.Millisecond)); wait < time.Second || wait > 3*time.Second {
				b.Errorf("%s is due in %v, want in one to two seconds: it must not remain at the head", id, wait)
			}
			b.client.ZAdd(b.Context(), b.keys().due, redisZ(0, id))
		}
		b.Want("given to another worker", storesuite.IDs(b.Take("two", 5)), "s2")
	})
}

// A suspect that comes back to ready delays nothing there.
func TestASuspectInReadyHoldsNothingUp(t *testing.T) {
	for _, order := range []string{"s a b", "a s b", "a b s", "s t a", "a s t"} {
		onEveryServer(t, func(b *bench) {
			var items []protocol.EnqueueItem
			for id := range strings.FieldsSeq(order) {
				items = append(items, storesuite.Job(id))
			}
			b.Enqueue(items...)
			b.crashed(3, "s", "t")
			b.NoSuspects = true
			got := storesuite.IDs(b.Take("holds one", 5))
			b.NoSuspects = false
			seen := map[string]bool{}
			for id := range strings.FieldsSeq(got) {
				if id == "s" || id == "t" {
					b.Errorf("order %s: a second suspect was given: %s", order, got)
				}
				seen[id] = true
			}
			for _, id := range []string{"s", "t"} {
				if strings.Contains(order, id) {
					b.client.ZAddXX(b.Context(), b.keys().due, redisZ(0, id))
				}
			}
			for session := 0; len(seen) < 3; session++ {
				if session > 5 {
					b.Fatalf("order %s: only %v were taken", order, seen)
				}
				taken := b.Take(fmt.Sprint("w", session), 5)
				for _, job := range taken {
					if seen[job.ID] || job.Suspect() && len(taken) > 1 {
						b.Errorf("order %s: took %s after %v", order, storesuite.IDs(taken), seen)
					}
					seen[job.ID] = true
				}
				b.client.ZAddXX(b.Context(), b.keys().due, redisZ(0, "s"), redisZ(0, "t"))
			}
		})
	}
}
