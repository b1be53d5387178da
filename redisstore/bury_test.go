package redisstore

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// Parts of envelopes that the store reads: withDeath may have an OnDeath, newer is of a newer version, alert follows a death.
const (
	withDeath = "\x01\x93\xa4mail\xc4\x00\xc0 \xa1o"
	newer     = "\x03\x93\xa4mail\xc4\x00\xc0"
	alert     = "\x01\x93\xa5alert\xc4\x00\xc0"
)

// expired parks a job under a name, for a number of retentions.
func (b *bench) expired(id, body, name string, retentions float64) {
	b.Helper()
	k := b.keys()
	since := float64(time.Now().UnixMilli()) - retentions*float64(b.store.options.ParkedRetention.Milliseconds())
	if body != "" {
		b.client.HSet(b.Context(), k.jobs, id, body)
	}
	b.client.ZAdd(b.Context(), k.parked(name), redisZ(since, id))
	b.client.ZAddLT(b.Context(), k.unhandled, redisZ(since, name))
	b.client.HSet(b.Context(), k.state, "parked", "1000")
}

// swept sweeps the partition once, and returns the expired jobs with the jobs that follow their deaths.
func (b *bench) swept() (burials []protocol.Burial, answer protocol.SweepAnswer) {
	b.Helper()
	answer = b.store.Sweep(b.Context(), []protocol.Partition{storesuite.DefaultPartition}, 0)[0]
	if answer.Err != nil {
		b.Fatal(answer.Err)
	}
	for _, job := range answer.Expired {
		burials = append(burials, protocol.Burial{ExpiredJob: job, Dead: []byte("\x01dead"), Follower: &protocol.Follower{Body: []byte(alert)}})
	}
	return burials, answer
}

func (b *bench) bury(burials []protocol.Burial) int {
	b.Helper()
	n, err := b.store.Bury(b.Context(), storesuite.DefaultPartition, burials)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// members returns the IDs in a sorted set or a list, in order.
func (b *bench) members(key string) []string {
	b.Helper()
	if kind := b.client.Type(b.Context(), key).Val(); kind == "list" {
		return b.client.LRange(b.Context(), key, 0, -1).Val()
	}
	all := b.client.ZRange(b.Context(), key, 0, -1).Val()
	slices.Sort(all)
	return all
}

// With any number of simultaneous sweeps and repeated calls, a parked job whose retention has passed dies once, and the job that follows its
// death is added once, before the waiting ones.
func TestAParkedJobIsBuriedOnceWithWhatFollowsItsDeath(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("first"))
		held := b.Take("s", 1)[0]
		b.Enqueue(storesuite.Job("waits"))
		b.expired("asks", withDeath, "mail", 1.1)
		b.expired("plain", "\x01\x93\xa4mail\xc4\x00\xc0", "mail", 1.2)
		b.expired("young", withDeath, "mail", 0.9)
		b.client.HSet(b.Context(), b.keys().crashes, "asks", "2")
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				answer := b.store.Sweep(b.Context(), []protocol.Partition{storesuite.DefaultPartition}, 0)[0]
				for _, job := range answer.Expired {
					if job.ID != "asks" || string(job.Body) != withDeath || job.Definition != nil || job.Crashes != 2 || answer.More || answer.MoreExpired || time.Since(answer.Now).Abs() > time.Hour {
						b.Errorf("the sweep answers %+v", answer)
					}
					burial := protocol.Burial{ExpiredJob: job, Dead: []byte("\x01dead"), Follower: &protocol.Follower{Body: []byte(alert)}}
					for range 2 {
						if _, err := b.store.Bury(b.Context(), storesuite.DefaultPartition, []protocol.Burial{burial}); err != nil {
							b.Error(err)
						}
					}
				}
			})
		}
		all.Wait()
		b.Want("dead", fmt.Sprint(b.members(b.keys().dead)), "[asks plain]")
		b.Want("parked", fmt.Sprint(b.members(b.keys().parked("mail"))), "[young]")
		b.Want("crashes", fmt.Sprint(b.client.HGetAll(b.Context(), b.keys().crashes).Val()), "map[]")
		b.Want("the dead job", b.client.HGet(b.Context(), b.keys().jobs, "asks").Val(), "\x01dead")
		taken := b.Take("s", 5)
		if len(taken) != 2 || taken[1].ID != "waits" || string(taken[0].Body) != alert {
			b.Fatalf("taken %+v, want the job that follows the death, and then the waiting ones", taken)
		}
		var fence int64
		if n, err := fmt.Sscanf(taken[0].ID, "asks#dead-%d", &fence); n != 1 || err != nil || fence <= held.Fence || taken[0].Fence <= fence {
			b.Errorf("the job that follows the death has the ID %s; want a fence after %d and before %d, which takes it", taken[0].ID, held.Fence, taken[0].Fence)
		}
	})
}

// A job that was requeued, changed or deleted since it was read is skipped, and so is an occurrence whose definition was changed.
func TestABurialNeedsTheJobAsItWasRead(t *testing.T) {
	for name, act := range map[string]func(b *bench, id string){
		"requeued": func(b *bench, id string) {
			if became, err := b.store.RequeueJobs(b.Context(), "default", []protocol.RequeuedJob{{ID: id}}); err != nil || became[0] != protocol.ChangeDone {
				b.Fatal(became, err)
			}
		},
		"deleted": func(b *bench, id string) {
			if became, err := b.store.DeleteJobs(b.Context(), "default", []string{id}); err != nil || became[0] != protocol.ChangeDone {
				b.Fatal(became, err)
			}
		},
		"changed": func(b *bench, id string) {
			if id == "j" {
				b.client.HSet(b.Context(), b.keys().jobs, id, withDeath+"!")
			} else {
				b.Declare("s", "allow", `{"version":1,"job":"mail","onDeath":{"job":"page"}}`)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { nothingIsBuriedAfter(t, act) })
	}
}

// The age of a job that was run and parked again since it was read starts again.
func TestAJobThatWasParkedAgainIsNotBuried(t *testing.T) {
	nothingIsBuriedAfter(t, func(b *bench, id string) {
		b.client.ZAdd(b.Context(), b.keys().parked("mail"), redisZ(float64(time.Now().UnixMilli()), id))
	})
}

// nothingIsBuriedAfter changes a job and an occurrence between their sweep and their burial; the burial must not change them.
func nothingIsBuriedAfter(t *testing.T, act func(b *bench, id string)) {
	onEveryServer(t, func(b *bench) {
		b.created("s", `{"version":1,"job":"mail","onDeath":{"job":"alert"}}`)
		occurrence := storesuite.OccurrenceID("s", storesuite.Ago(time.Hour))
		b.expired("j", withDeath, "mail", 1.5)
		b.expired(occurrence, "", "mail", 1.5)
		burials, _ := b.swept()
		if len(burials) != 2 {
			b.Fatalf("the sweep returns %+v, want both", burials)
		}
		for _, id := range []string{"j", occurrence} {
			act(b, id)
		}
		stand := func() string {
			k := b.keys()
			return fmt.Sprint(b.members(k.dead), b.members(k.ready), b.members(k.parked("mail")), b.client.HGetAll(b.Context(), k.jobs).Val())
		}
		before := stand()
		if n := b.bury(burials); n != 0 {
			b.Errorf("%d were buried, want none", n)
		}
		b.Want("jobs after the burial", stand(), before)
	})
}

// created declares a schedule as if it had been created long ago.
func (b *bench) created(name, body string) {
	b.Helper()
	h, _ := parseHead(string(b.Declare(name, "allow", body).Stored))
	h.created = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	b.client.HSet(b.Context(), b.keys().schedules, name, h.withState("live"))
}

// After damage a job may be parked in two lists, or also be dead. It still dies once.
func TestAJobThatIsParkedTwiceDiesOnce(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for range 2 {
			b.expired("twice", withDeath, "mail", 1.5)
			b.expired("twice", withDeath, "sms", 1.5)
			burials, _ := b.swept()
			for i := range burials {
				burials[i].Dead = nil // the dead job has its OnDeath
			}
			b.bury(burials)
		}
		if ready := b.members(b.keys().ready); len(ready) != 1 {
			b.Errorf("%v wait, want the job that follows one death", ready)
		}
		b.Want("dead", fmt.Sprint(b.members(b.keys().dead)), "[twice]")
	})
}

// Any number of jobs that remain parked because they cannot be read here hide no others, and the rest of the sweep finishes.
func TestJobsThatWaitForANewerVersionHideNoOthers(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		pipe := b.client.Pipeline()
		since := float64(time.Now().Add(-b.store.options.ParkedRetention * 3 / 2).UnixMilli())
		for i := range 700 {
			pipe.HSet(b.Context(), b.keys().jobs, fmt.Sprint("newer", i), newer)
			pipe.ZAdd(b.Context(), b.keys().parked("mail"), redisZ(since, fmt.Sprint("newer", i)))
		}
		for i := range 30 {
			pipe.HSet(b.Context(), b.keys().jobs, fmt.Sprint("of name", i), newer)
			pipe.ZAdd(b.Context(), b.keys().parked(fmt.Sprint("name", i)), redisZ(since, fmt.Sprint("of name", i)))
			pipe.ZAdd(b.Context(), b.keys().unhandled, redisZ(since, fmt.Sprint("name", i)))
		}
		if _, err := pipe.Exec(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.expired("asks", withDeath, "mail", 1.1)
		b.expired("other", withDeath, "zebra", 1.1)
		b.expired("plain", "\x01\x93\xa4mail\xc4\x00\xc0", "mail", 1.1)
		found, swept := map[string]bool{}, 0
		for len(found) < 2 || len(b.members(b.keys().dead)) == 0 {
			burials, answer := b.swept()
			for _, burial := range burials {
				found[burial.ID] = true
			}
			if !answer.More {
				swept++
			}
			if !answer.MoreExpired || swept > 200 {
				b.Fatalf("after %d sweeps %v are found, %v are dead, and others that were not read: %v", swept, found, b.members(b.keys().dead), answer.MoreExpired)
			}
		}
		if at := b.client.HGet(b.Context(), b.keys().state, "swept").Val(); at == "" || swept == 0 {
			b.Errorf("swept at %q, %d sweeps had no more to do; want the end of one", at, swept)
		}
	})
}

// The dead set keeps its limit, and a sleeping worker is woken for the job that follows a death if it may start.
func TestABurialKeepsTheBoundsOfTheQueue(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(b *bench)
		wakes   bool
	}{
		"free": {func(*bench) {}, true},
		"paused": {func(b *bench) {
			if err := b.store.PauseQueue(b.Context(), "default", true, protocol.Note{}); err != nil {
				b.Fatal(err)
			}
		}, false},
		"as many run as may": {func(b *bench) { b.Limit(protocol.QueueLimit{Running: 1}) }, false},
		"one more may run":   {func(b *bench) { b.Limit(protocol.QueueLimit{Running: 2}) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.store.options.MaxDead = 3
				b.client.ZAdd(b.Context(), b.keys().dead, redisZ(float64(storesuite.Ago(2*time.Minute).UnixMilli()), "d1"), redisZ(float64(storesuite.Ago(time.Minute).UnixMilli()), "d2"))
				b.client.HSet(b.Context(), b.keys().jobs, "d1", "\x01d1", "d2", "\x01d2")
				b.expired("a", withDeath, "mail", 1.5)
				b.expired("b", withDeath, "mail", 1.5)
				b.Enqueue(storesuite.Job("runs"))
				b.Take("s", 1)
				c.prepare(b)
				b.Sleeping("sleeper")
				burials, _ := b.swept()
				b.bury(burials)
				b.Want("dead", fmt.Sprint(b.members(b.keys().dead)), "[a b d2]")
				if b.client.HExists(b.Context(), b.keys().jobs, "d1").Val() {
					b.Error("the envelope of a job that is not among the dead any more is there")
				}
				if woken := b.asleepSince("sleeper").IsZero(); woken != c.wakes {
					b.Errorf("a sleeping worker was woken: %v, want %v", woken, c.wakes)
				}
			})
		})
	}
}

// The mark of a schedule that has moved remains as long as a burial needs it.
func TestAMarkRemainsForABurial(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		k := b.keys()
		for _, name := range []string{"moved", "gone"} {
			b.created(name, `{"version":1,"job":"mail","onDeath":{"job":"alert"}}`)
			text := b.client.HGet(b.Context(), k.schedules, name).Val()
			b.client.HSet(b.Context(), k.schedules, name, strings.Replace(text, `"live"`, `"moved to mail"`, 1))
			b.client.ZRem(b.Context(), k.owed, name)
			b.client.ZAdd(b.Context(), k.gone, redisZ(1000, name))
		}
		b.expired(storesuite.OccurrenceID("moved", storesuite.Ago(time.Hour)), "", "mail", 1.5)
		burials, _ := b.swept()
		b.Want("marks beside a burial", fmt.Sprint(b.members(k.gone)), "[moved]")
		if n := b.bury(burials); n != 1 {
			b.Errorf("%d were buried, want 1", n)
		}
		b.swept()
		b.Want("marks after the burial", fmt.Sprint(b.members(k.gone), b.client.HKeys(b.Context(), k.schedules).Val()), "[] []")
	})
}
