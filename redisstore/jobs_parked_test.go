package redisstore

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
	"github.com/chimejobs/chime/internal/wire"
)

// park enqueues jobs, one for each name, and parks them under the names.
func (b *bench) park(session string, names ...string) {
	b.Helper()
	for chunk := range slices.Chunk(names, 100) {
		var items []protocol.EnqueueItem
		name := map[string]string{}
		for _, n := range chunk {
			items = append(items, storesuite.Job("j-"+n))
			name["j-"+n] = n
		}
		b.Enqueue(items...)
		var settle []protocol.Settlement
		for _, taken := range b.Take(session, len(chunk)) {
			settle = append(settle, protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettlePark, Name: name[taken.ID]})
		}
		if answer := b.Work(session, protocol.WorkCall{Settle: settle}); len(answer.Refused) > 0 {
			b.Fatalf("refused %v", answer.Refused)
		}
	}
}

func numbered(prefix string, from, to int) (names []string) {
	for i := from; i < to; i++ {
		names = append(names, fmt.Sprintf("%s%05d", prefix, i))
	}
	return names
}

// At most a thousand names have a list; jobs of other names are in one, and a worker that handles their names finds them there.
func TestJobsAreParkedUnderAtMostAThousandNames(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		names := numbered("name", 0, 1300)
		b.park("s", names...)
		if n := b.client.ZCard(b.Context(), b.keys().unhandled).Val(); n != 1001 {
			b.Errorf("%d names have a list, want 1000, and one for the others", n)
		}
		if s := b.Stats(); s.Parked != 1300 {
			b.Errorf("%d parked, want 1300", s.Parked)
		}
		for _, handled := range [][]string{{"name00007"}, {"name01234", "sms"}, {"sms"}, {"name00003", "name01100", "name01299"}} {
			want := handled
			if handled[len(handled)-1] == "sms" {
				want = handled[:len(handled)-1]
			}
			session := fmt.Sprint("worker of ", handled)
			var found []string
			for range 60 { // each read of the shared list covers a part of it
				answer := b.Work(session, protocol.WorkCall{Take: 1, ParkedLook: protocol.ParkedLook{Handled: handled}})
				for len(answer.Parked) > 0 && answer.Err == nil {
					answer = b.Work(session, protocol.WorkCall{Take: 10, Serve: answer.Parked})
					for _, taken := range answer.Taken {
						found = append(found, taken.ID[2:])
						if taken.ParkedAt.IsZero() {
							b.Errorf("%s has no instant since which it is parked", taken.ID)
						}
					}
				}
				if len(found) >= len(want) && len(want) > 0 {
					break
				}
			}
			slices.Sort(found)
			b.Want("found by a worker that handles "+fmt.Sprint(handled), fmt.Sprint(found), fmt.Sprint(want))
		}
		if s := b.Stats(); s.Parked != 1295 {
			b.Errorf("%d parked, want 1295", s.Parked)
		}
	})
}

// A worker looks up its names when something was parked since its last look-up, and only then.
func TestTheMarkChangesWhenAListBegins(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		mark := func() int64 { return b.Work("look", protocol.WorkCall{Take: 1}).ParkedMark }
		if m := mark(); m != 0 {
			b.Errorf("mark %d, but nothing is parked", m)
		}
		b.park("s", "mail")
		first := mark()
		if first == 0 {
			b.Fatal("no mark, but a job is parked")
		}
		b.Enqueue(storesuite.Job("more"))
		taken := b.Take("s", 1)
		b.Settle("s", protocol.Settlement{ID: "more", Fence: taken[0].Fence, Kind: protocol.SettlePark, Name: "mail"})
		if m := mark(); m != first {
			b.Errorf("mark %d after another job of the same name, want %d as before", m, first)
		}
		b.park("s", "sms")
		second := mark()
		if second == first || second == 0 {
			b.Errorf("mark %d after another name, want another than %d", second, first)
		}
		for range 2 {
			b.Work("s", protocol.WorkCall{Take: 5, Serve: []string{"mail", "sms"}})
		}
		if m := mark(); m != 0 {
			b.Errorf("mark %d, but nothing is parked any more", m)
		}
		if n := b.client.Exists(b.Context(), b.keys().unhandled, b.keys().parked("mail")).Val(); n != 0 {
			b.Errorf("%d keys are left", n)
		}
	})
}

// Parking wakes a sleeping worker that has announced the name, and no other.
func TestParkingWakesASleepingWorkerThatHandlesTheName(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for _, worker := range []string{"w-reports", "w-mail"} {
			handled := []protocol.Handled{{Queue: "default", Name: worker[2:]}}
			if err := b.store.Announce(b.Context(), worker, handled); err != nil {
				b.Fatal(err)
			}
		}
		b.Enqueue(storesuite.Job("1"))
		taken := b.Take("s", 1)
		b.Sleeping("reports")
		b.Sleeping("mail")
		b.Settle("s", protocol.Settlement{ID: "1", Fence: taken[0].Fence, Kind: protocol.SettlePark, Name: "mail"})
		if b.asleepSince("reports").IsZero() || !b.asleepSince("mail").IsZero() {
			b.Error("want the one that handles the name woken, and no other")
		}
	})
}

// A job that is parked again, because the worker that requested it cannot read it, keeps its age.
func TestAJobParkedAgainGrowsOldFromTheFirstTime(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.park("s", "mail")
		long := time.Now().Add(-time.Hour).Truncate(time.Millisecond).UTC()
		b.client.ZAdd(b.Context(), b.keys().parked("mail"), redisZ(float64(long.UnixMilli()), "j-mail"))
		taken := b.Work("s", protocol.WorkCall{Take: 1, Serve: []string{"mail"}}).Taken[0]
		if !taken.ParkedAt.Equal(long) {
			b.Errorf("parked at %v, want %v", taken.ParkedAt, long)
		}
		b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettlePark, Name: "~mail", ParkedAt: taken.ParkedAt})
		if score := b.client.ZScore(b.Context(), b.keys().parked("~mail"), "j-mail").Val(); int64(score) != long.UnixMilli() {
			b.Errorf("parked again at %v, want %v", int64(score), long.UnixMilli())
		}
		if score := b.client.ZScore(b.Context(), b.keys().unhandled, "~mail").Val(); int64(score) != long.UnixMilli() {
			b.Errorf("the name has parked jobs since %v, want %v: a sweep finds it by that", int64(score), long.UnixMilli())
		}
	})
}

// The lists of parked names that an older version kept in state are found.
func TestNamesParkedByAnOlderVersionAreAdopted(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.client.HSet(b.Context(), b.keys().jobs, "old", "\x01old")
		b.client.ZAdd(b.Context(), b.keys().parked("mail"), redisZ(1000, "old"))
		b.client.HSet(b.Context(), b.keys().state, "parked", "mail report", "layout", "1")
		answer := b.Work("s", protocol.WorkCall{Take: 1, ParkedLook: protocol.ParkedLook{Handled: []string{"mail", "sms"}}})
		b.Want("found", fmt.Sprint(answer.Parked), "[mail]")
		b.Want("served", storesuite.IDs(b.Work("s", protocol.WorkCall{Take: 5, Serve: answer.Parked}).Taken), "old")
	})
}

// The field of state for parked jobs may be lost with state. The sweep writes it again, and the jobs are found.
func TestParkedJobsAreFoundAgainAfterTheStateWasLost(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.park("s", "mail", "sms")
		before := b.client.HGet(b.Context(), b.keys().state, "parked").Val()
		if err := b.client.Del(b.Context(), b.keys().state).Err(); err != nil {
			b.Fatal(err)
		}
		if _, err := b.sweep(); err != nil {
			b.Fatal(err)
		}
		if again := b.client.HGet(b.Context(), b.keys().state, "parked").Val(); again == "" || again == before {
			b.Errorf("parked is %q after the sweep, was %q; want another mark", again, before)
		}
		answer := b.Work("t", protocol.WorkCall{Take: 5, ParkedLook: protocol.ParkedLook{Handled: []string{"mail"}}})
		b.Want("served", storesuite.IDs(b.Work("t", protocol.WorkCall{Take: 5, Serve: answer.Parked}).Taken), "j-mail")
	})
}

// When the last job leaves a list of parked jobs, its name leaves the names with parked jobs, and with the last name the mark is
// removed.
func TestTheLastParkedJobTakesItsListAlong(t *testing.T) {
	for name, act := range map[string]func(b *bench){
		"cancelled": func(b *bench) { b.Cancel("a") },
		"deleted":   func(b *bench) { b.bulk(b.store.DeleteJobs(b.Context(), "default", []string{"a"})) },
		"requeued":  func(b *bench) { b.requeue(protocol.RequeuedJob{ID: "a"}) },
		"replaced": func(b *bench) {
			if _, err := b.store.Replace(b.Context(), protocol.ReplaceCall{Partition: storesuite.DefaultPartition, Token: "t", Item: storesuite.Own("a")}); err != nil {
				b.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.Enqueue(storesuite.Own("a"))
				b.Settle("s", protocol.Settlement{ID: "a", Fence: b.Take("s", 1)[0].Fence, Kind: protocol.SettlePark, Name: "mail"})
				b.Want("names with parked jobs", fmt.Sprint(b.client.ZRange(b.Context(), b.keys().unhandled, 0, -1).Val()), "[mail]")
				act(b)
				b.Want("names left", fmt.Sprint(b.client.ZRange(b.Context(), b.keys().unhandled, 0, -1).Val()), "[]")
				b.Want("the mark in state", b.stateField("parked"), "")
			})
		})
	}
}

// However many jobs are parked, a call about one job does not read their shared list: it knows the member by the name in the job's body. Only an
// occurrence without a body may be there under a name that its schedule had before.
func TestACallAboutOneJobDoesNotReadTheSharedListOfParkedJobs(t *testing.T) {
	onServersWith(t, hookedCalls, func(b *bench) {
		scans := 0
		store := b.hooked(func(cmd redis.Cmder) error {
			if cmd.Name() == "zscan" {
				scans++
			}
			return nil
		})
		mail := func(id string) protocol.EnqueueItem {
			return protocol.EnqueueItem{ID: id, Own: true, Body: (&wire.Envelope{Name: "mail", Planned: storesuite.Ago(0)}).Encode()}
		}
		cancel := func(id, want string, reads bool) {
			b.Helper()
			scans = 0
			if _, err := store.CancelJob(b.Context(), "default", id, nil); fmt.Sprint(err == nil) != want || scans > 0 != reads {
				b.Errorf("cancelled %s: %v, and has read %d parts of the list; want %s, and that it reads it: %v", id, err, scans, want, reads)
			}
		}
		b.park("s", numbered("name", 0, 1000)...)
		now := storesuite.Ago(0)
		past, future := storesuite.OccurrenceID("report", now.Add(-time.Minute)), storesuite.OccurrenceID("report", now.Add(time.Hour))
		b.Scheduled("report", "skip", now.Add(-time.Minute), now.Add(time.Hour))
		b.Want("an occurrence", b.parkUnder("s", "earlier"), past)
		for _, id := range []string{"parked", "unreadable", "replaced"} {
			b.Enqueue(mail(id))
			name := "mail"
			if id == "unreadable" {
				name = unreadableParked + name
			}
			b.parkUnder("s", name)
		}
		if n := b.client.ZCard(b.Context(), b.keys().parked(sharedParked)).Val(); n != 4 {
			b.Fatalf("%d jobs are in the shared list, want 4", n)
		}
		b.Enqueue(mail("waiting"))
		for _, id := range []string{"parked", "unreadable", "waiting"} {
			cancel(id, "true", false)
		}
		cancel("parked", "false", false)
		cancel(future, "true", false)
		scans = 0
		how, err := store.Replace(b.Context(), protocol.ReplaceCall{Partition: storesuite.DefaultPartition, Token: "t", Item: mail("replaced")})
		if how != protocol.ReplaceDone || err != nil || scans > 0 {
			b.Errorf("replaced: %v, %v, and has read %d parts of the list", how, err, scans)
		}
		cancel(past, "true", true)
		if b.Stats().Parked != 1000 {
			b.Errorf("%d are parked, want 1000", b.Stats().Parked)
		}
	})
}

// parkUnder takes the next job and parks it under a name.
func (b *bench) parkUnder(session, name string) (id string) {
	b.Helper()
	job := b.Take(session, 1)[0]
	b.Settle(session, protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettlePark, Name: name})
	return job.ID
}
