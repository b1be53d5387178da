package redisstore

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// Jobs that belong to a group: scripts/lib/line.lua lists what holds. These tests write the keys, so that each place and each number is known.

// grouped adds a job of a group with this place. where: line, due, dead or parked.
func (b *bench) grouped(where, group string, place int, id string) {
	b.Helper()
	ctx, k := b.Context(), b.keys()
	pipe := b.client.Pipeline()
	pipe.HSet(ctx, k.jobs, id, "\x01"+id)
	pipe.HSet(ctx, k.places, id, fmt.Sprintf("%016d %s", place, group))
	pipe.HSet(ctx, k.state, "layout", "4")
	switch where {
	case "line":
		pipe.ZAdd(ctx, k.line, redisZ(0, fmt.Sprintf("%s\t%016d\t%s", group, place, id)))
	case "due":
		pipe.ZAdd(ctx, k.due, redisZ(float64(b.serverTime().Add(time.Hour).UnixMilli()), id))
	case "dead":
		pipe.ZAdd(ctx, k.dead, redisZ(float64(b.serverTime().UnixMilli()), id))
	case "parked":
		pipe.ZAdd(ctx, k.parked("mail"), redisZ(float64(b.serverTime().UnixMilli()), id))
		pipe.ZAdd(ctx, k.unhandled, redisZ(float64(b.serverTime().UnixMilli()), "mail"))
		pipe.HSet(ctx, k.state, "parked", "1")
	}
	if _, err := pipe.Exec(ctx); err != nil {
		b.Fatal(err)
	}
	if where == "line" && !b.client.HExists(ctx, k.groups, group).Val() {
		tag := fmt.Sprintf("%022d%016d", 0, place)
		b.client.HSet(ctx, k.groups, group, "t0 1 "+tag)
		b.client.ZAdd(ctx, k.turns, redisZ(0, tag+"\t"+group))
	}
	b.client.HSet(ctx, k.state, "groups", fmt.Sprintf("%022d %d 0 1000000000000000 %016d", 0, b.client.ZCard(ctx, k.turns).Val(), place))
}

// lineIDs returns the groups and IDs in line, in order.
func (b *bench) lineIDs() string {
	var all []string
	for _, member := range b.client.ZRange(b.Context(), b.keys().line, 0, -1).Val() {
		parts := strings.Split(member, "\t")
		all = append(all, parts[0]+":"+parts[2])
	}
	return strings.Join(all, " ")
}

// Wherever a job of a group is, it can be cancelled and deleted. In line it leaves nothing behind: an ID that is enqueued again is not mistaken for it.
func TestAJobOfAGroupCanBeDiscarded(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for _, act := range []string{"cancel", "delete"} {
			for _, where := range []string{"line", "due", "dead", "parked"} {
				when := act + " in " + where
				b.grouped(where, "tenant", 7, "x")
				b.grouped("line", "tenant", 8, "next")
				want := string(protocol.ChangeDone)
				var got string
				if act == "cancel" {
					how, err := b.store.CancelJob(b.Context(), "default", "x", nil)
					if err != nil {
						b.Fatal(when, err)
					}
					if got = string(how); where == "dead" {
						want = string(protocol.CancelTooLate)
					}
				} else {
					got = b.bulk(b.store.DeleteJobs(b.Context(), "default", []string{"x"}))
				}
				b.Want(when, got, want)
				b.wantSoundLine(when)
				b.Want("line after "+when, b.lineIDs(), "tenant:next")
				b.Want("marks after "+when, fmt.Sprint(b.members(b.keys().stale)), "[]")
				if got := b.bulk(b.store.DeleteJobs(b.Context(), "default", []string{"x", "next"})); got[len(got)-1:] != "e" {
					b.Errorf("%s: the next job was not deleted: %s", when, got)
				}
				b.wantSoundLine("at the end of " + when)
			}
		}
		b.grouped("line", "tenant", 9, "again")
		b.Want("cancelled", b.Cancel("again"), "done")
		b.Enqueue(storesuite.Own("again"))
		b.wantSoundLine("enqueued again without a group")
		b.Want("taken", storesuite.IDs(b.Take("s", 5)), "again")
	})
}

// A queue is not empty while a job of a group waits, and its deletion removes the keys.
func TestAQueueWithJobsOfGroupsIsNotDeleted(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("first"))
		b.Settle("s", protocol.Settlement{ID: "first", Fence: b.Take("s", 1)[0].Fence, Kind: protocol.SettleDone})
		b.grouped("line", "tenant", 7, "x")
		remains, err := b.store.DeleteQueue(b.Context(), "default")
		if err != nil || remains.Waiting != 1 {
			b.Errorf("deleted with a waiting job of a group: %+v, %v", remains, err)
		}
		b.Want("deleted", b.bulk(b.store.DeleteJobs(b.Context(), "default", []string{"x"})), "e")
	})
}

// A job of a group that is requeued comes before all others of its group, in the given order, and not into ready.
func TestAJobOfAGroupIsRequeuedBeforeTheOthersOfItsGroup(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Own("dead")) // its ID remains in ready, void, when the job of the group comes
		b.Cancel("dead")
		b.grouped("line", "a", 1_000_000_000_000_007, "a1")
		b.grouped("line", "b", 1_000_000_000_000_003, "b1")
		b.grouped("due", "a", 0, "due")
		b.grouped("parked", "a", 1_000_000_000_000_009, "parked")
		b.grouped("dead", "b", 1_000_000_000_000_001, "dead")
		b.grouped("dead", "c", 1_000_000_000_000_002, "alone")
		again := func(id string) protocol.RequeuedJob {
			return protocol.RequeuedJob{ID: id, Read: []byte("\x01" + id), Body: []byte("\x01" + id)}
		}
		b.Want("requeued", b.requeue(protocol.RequeuedJob{ID: "due"}, again("dead"), protocol.RequeuedJob{ID: "parked"}, again("alone"), protocol.RequeuedJob{ID: "a1"}), "eeeen")
		b.Want("line", b.lineIDs(), "a:due a:parked a:a1 b:dead b:b1 c:alone")
		b.wantSoundLine("requeued")
		first := map[string]string{}
		for _, job := range b.Take("s", 9) {
			_, group, _ := strings.Cut(b.client.HGet(b.Context(), b.keys().places, job.ID).Val(), " ")
			first[group] += job.ID + " "
		}
		b.Want("taken", fmt.Sprint(first), "map[a:due parked a1  b:dead b1  c:alone ]")
		b.wantSoundLine("taken")
		b.Want("due, dead, parked", fmt.Sprint(b.members(b.keys().due), b.members(b.keys().dead), b.members(b.keys().parked("mail"))), "[] [] []")
	})
}

// A job without a group that replaces one of a group leaves the group, wherever the replaced one is.
func TestAReplacementLeavesTheGroup(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for _, where := range []string{"line", "due", "dead", "parked"} {
			b.grouped("line", "tenant", 8, "next")
			b.grouped(where, "tenant", 7, "x")
			b.Enqueue(storesuite.Job("before"))
			x := storesuite.Own("x")
			x.Body = []byte("\x01new")
			got, err := b.store.Replace(b.Context(), protocol.ReplaceCall{Partition: storesuite.DefaultPartition, Token: where, Item: x})
			if err != nil || got != protocol.ReplaceDone {
				b.Fatalf("replaced in %s: %v, %v", where, got, err)
			}
			b.wantSoundLine("replaced in " + where)
			b.Want("line", b.lineIDs(), "tenant:next")
			taken := b.Take("s"+where, 5)
			bodies := map[string]string{}
			for _, job := range taken {
				bodies[job.ID] = string(job.Body)
			}
			b.Want("taken after "+where, fmt.Sprintf("%q", bodies), `map["before":"\x01before" "next":"\x01next" "x":"\x01new"]`)
			for _, job := range taken {
				b.Settle("s"+where, protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleDone})
			}
			b.wantSoundLine("at the end of " + where)
		}
	})
}

// Verify knows where jobs of groups wait: it adds none of them to ready a second time, and repairs what is wrong with them in line.
func TestVerifyKnowsTheJobsOfGroups(t *testing.T) {
	onServersWith(t, repairing, func(b *bench) {
		k := b.keys()
		sound := func() {
			for i, where := range []string{"line", "due", "dead", "parked"} {
				b.grouped(where, "tenant", 7+i, where)
			}
			b.grouped("line", "other", 9, "second")
		}
		sound()
		b.Verified()
		for _, c := range []struct {
			what   string
			do     func()
			find   string
			line   string
			places int
		}{
			{"nothing is wrong", func() {}, "", "other:second tenant:line", 5},
			{"line is deleted", func() { b.client.Del(b.Context(), k.line) }, "lost line, lost second", "other:second tenant:line", 5},
			{"a delayed job never had a place", func() {
				b.client.HSet(b.Context(), k.places, "due", "0000000000000000 zzz")
				b.client.ZRem(b.Context(), k.due, "due")
			}, "lost due", "other:second tenant:line zzz:due", 5},
			{"one waits and is delayed", func() { b.client.ZAdd(b.Context(), k.due, redisZ(1e13, "line")) }, "duplicate line", "other:second tenant:line", 5},
			{"one waits in ready too", func() { b.client.RPush(b.Context(), k.ready, "line") }, "duplicate line", "other:second tenant:line", 5},
			{"one has lost its content", func() { b.client.HDel(b.Context(), k.jobs, "line") }, "empty line", "other:second", 4},
			{"its entry is lost", func() { b.client.HDel(b.Context(), k.places, "line") }, "group line", "other:second tenant:line", 5},
			{"its entry cannot be read", func() { b.client.HSet(b.Context(), k.places, "line", "7 tenant") }, "group line", "other:second tenant:line", 5},
			{"an entry cannot be read", func() { b.client.HSet(b.Context(), k.places, "due", "zzz") }, "group due", "other:second tenant:line", 4},
			{"an entry has no job", func() { b.client.HSet(b.Context(), k.places, "none", "0000000000000009 zzz") }, "group none", "other:second tenant:line", 5},
			{"one waits in two groups", func() { b.client.ZAdd(b.Context(), k.line, redisZ(0, "zzz\t0000000000000007\tline")) }, "group line", "other:second tenant:line", 5},
			{"one waits in a group and has none", func() { b.client.ZAdd(b.Context(), k.line, redisZ(0, "zzz\t0000000000000007\tnone")) }, "group none", "other:second tenant:line", 5},
			{"a member is no job", func() { b.client.ZAdd(b.Context(), k.line, redisZ(0, "zzz")) }, "group zzz", "other:second tenant:line", 5},
			{"the flag is lost", func() { b.client.HDel(b.Context(), k.state, "groups") }, "flag groups", "other:second tenant:line", 5},
		} {
			b.client.Del(b.Context(), k.line, k.places, k.groups, k.turns, k.jobs, k.due, k.dead, k.ready, k.parked("mail"), k.unhandled)
			sound()
			c.do()
			var found []string
			for _, finding := range b.Verify(true) {
				found = append(found, finding.Kind+" "+finding.ID)
			}
			slices.Sort(found)
			b.Want("found if "+c.what, strings.Join(slices.Compact(found), ", "), c.find)
			b.Want("line if "+c.what, b.lineIDs(), c.line)
			b.wantSoundLine(c.what)
			if n := b.client.HLen(b.Context(), k.places).Val(); n != int64(c.places) {
				b.Errorf("%s: %d jobs have a group, want %d", c.what, n, c.places)
			}
			b.Want("ready if "+c.what, fmt.Sprint(b.ready()), "[]")
			b.Verified()
		}
	})
}

// The deletion of a schedule with its waiting jobs finds those that belong to groups, wherever they wait.
func TestDeleteWaitingFindsJobsOfGroups(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Scheduled("s", "allow", storesuite.Ago(-time.Hour))
		for i, where := range []string{"line", "due", "dead", "parked"} {
			b.grouped(where, "tenant", 7+i, storesuite.OccurrenceID("s", storesuite.Ago(time.Duration(i+1)*time.Minute)))
		}
		other := storesuite.OccurrenceID("other", storesuite.Ago(time.Minute))
		b.grouped("line", "tenant", 9, other)
		if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s", Waiting: true}); err != nil {
			b.Fatal(err)
		}
		b.Want("line", b.lineIDs(), "tenant:"+other)
		b.Want("places", fmt.Sprint(b.client.HKeys(b.Context(), b.keys().places).Val()), "["+other+"]")
		b.wantSoundLine("deleted")
	})
}

// Jobs of groups count as waiting jobs, in the statistics of a queue and in its samples.
func TestJobsOfGroupsCountAsWaiting(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("plain"), storesuite.Job("void"))
		b.Cancel("void")
		b.grouped("line", "tenant", 7, "x")
		b.grouped("line", "other", 8, "y")
		b.Want("waiting", fmt.Sprint(b.Stats().Waiting), "3")
		b.sampleNow(0)
		b.Want("sampled", b.client.HGet(b.Context(), b.keys().sampled, "#w").Val(), "3")
	})
}

// A purge deletes the jobs of groups that wait, in steps of 500, and leaves those that come after it has begun, or are not waiting.
func TestAPurgeDeletesJobsOfGroups(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		const many = 700
		for i := range many {
			b.grouped("line", fmt.Sprint("tenant", i%7), 100+i, fmt.Sprint("old", i))
		}
		b.grouped("due", "tenant1", 7, "delayed")
		b.Enqueue(storesuite.Job("plain"))
		if _, err := b.store.BeginPurge(b.Context(), storesuite.DefaultPartition); err != nil {
			b.Fatal(err)
		}
		b.grouped("line", "tenant1", 9000, "new")
		b.Want("found while the purge runs", fmt.Sprint(b.Verify(false)), "[]")
		changed, steps := int64(0), 0
		for more := true; more; steps++ {
			answer, err := b.store.PurgeStep(b.Context(), storesuite.DefaultPartition)
			if err != nil {
				b.Fatal(err)
			}
			changed, more = changed+int64(answer.Changed), answer.More
		}
		b.Want("deleted, and in how many steps", fmt.Sprint(changed, steps), fmt.Sprint(many+1, 2))
		b.Want("line", b.lineIDs(), "tenant1:new")
		b.Want("jobs", fmt.Sprint(slices.Sorted(slices.Values(b.client.HKeys(b.Context(), b.keys().jobs).Val()))), "[delayed new]")
		b.Want("purged", b.stateField("purge"), "")
		b.wantSoundLine("purged")
		b.Want("cancelled", b.Cancel("new"), "done")
		b.Want("the last", b.bulk(b.store.DeleteJobs(b.Context(), "default", []string{"delayed"})), "e")
		b.wantSoundLine("all are deleted")
	})
}

// Pages show the jobs of groups that wait after those without a group and before occurrences that wait for others. A page continues after the job
// that was shown last, even if that job has left.
func TestJobsOfGroupsArePaged(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		first, second := storesuite.Ago(2*time.Minute), storesuite.Ago(time.Minute)
		b.Scheduled("report", "wait", first, second)
		b.Take("s", 2) // the second occurrence waits behind the first
		b.Enqueue(storesuite.Job("plain1"), storesuite.Job("plain2"))
		var want []string
		for i := range 25 {
			id := fmt.Sprintf("j%02d", i)
			b.grouped("line", fmt.Sprint("tenant", i/10), 1000-i, id)
			want = append(want, id)
		}
		for i := range 3 { // in a group the order is that of places
			slices.Reverse(want[10*i : min(10*i+10, 25)])
		}
		want = append(append([]string{"plain1", "plain2"}, want...), storesuite.OccurrenceID("report", second))
		for _, limit := range []int{1, 2, 3, 7, 25, 100} {
			var shown []string
			for after := ""; ; {
				ids, page := b.Listed(protocol.JobPageCall{State: protocol.JobWaiting, After: after, Limit: limit})
				shown = append(shown, strings.Fields(ids)...)
				if page.Restarted {
					b.Errorf("%d a page: restarted", limit)
				}
				if after = page.Next; after == "" {
					break
				}
			}
			b.Want(fmt.Sprint(limit, " a page"), strings.Join(shown, " "), strings.Join(want, " "))
		}

		for _, limit := range []int{1, 3, 100} {
			var shown []string
			for after := ""; ; {
				ids, page := b.Listed(protocol.JobPageCall{State: protocol.JobWaiting, Group: "tenant1", After: after, Limit: limit})
				shown = append(shown, strings.Fields(ids)...)
				if after = page.Next; after == "" {
					break
				}
			}
			b.Want(fmt.Sprint("of one group, ", limit, " a page"), strings.Join(shown, " "), strings.Join(want[12:22], " "))
		}

		ids, page := b.Listed(protocol.JobPageCall{State: protocol.JobWaiting, Limit: 5})
		b.Want("before", ids, strings.Join(want[:5], " "))
		b.bulk(b.store.DeleteJobs(b.Context(), "default", want[2:6]))
		ids, _ = b.Listed(protocol.JobPageCall{State: protocol.JobWaiting, Limit: 2, After: page.Next})
		b.Want("after", ids, strings.Join(want[6:8], " "))
	})
}

// A job of a group that leaves line while a page is read is not shown as waiting.
func TestAJobOfAGroupThatLeavesWhileAPageIsReadIsNotShown(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.grouped("line", "tenant", 1, "a")
		b.grouped("line", "tenant", 2, "b")
		moved := false
		store := b.hooked(func(cmd redis.Cmder) error {
			if args := cmd.Args(); cmd.Name() == "hmget" && !moved && args[1] == b.keys().jobs {
				moved = true
				meanwhile(func() { b.client.ZRem(b.Context(), b.keys().line, "tenant\t0000000000000002\tb") }) // as a take does
			}
			return nil
		})
		page, err := store.PageJobs(b.Context(), protocol.JobPageCall{Queue: "default", State: protocol.JobWaiting, Limit: 10})
		if err != nil || !moved || len(page.Jobs) != 1 || page.Jobs[0].ID != "a" || string(page.Jobs[0].Body) != "\x01a" {
			b.Errorf("the page has %+v, %v; want a alone", page.Jobs, err)
		}
	})
}

// The place of a job of a group is among the jobs of its group that wait.
func TestTheTurnOfAJobOfAGroupIsInItsGroup(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("plain"))
		for i := range 30 {
			b.grouped("line", fmt.Sprint("tenant", i%3), 1000-i, fmt.Sprint("j", i))
		}
		b.grouped("due", "tenant1", 0, "delayed")
		b.grouped("parked", "tenant1", 7, "parked")
		for id, want := range map[string]protocol.JobPlace{
			"plain": {Place: 1}, "delayed": {}, "parked": {},
			"j27": {Place: 1, Group: "tenant0"}, "j0": {Place: 10, Group: "tenant0"}, "j13": {Place: 6, Group: "tenant1"},
		} {
			if got, err := b.store.PlaceOf(b.Context(), "default", id); err != nil || got != want {
				b.Errorf("%s is at %+v, %v; want %+v", id, got, err, want)
			}
		}
	})
}

// A dead job of a group that is no longer kept leaves nothing behind, whether a sweep or a burial removes it.
func TestADeadJobOfAGroupThatIsNotKeptLeavesNothing(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for _, how := range []string{"sweep", "burial"} {
			b.store.options.MaxDead = 10
			b.grouped("dead", "tenant", 7, "old")
			b.grouped("dead", "tenant", 8, "young")
			b.client.ZAdd(b.Context(), b.keys().dead, redisZ(float64(b.serverTime().Add(-time.Minute).UnixMilli()), "old"))
			b.grouped("line", "tenant", 9, "waits")
			if how == "burial" {
				b.expired("asks", withDeath, "mail", 1.1)
			}
			burials, _ := b.swept()
			b.store.options.MaxDead = 2
			b.bury(burials)
			if how == "sweep" {
				b.store.options.MaxDead = 1
				b.swept()
			}
			b.Want("places after the "+how, fmt.Sprint(slices.Sorted(slices.Values(b.client.HKeys(b.Context(), b.keys().places).Val()))), "[waits young]")
			b.wantSoundLine("after the " + how)
			b.bulk(b.store.DeleteJobs(b.Context(), "default", []string{"waits", "young", "asks"}))
			b.wantSoundLine("deleted after the " + how)
		}
	})
}
