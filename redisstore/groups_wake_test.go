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
				burials[i].Follower = nil
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
				continue // it publishes the instant as an alarm, and the worker sleeps on: see TestABurialPublishesWhenAGroupStartsNext
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

// If the group of a buried blocker may start its next job only when its starts permit it, a sleeping worker gets that instant as an alarm.
func TestABurialPublishesWhenAGroupStartsNext(t *testing.T) {
	onServersWith(t, listening, func(b *bench) {
		const per = 10 * time.Second // a later instant is published to nobody
		b.setRule("a", "0 0 1 10000 1 0 0")
		b.Enqueue(inGroup("a", "a1"), inGroup("a", "a2"))
		flying := b.Work("s", protocol.WorkCall{Take: 5})
		b.Want("taken", storesuite.IDs(flying.Taken), "a1")
		b.Settle("s", protocol.Settlement{ID: "a1", Fence: flying.Taken[0].Fence, Kind: protocol.SettleLater, Delay: time.Hour})
		b.client.ZRem(b.Context(), b.keys().due, "a1")
		b.expired("a1", withDeath, "mail", 1.5)
		burials, _ := b.swept()
		for i := range burials {
			burials[i].Follower = nil
		}
		listener := b.store.Listen("w-sleeper")
		defer listener.Close()
		receive(b, listener, func(s protocol.Signal) bool { return s.Connected })
		b.Sleeping("sleeper")
		b.Want("buried", fmt.Sprint(b.bury(burials)), "1")
		at := receive(b, listener, func(s protocol.Signal) bool { return !s.Alarm.IsZero() }).Alarm
		if in := at.Sub(flying.Now); in < per-time.Second || in > per+time.Millisecond {
			b.Errorf("the alarm is in %v, want the instant of the next start", in)
		}
		if b.asleepSince("sleeper").IsZero() {
			b.Error("it was woken instead")
		}
	})
}

// A repair by Verify that lets a job start wakes a sleeping worker, as the call would have whose change was lost.
func TestARepairThatLetsAJobStartWakesASleeper(t *testing.T) {
	for what, damage := range map[string]func(b *bench){
		"records of groups": func(b *bench) {
			b.Enqueue(inGroup("a", "a1"))
			b.client.Del(b.Context(), b.keys().places, b.keys().groups, b.keys().turns)
			b.client.HDel(b.Context(), b.keys().state, "groups")
		},
		"flag of groups": func(b *bench) {
			b.Enqueue(inGroup("a", "a1"))
			b.client.HDel(b.Context(), b.keys().state, "groups")
		},
		"count of flights": func(b *bench) {
			b.setRule("a", "0 2 0 0 0 0 0")
			b.Enqueue(inGroup("a", "a1"), inGroup("a", "a2"), inGroup("a", "a3"))
			b.Take("s", 2)
			b.Take("other", 1)
			b.client.HDel(b.Context(), b.keys().inflight("s"), "a2")
			b.client.HDel(b.Context(), b.keys().places, "a2")
			b.client.HDel(b.Context(), b.keys().jobs, "a2")
		},
		"blocker that does not exist": func(b *bench) {
			b.setRule("a", "0 0 0 0 1 0 0")
			b.Enqueue(inGroup("a", "a1"), inGroup("a", "a2"))
			first := b.Take("s", 1)[0]
			b.Settle("s", protocol.Settlement{ID: "a1", Fence: first.Fence, Kind: protocol.SettleLater, Delay: time.Hour})
			b.client.ZRem(b.Context(), b.keys().due, "a1")
			b.client.HDel(b.Context(), b.keys().jobs, "a1")
		},
		"place of a job of a group": func(b *bench) {
			b.Enqueue(inGroup("a", "a1"))
			b.client.Del(b.Context(), b.keys().line)
		},
		"place of a job": func(b *bench) {
			b.Enqueue(storesuite.Job("plain"))
			b.client.Del(b.Context(), b.keys().ready)
		},
	} {
		t.Run(what, func(t *testing.T) {
			onServersWith(t, repairing, func(b *bench) {
				damage(b)
				b.Sleeping("sleeper")
				if b.asleepSince("sleeper").IsZero() {
					b.Fatal("it does not sleep")
				}
				b.Verify(true)
				if !b.asleepSince("sleeper").IsZero() {
					b.Error("the sleeper was not woken")
				}
				b.wantSoundLine("repaired")
			})
		})
	}
}
