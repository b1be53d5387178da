package redisstore

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/storesuite"
	"github.com/chimejobs/chime/internal/wire"
)

// With any amount of old data in any place, one call touches at most 500 items and reports whether more remain.
func TestACallSweepsAtMost500Items(t *testing.T) {
	for _, c := range []struct {
		name                string
		dead, parked, marks int // old ones; parked on each of three names
		want                []int
	}{
		{"nothing", 0, 0, 0, []int{0}},
		{"exactly one call's", 500, 0, 0, []int{500}},
		{"one more", 501, 0, 0, []int{500, 1}},
		{"one call's and a mark", 500, 0, 1, []int{500, 1}},
		{"one call's and some parked", 500, 1, 0, []int{500, 3}},
		{"parked under three names", 0, 400, 0, []int{500, 500, 200}},
		{"marks", 0, 0, 700, []int{500, 200}},
		{"of everything", 300, 100, 150, []int{500, 250}},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.store.options.MaxDead = 5000
				keys := b.keys()
				old := func(key string, n int) {
					for i := range n {
						b.client.ZAdd(b.Context(), key, redisZ(1000, fmt.Sprintf("%d of %s", i, key)))
					}
				}
				old(keys.dead, c.dead)
				old(keys.gone, c.marks)
				lists := []string{keys.parked("mail"), keys.parked("report"), keys.parked("sms")}
				for i, list := range lists {
					old(list, c.parked)
					b.client.ZAdd(b.Context(), keys.unhandled, redisZ(1000, []string{"mail", "report", "sms"}[i]))
				}
				b.client.HSet(b.Context(), keys.state, "parked", "1000")
				left := func() (n int64) {
					for _, key := range append(lists, keys.gone) {
						n += b.client.ZCard(b.Context(), key).Val()
					}
					return n + b.client.ZCount(b.Context(), keys.dead, "-inf", "1000").Val()
				}
				for i, want := range c.want {
					before := left()
					more, err := b.sweep()
					if swept := before - left(); err != nil || swept != int64(want) || more != (i < len(c.want)-1) {
						b.Errorf("call %d swept %d, more %v, error %v; want %d", i+1, swept, more, err, want)
					}
				}
				b.Want("names with parked jobs", fmt.Sprint(b.client.ZRange(b.Context(), keys.unhandled, 0, -1).Val()), "[]")
				b.Want("mark", b.client.HGet(b.Context(), keys.state, "parked").Val(), "")
				if n := b.client.ZCount(b.Context(), keys.dead, "(1000", "+inf").Val(); n != int64(3*c.parked) {
					b.Errorf("%d dead that were parked, want %d", n, 3*c.parked)
				}
			})
		})
	}
}

// Marks of incomplete moves remain, and do not cause sweep after sweep.
func TestMarksOfMovesThatAreNotDoneAreNoMoreToSweep(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		keys := b.keys()
		for i := range 600 {
			old := redis.Z{Score: 1000, Member: fmt.Sprint("s", i)}
			b.client.ZAdd(b.Context(), keys.gone, old)
			b.client.ZAdd(b.Context(), keys.owed, old)
		}
		if more, err := b.sweep(); more || err != nil {
			b.Errorf("more %v, error %v; want no more", more, err)
		}
		if n := b.client.ZCard(b.Context(), keys.gone).Val(); n != 600 {
			b.Errorf("%d marks are left, want all 600", n)
		}
	})
}

func TestSweepKeepsTheNewestDeadJobsAndBuriesOldParkedOnes(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.store.options.MaxDead = 2
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"), storesuite.Job("c"), storesuite.Job("d"))
		taken := b.Take("s", 4)
		var settled []protocol.Settlement
		for _, j := range taken {
			settled = append(settled, protocol.Settlement{ID: j.ID, Fence: j.Fence, Kind: protocol.SettleDead, Body: j.Body})
		}
		settled[3].Kind, settled[3].Name = protocol.SettlePark, "mail"
		b.Work("s", protocol.WorkCall{Settle: settled})
		if _, err := b.sweep(); err != nil {
			b.Fatal(err)
		}
		if s := b.Stats(); s.Dead != 2 || s.Parked != 1 {
			b.Errorf("stats %+v, want the 2 newest dead and 1 parked", s)
		}
		b.client.ZAdd(b.Context(), b.keys().parked("mail"), redisZ(1000, "d"))
		b.client.ZAdd(b.Context(), b.keys().unhandled, redisZ(1000, "mail"))
		if _, err := b.sweep(); err != nil {
			b.Fatal(err)
		}
		if dead := b.client.ZRange(b.Context(), b.keys().dead, 0, -1).Val(); fmt.Sprint(dead) != "[c d]" || b.Stats().Parked != 0 {
			b.Errorf("dead %v, stats %+v; want the parked one dead, and an older one removed", dead, b.Stats())
		}
	})
}

// In any envelope the sweep changes only the last error and the stack. It does not change an envelope that it cannot read.
func TestASweepSaysWhyAParkedJobDied(t *testing.T) {
	whole := wire.Envelope{
		Name: "mail", Payload: make([]byte, 3000), Planned: time.UnixMilli(1_800_000_000_000).UTC(), MaxAttempts: 300, Timeout: time.Hour, Failures: 2, Schedule: "s",
		LastError: strings.Repeat("no bank ", 40), Stack: strings.Repeat("main.go:1\n", 30), Details: &wire.Details{Keep: time.Hour},
	}
	onEveryServer(t, func(b *bench) {
		want := map[string]wire.Envelope{}
		e := whole
		for i, less := range []func(){
			func() {}, func() { e.Details = nil }, func() { e.Stack = "" }, func() { e.LastError = "" }, func() { e.Schedule = "" }, func() { e.Failures = 0 },
			func() { e.Timeout = 0 }, func() { e.MaxAttempts = 0 }, func() { e.Planned, e.Payload = time.Time{}, []byte("p") }, func() { e.Details = whole.Details },
		} {
			less()
			id, dead := fmt.Sprint("j", i), e
			b.expired(id, string(e.Encode()), "mail", 1.5)
			dead.LastError, dead.Stack = schedule.NoWorker, ""
			want[id] = dead
		}
		spoilt := []string{"\x01", "\x01\x91\xa4mail", "\x01\x98\xa4mail\xc4\x00\xc0", "\x01\x98\xa4mail\xc4\x00\xc0\x00\x00\x00\xa0\xda\xff", "\x01\x9a\xa4mail\xc5\xff", "\x03\x93\xa4mail\xc4\x00\xc0"}
		for i, body := range spoilt {
			b.expired(fmt.Sprint("spoilt", i), body, "mail", 2.5)
		}
		if _, err := b.sweep(); err != nil {
			b.Fatal(err)
		}
		for id, want := range want {
			got, err := wire.DecodeEnvelope([]byte(b.client.HGet(b.Context(), b.keys().jobs, id).Val()))
			if err != nil || !reflect.DeepEqual(got, want) {
				b.Errorf("%s is %+v, %v\nwant %+v", id, got, err, want)
			}
		}
		for i, body := range spoilt {
			b.Want("a spoilt envelope", b.client.HGet(b.Context(), b.keys().jobs, fmt.Sprint("spoilt", i)).Val(), body)
		}
		b.Want("dead, died, large", fmt.Sprintf("%d %d %s", b.Stats().Dead, b.Stats().Died, b.client.HGet(b.Context(), b.keys().state, "large").Val()), "16 16 1")
	})
}

// A script finds the job that follows a death in every envelope and definition that has it, even if the name or the arguments look like it.
func TestTheSweepFindsEveryJobThatMayHaveAnOnDeath(t *testing.T) {
	details := &wire.Details{OnDeath: []byte(alert), Header: map[string]string{"a": "b"}, Keep: time.Hour}
	declared, err := (&schedule.Spec{JobName: "mail", Details: details}).Declare("s", "default")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := (&schedule.Spec{JobName: "mail"}).Declare("s", "default")
	if err != nil {
		t.Fatal(err)
	}
	envelope := func(d *wire.Details) string {
		return string((&wire.Envelope{Name: "mail", Payload: []byte("p"), Details: d}).Encode())
	}
	onEveryServer(t, func(b *bench) {
		names, n := map[string]string{}, 0
		var wants []string
		for name, c := range map[string]struct {
			body, definition string
			retentions       float64
			want             string
		}{
			"an OnDeath":                      {envelope(details), "", 1.5, "asks"},
			"an OnDeath, and too old":         {envelope(details), "", 2.1, "asks last"},
			"none":                            {envelope(&wire.Details{Keep: time.Hour}), "", 1.5, "dead"},
			"none, and details":               {envelope(nil), "", 1.5, "dead"},
			"a newer version":                 {newer, "", 1.5, "parked"},
			"a newer version, too old":        {newer, "", 2.1, "dead"},
			"nothing":                         {"", "", 1.5, "dead"},
			"a schedule's":                    {"", string(declared.Body), 1.5, "asks"},
			"a schedule's, and too old":       {"", string(declared.Body), 2.1, "asks last"},
			"a newer form, too old":           {"", `{"version":9,"job":"mail"}`, 2.1, "dead"},
			"a schedule without one":          {"", string(plain.Body), 1.5, "dead"},
			"a newer form of a definition":    {"", `{"version":9,"job":"mail"}`, 1.5, "parked"},
			"an envelope of a schedule's job": {envelope(nil), string(declared.Body), 1.5, "dead"},
		} {
			n++
			id := fmt.Sprint("j", n)
			if c.definition != "" {
				schedule := fmt.Sprint("s", n)
				b.created(schedule, c.definition)
				id = storesuite.OccurrenceID(schedule, storesuite.Ago(time.Hour))
			}
			b.expired(id, c.body, "mail", c.retentions)
			names[id], wants = name, append(wants, name+": "+c.want)
		}
		// an earlier schedule of that name had the occurrence: the job that would have followed its death is gone
		b.Declare("later", "allow", string(declared.Body))
		id := storesuite.OccurrenceID("later", storesuite.Ago(time.Hour))
		b.expired(id, "", "mail", 1.5)
		names[id], wants = "a later schedule's", append(wants, "a later schedule's: dead")
		_, answer := b.swept()
		var got []string
		for _, job := range answer.Expired {
			text := names[job.ID] + ": asks"
			if job.Last {
				text += " last"
			}
			got = append(got, text)
			b.client.ZRem(b.Context(), b.keys().parked("mail"), job.ID)
		}
		for _, id := range b.members(b.keys().dead) {
			got = append(got, names[id]+": dead")
		}
		for _, id := range b.members(b.keys().parked("mail")) {
			got = append(got, names[id]+": parked")
		}
		slices.Sort(got)
		slices.Sort(wants)
		if !slices.Equal(got, wants) || answer.More {
			b.Errorf("the sweep found, with more to do %v,\n%s\nwant\n%s", answer.More, strings.Join(got, "\n"), strings.Join(wants, "\n"))
		}
	})
}

// One call returns at most 50 jobs, of about 256 KiB, and reports that there are others. They are buried in one call, from any lists.
func TestASweepReturnsFiftyJobsAtMost(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for i := range 120 {
			b.expired(fmt.Sprint("j", i), withDeath, fmt.Sprint("name", i%3), 1.5)
		}
		b.client.ZAdd(b.Context(), b.keys().unhandled, redisZ(1000, sharedParked))
		b.client.HSet(b.Context(), b.keys().jobs, "shared", withDeath)
		b.client.ZAdd(b.Context(), b.keys().parked(sharedParked), redisZ(float64(storesuite.Ago(10*24*time.Hour).UnixMilli()), "some name\tshared"))
		for _, want := range []int{50, 50, 21, 0} {
			burials, answer := b.swept()
			if len(burials) != want || answer.MoreExpired != (want == 50) || answer.More {
				b.Errorf("%d jobs, others not read %v, more to do %v; want %d jobs", len(burials), answer.MoreExpired, answer.More, want)
			}
			if n := b.bury(burials); n != want {
				b.Errorf("%d buried, want %d", n, want)
			}
		}
		if dead, ready := b.members(b.keys().dead), b.members(b.keys().ready); len(dead) != 121 || len(ready) != 121 || !slices.Contains(dead, "shared") {
			b.Errorf("%d dead, %d wait; want 121 each", len(dead), len(ready))
		}
		b.Want("names with parked jobs", fmt.Sprint(b.members(b.keys().unhandled), b.client.HExists(b.Context(), b.keys().state, "parked").Val()), "[] false")
		large := withDeath + string(make([]byte, 100<<10))
		b.client.HSet(b.Context(), b.keys().state, "large", "1")
		for i := range 8 {
			b.expired(fmt.Sprint("large", i), large, "mail", 1.5)
		}
		if burials, answer := b.swept(); len(burials) != 2 || !answer.MoreExpired {
			b.Errorf("%d jobs of 100 KiB each, others not read %v; want 2", len(burials), answer.MoreExpired)
		}
	})
}

// If there is more to remove than a call may remove, the other duties of a sweep are done too: here it finishes a purge whose caller has vanished.
func TestASweepWithMuchToRemoveFinishesAPurge(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		past := float64(b.serverTime().UnixMilli() - 1)
		for i := range 1200 {
			b.client.ZAdd(b.Context(), b.keys().once, redisZ(past, fmt.Sprint("old", i)))
		}
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"))
		if done, err := b.store.BeginPurge(b.Context(), storesuite.DefaultPartition); err != nil || !done.More {
			b.Fatal(done, err)
		}
		more, err := b.sweep()
		if err != nil || !more {
			b.Fatalf("a sweep: more %v, %v; want more", more, err)
		}
		if b.stateField("purge") != "" || b.client.HLen(b.Context(), b.keys().jobs).Val() != 0 {
			b.Error("the sweep has not finished the purge")
		}
	})
}

// A flood of one kind of old data delays no other kind: each call removes some of all.
func TestASweepRemovesSomeOfEachKind(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		const n = 3000
		b.Enqueue(storesuite.Job("a")) // the queue is in use
		k, ctx := b.keys(), b.Context()
		old := float64(b.clock().Add(-100 * 24 * time.Hour).UnixMilli())
		var dead, kept, once, gone []redis.Z
		for i := range n {
			id := fmt.Sprint("old", i)
			dead, once, gone = append(dead, redisZ(old, "d"+id)), append(once, redisZ(old, "o"+id)), append(gone, redisZ(1000*old, "g"+id))
			kept = append(kept, redisZ(old, "k"+id))
		}
		b.client.ZAdd(ctx, k.dead, dead...)
		b.client.ZAdd(ctx, k.kept, kept...)
		b.client.ZAdd(ctx, k.once, once...)
		b.client.ZAdd(ctx, k.gone, gone...)
		swept := int64(0)
		if _, err := b.store.run(ctx, b.client, b.store.sweepCall(storesuite.DefaultPartition, nil, 0))[0].Result(); err != nil {
			b.Fatal(err)
		}
		for name, key := range map[string]string{"dead jobs": k.dead, "results": k.kept, "records of Once": k.once, "marks": k.gone} {
			left := b.client.ZCard(ctx, key).Val()
			if swept += n - left; n-left < protocol.MaxItems/5 {
				b.Errorf("%s: one call has removed %d, want at least %d", name, n-left, protocol.MaxItems/5)
			}
		}
		if swept > protocol.MaxItems {
			b.Errorf("one call has removed %d items, want at most %d", swept, protocol.MaxItems)
		}
	})
}
