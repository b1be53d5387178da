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

// remains returns which of the keys exist, and all hashes of jobs in flight and lists of parked jobs.
func (b *bench) remains(k partitionKeys, keys ...string) (left []string) {
	b.Helper()
	keys = append(keys, b.keysLike(k.prefix+"inflight:*")...)
	keys = append(keys, b.keysLike(k.prefix+"parked:*")...)
	for _, key := range keys {
		if b.client.Exists(b.Context(), key).Val() > 0 {
			left = append(left, strings.TrimPrefix(key, k.prefix))
		}
	}
	slices.Sort(left)
	return left
}

// What a queue's jobs have used is free again when they have ended or were deleted, and their sessions are closed: none of these keys exists.
func TestWhatJobsUseIsFreeAgainWhenTheyHaveEnded(t *testing.T) {
	onServersWith(t, repairing, func(b *bench) {
		k := b.keys()
		ofJobs := []string{
			k.due, k.ready, k.stale, k.purged, k.spared, k.jobs, k.dead, k.after, k.line, k.places, k.purgedline, k.turns, k.groups, k.opens,
			k.sessions, k.crashes, k.progress, k.unhandled, k.results, k.kept, k.once, k.open, k.behind, k.owed,
		}
		for round := range 3 {
			id := func(name string) string { return fmt.Sprint(name, round) }
			for _, name := range []string{"done", "retried", "dead", "parked", "held", "cancelled", "later"} {
				b.Enqueue(storesuite.Job(id(name)))
			}
			delayed := storesuite.Job(id("delayed"))
			delayed.In = time.Hour
			b.Enqueue(delayed)
			session := id("s")
			taken := b.Take(session, 5)
			if len(taken) != 5 {
				b.Fatalf("taken %s", storesuite.IDs(taken))
			}
			held := taken[4]
			reports := []protocol.ProgressReport{{Partition: storesuite.DefaultPartition, Session: session, ID: held.ID, Fence: held.Fence, Progress: []byte("p")}}
			if err := b.store.Report(b.Context(), reports); err != nil {
				b.Fatal(err)
			}
			if _, err := b.store.Replace(b.Context(), protocol.ReplaceCall{Partition: storesuite.DefaultPartition, Token: id("t"), Item: storesuite.Own(held.ID)}); err != nil {
				b.Fatal(err)
			}
			b.Settle(session, storesuite.Done(taken[0]))
			b.Settle(session, protocol.Settlement{ID: taken[1].ID, Fence: taken[1].Fence, Kind: protocol.SettleLater, Failed: true})
			b.Settle(session, protocol.Settlement{ID: taken[2].ID, Fence: taken[2].Fence, Kind: protocol.SettleDead, Body: []byte("\x01dead")})
			b.Settle(session, protocol.Settlement{ID: taken[3].ID, Fence: taken[3].Fence, Kind: protocol.SettlePark, Name: "mail"})
			b.Cancel(id("cancelled"))
			b.Cancel(id("delayed"))
			for _, key := range []string{k.due, k.ready, k.jobs, k.dead, k.after, k.sessions, k.progress, k.unhandled, k.inflight(session), k.parked("mail")} {
				if b.client.Exists(b.Context(), key).Val() == 0 {
					b.Errorf("%s is not used, so this test shows nothing about it", key)
				}
			}
			ended := storesuite.Done(held)
			ended.Reported = true
			b.Settle(session, ended)
			if _, err := b.store.DeleteJobs(b.Context(), "default", []string{taken[2].ID, taken[3].ID}); err != nil {
				b.Fatal(err)
			}
			for s := b.Stats(); s.Waiting+s.Delayed > 0; s = b.Stats() {
				for _, job := range b.Take(session, 5) {
					b.Settle(session, storesuite.Done(job))
				}
			}
			if err := b.store.CloseSession(b.Context(), storesuite.DefaultPartition, session, nil); err != nil {
				b.Fatal(err)
			}
		}
		if left := b.remains(k, ofJobs...); len(left) > 0 {
			b.Errorf("%v are left, want none", left)
		}
		known := strings.Fields("fence done enqueued paused limit parked layout large crashed turn swept tended stale purge asked groups outbox")
		for field := range b.client.HGetAll(b.Context(), k.state).Val() {
			if !slices.Contains(known, field) {
				b.Errorf("…:state has the field %s", field)
			}
		}
		for field := range b.client.HGetAll(b.Context(), k.counters).Val() {
			if !strings.HasPrefix(field, "/") {
				b.Errorf("…:counters counts %s, which is not of the queue", field)
			}
		}
	})
}

// What a schedule has used is free again 7 days after its deletion, where it lived and in the queue that it had left, even if the process that deleted
// it was killed in between. Then a later deletion removes the record of it.
func TestWhatAScheduleUsesIsFreeAgainAfterItsDeletion(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		onServersWith(t, settableClock|hookedCalls, func(b *bench) {
			owner := protocol.Owner{Name: "o", Version: 1}
			owed := *b.Owns("default", "s", owner).Owed
			now := b.serverSecond()
			if answer := b.placeZoned(owed, now.Add(time.Second), time.Hour, "Europe/Berlin"); answer.Placed != 1 {
				b.Fatalf("%+v", answer)
			}
			b.SetClock(now.Add(time.Minute))
			taken := b.Take("w", 1)
			b.Settle("w", storesuite.Done(taken[0]))
			if err := b.store.CloseSession(b.Context(), storesuite.DefaultPartition, "w", nil); err != nil {
				b.Fatal(err)
			}
			b.Owns("mail", "s", owner)
			if _, err := storesuite.PauseSchedule(b.Context(), b.store, "s", true); err != nil {
				b.Fatal(err)
			}
			mail := b.store.keys.partition(protocol.Partition{Queue: "mail"})
			for _, key := range []string{mail.schedules, mail.cursors, mail.zones, mail.owners, mail.origins, mail.last, b.keys().schedules, b.keys().gone} {
				if b.client.Exists(b.Context(), key).Val() == 0 {
					b.Errorf("%s is not used, so this test shows nothing about it", key)
				}
			}
			removals := 0
			store := b.hooked(func(cmd redis.Cmder) error {
				if isCallOf(cmd, &removeScript) && cmd.Name() == "evalsha" {
					if removals++; interrupted && removals > 1 {
						return errStopped
					}
				}
				return nil
			})
			b.client.ScriptLoad(b.Context(), removeScript.Text)
			if _, err := store.Remove(b.Context(), protocol.Removal{Name: "s"}); (err != nil) != interrupted {
				b.Fatal(err)
			}
			b.SetClock(now.Add(8 * 24 * time.Hour))
			partitions := []protocol.Partition{{Queue: "default"}, {Queue: "mail"}}
			for range 2 {
				for _, answer := range b.store.Sweep(b.Context(), partitions, 0) {
					if answer.Err != nil {
						b.Fatal(answer.Err)
					}
				}
			}
			b.Verify(true)
			for _, p := range partitions {
				k := b.store.keys.partition(p)
				left := b.remains(k, k.schedules, k.cursors, k.zones, k.notes, k.owners, k.owed, k.open, k.behind, k.gone, k.origins, k.last, k.history, k.due)
				if len(left) > 0 {
					b.Errorf("interrupted %v: %v are left in %s", interrupted, left, p.Queue)
				}
				for field := range b.client.HGetAll(b.Context(), k.counters).Val() {
					if strings.HasPrefix(field, "s/") {
						b.Errorf("interrupted %v: %s is still counted in %s", interrupted, field, p.Queue)
					}
				}
			}
			if at := b.registered("s"); at.queue != "" {
				b.Errorf("interrupted %v: the registry has %+v", interrupted, at)
			}
			b.Declare("t", "skip", `{"job":"j"}`)
			if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "t"}); err != nil {
				b.Fatal(err)
			}
			for _, member := range b.client.ZRange(b.Context(), b.store.keys.deleted(), 0, -1).Val() {
				if strings.HasPrefix(member, "s") {
					b.Errorf("the record of deletions still has %q", member)
				}
			}
		})
	}
}

// What workers have announced is removed when they are silent: queues by the announcement of another queue after a day, handlers and sleeping workers
// by a sweep.
func TestWhatWorkersAnnounceIsRemovedWhenTheyAreSilent(t *testing.T) {
	onServersWith(t, settableClock, func(b *bench) {
		k, now := b.keys(), b.serverSecond()
		b.SetClock(now)
		for i := range 40 {
			if err := b.store.Announce(b.Context(), fmt.Sprint("w", i), []protocol.Handled{{Queue: "default", Name: "j"}}); err != nil {
				b.Fatal(err)
			}
		}
		if n := strings.Count(b.client.HGet(b.Context(), k.handlers, "j").Val(), "w"); n != 32 {
			b.Errorf("%d workers are remembered for a job name, want 32", n)
		}
		b.Sleeping("asleep")
		b.SetClock(now.Add(25 * time.Hour))
		if _, err := b.sweep(); err != nil {
			b.Fatal(err)
		}
		if left := b.remains(k, k.handlers, k.idle); len(left) > 0 {
			b.Errorf("%v are left after a sweep", left)
		}
		if err := b.store.Announce(b.Context(), "late", []protocol.Handled{{Queue: "other", Name: "j"}}); err != nil {
			b.Fatal(err)
		}
		b.Want("served", fmt.Sprint(b.client.ZRange(b.Context(), b.store.keys.served(), 0, -1).Val()), "[other]")
	})
}

// The past runs of a partition are bounded by the call that adds one.
func TestThePastRunsOfAPartitionAreBounded(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		k := b.keys()
		pipe := b.client.Pipeline()
		for range 12_000 {
			pipe.XAdd(b.Context(), &redis.XAddArgs{Stream: k.runs, Values: []any{"schedule", "other"}})
		}
		if _, err := pipe.Exec(b.Context()); err != nil {
			b.Fatal(err)
		}
		at := storesuite.Ago(time.Second)
		b.Scheduled("s", "skip", at)
		b.Settle("w", protocol.Settlement{ID: storesuite.OccurrenceID("s", at), Fence: b.Take("w", 1)[0].Fence, Kind: protocol.SettleDone, Run: &protocol.RunRecord{Started: at, Ended: at, Outcome: "done"}})
		if n := b.client.XLen(b.Context(), k.runs).Val(); n > 10_200 {
			b.Errorf("%d runs are remembered, want about 10,000", n)
		}
	})
}

// The leader's hash has the same four fields whoever leads.
func TestTheLeadersHashDoesNotGrow(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for i := range 50 {
			candidate := fmt.Sprint("candidate", i)
			if got, err := b.store.Lead(b.Context(), candidate, time.Minute); err != nil || !got.Leading {
				b.Fatalf("%+v, %v", got, err)
			}
			if err := b.store.Resign(b.Context(), candidate); err != nil {
				b.Fatal(err)
			}
		}
		if n := b.client.HLen(b.Context(), b.store.keys.leader()).Val(); n > 4 {
			b.Errorf("%d fields, want four at most", n)
		}
	})
}
