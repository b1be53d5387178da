package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A worker sleeps beside an ordered group whose blocker waits for its next attempt. Each call that ends the blocker wakes this worker, whether the next job
// may start now, or only when the starts of the group permit it: then the worker must learn the new instant.
func TestEachEndOfABlockerWakesASleeper(t *testing.T) {
	const blocker = "s#a1" // the ID of a manual run of schedule s
	expires := func(b *bench, body string) {
		b.client.ZRem(b.Context(), b.keys().due, blocker)
		b.expired(blocker, body, "mail", 1.5)
	}
	ends := map[string]func(b *bench){
		"cancel": func(b *bench) { b.Want("cancelled", b.Cancel(blocker), "done") },
		"delete": func(b *bench) {
			b.Want("deleted", b.bulk(b.store.DeleteJobs(b.Context(), "default", []string{blocker})), "e")
		},
		"purge": func(b *bench) {
			place := b.client.HGet(b.Context(), b.keys().places, blocker).Val()
			b.client.ZRem(b.Context(), b.keys().due, blocker)
			b.client.ZAdd(b.Context(), b.keys().purgedline, redisZ(0, fmt.Sprintf("a\t%.16s\t%s", place, blocker)))
			if _, err := b.store.finishPurge(b.Context(), storesuite.DefaultPartition); err != nil {
				b.Fatal(err)
			}
		},
		"retention": func(b *bench) {
			expires(b, "")
			b.swept()
		},
		"burial": func(b *bench) {
			expires(b, withDeath)
			burials, _ := b.swept()
			for i := range burials {
				burials[i].OnDeath = nil
			}
			b.bury(burials)
		},
		"deletion of its schedule": func(b *bench) {
			if err := b.store.deleteWaiting(b.Context(), "s", []string{"default"}); err != nil {
				b.Fatal(err)
			}
		},
	}
	for what, end := range ends {
		for rule, startable := range map[string]bool{"0 0 0 0 1 0 0": true, "0 0 1 10000 1 0 0": false} {
			if what == "burial" && !startable {
				continue // it publishes the instant as an alarm, and the worker sleeps on
			}
			t.Run(fmt.Sprint(what, ", may start now: ", startable), func(t *testing.T) {
				onEveryServer(t, func(b *bench) {
					b.setRule("a", rule)
					run := inGroup("a", blocker)
					run.Body = []byte(manualBodies("s")[0])
					b.Enqueue(run, inGroup("a", "a2"))
					flying := b.Take("s", 5)
					b.Want("taken", storesuite.IDs(flying), blocker)
					b.Settle("s", protocol.Settlement{ID: blocker, Fence: flying[0].Fence, Kind: protocol.SettleLater, Delay: time.Hour})
					b.Sleeping("sleeper")
					end(b)
					b.wantSoundLine(what)
					opens := b.client.ZCard(b.Context(), b.keys().opens).Val()
					if startable != (opens == 0) {
						b.Fatalf("%d groups wait for their next start", opens)
					}
					if !b.asleepSince("sleeper").IsZero() {
						b.Error("the sleeper was not woken")
					}
				})
			})
		}
	}
}
