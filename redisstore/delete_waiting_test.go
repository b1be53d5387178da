package redisstore

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// Among thousands of jobs, those of the schedule are deleted in steps, wherever they wait, and the others remain.
func TestDeleteWaitingGoesInStepsAndLeavesOthers(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Scheduled("s", "allow", storesuite.Ago(time.Minute))
		b.Scheduled("s2", "allow", storesuite.Ago(time.Minute))
		flying := b.Take("w", 9)
		k := b.keys()
		const each = 1300
		base := storesuite.Ago(0)
		var bodies, ready []any
		var due, dead, parked []redis.Z
		for i := range each {
			for place, name := range []string{"s", "s2", "x@s"} {
				id := func(n int) string {
					return storesuite.OccurrenceID(name, base.Add(-time.Duration(10000+4*each*place+4*i+n)*time.Second))
				}
				for n := range 4 {
					bodies = append(bodies, id(n), "\x01body")
				}
				due = append(due, redisZ(9e12, id(0)))
				ready = append(ready, id(1))
				dead = append(dead, redisZ(9e12, id(2)))
				parked = append(parked, redisZ(9e12, id(3)))
			}
		}
		pipe := b.client.Pipeline()
		pipe.HSet(b.Context(), k.jobs, bodies...)
		pipe.ZAdd(b.Context(), k.due, due...)
		pipe.RPush(b.Context(), k.ready, ready...)
		pipe.ZAdd(b.Context(), k.dead, dead...)
		pipe.ZAdd(b.Context(), k.parked("j"), parked...)
		pipe.ZAdd(b.Context(), k.unhandled, redisZ(9e12, "j"), redisZ(9e12, sharedParked))
		pipe.ZAdd(b.Context(), k.parked(sharedParked), redisZ(9e12, "name\t"+storesuite.OccurrenceID("s", base.Add(-9000*time.Second))))
		pipe.HSet(b.Context(), k.jobs, storesuite.OccurrenceID("s", base.Add(-9000*time.Second)), "\x01body")
		if _, err := pipe.Exec(b.Context()); err != nil {
			b.Fatal(err)
		}
		if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s", Waiting: true}); err != nil {
			b.Fatal(err)
		}
		for key, want := range map[string]int64{k.due: 2 * each, k.dead: 2 * each, k.parked("j"): 2 * each, k.unhandled: 1} {
			if n := b.client.ZCard(b.Context(), key).Val(); n != want {
				b.Errorf("%s has %d members, want %d", key, n, want)
			}
		}
		if n := b.client.HLen(b.Context(), k.jobs).Val(); n != 8*each {
			b.Errorf("%d bodies, want %d", n, 8*each)
		}
		for done := false; !done; {
			taken := b.Take("w2", 500)
			for _, job := range taken {
				if name, _, _ := protocol.CutOccurrence(job.ID); name == "s" {
					b.Fatalf("%s was taken after it was deleted", job.ID)
				}
			}
			done = b.client.LLen(b.Context(), k.ready).Val() == 0
		}
		var ended []protocol.Settlement
		for _, job := range flying {
			ended = append(ended, protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleDone})
		}
		if answer := b.Work("w", protocol.WorkCall{Settle: ended}); len(answer.Refused) > 0 || len(ended) != 2 {
			b.Errorf("refused %v of %d that ran, want none of 2", answer.Refused, len(ended))
		}
	})
}
