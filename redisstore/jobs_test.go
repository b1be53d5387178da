package redisstore

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/recent"
	"github.com/chimejobs/chime/internal/storesuite"
)

func TestADoneJobIsRemoved(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("a"))
		a := b.Take("s", 1)[0]
		if !b.Settle("s", protocol.Settlement{ID: "a", Fence: a.Fence, Kind: protocol.SettleDone}) {
			b.Fatal("settling was refused")
		}
		if n := b.client.Exists(b.Context(), b.keys().jobs, b.keys().ready, b.keys().due).Val(); n != 0 {
			b.Errorf("%d of jobs, ready, due are left, want none", n)
		}
		if s := b.Stats(); s.Done != 1 || s.InFlight() != 0 {
			b.Errorf("stats %+v, want 1 done, none in flight", s)
		}
	})
}

func TestFailedJobsAreDelayedOrDeadAndJobsGivenBackAreFirst(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"), storesuite.Job("c"), storesuite.Job("d"))
		taken := b.Take("s", 3)
		answer := b.Work("s", protocol.WorkCall{Settle: []protocol.Settlement{
			{ID: "a", Fence: taken[0].Fence, Kind: protocol.SettleLater, Delay: time.Hour, Body: []byte("\x01a2"), Failed: true},
			{ID: "b", Fence: taken[1].Fence, Kind: protocol.SettleDead, Body: []byte("\x01b2")},
			{ID: "c", Fence: taken[2].Fence, Kind: protocol.SettleBack},
		}})
		if len(answer.Refused) != 0 {
			b.Fatalf("refused %v", answer.Refused)
		}
		if s := b.Stats(); s.Delayed != 1 || s.Dead != 1 || s.Waiting != 2 || s.Retried != 1 || s.Died != 1 || s.Failed != 2 {
			b.Errorf("stats %+v", s)
		}
		b.Want("body of the dead", b.client.HGet(b.Context(), b.keys().jobs, "b").Val(), "\x01b2")
		b.Want("body to be retried", b.client.HGet(b.Context(), b.keys().jobs, "a").Val(), "\x01a2")
		b.Want("given back to the front", storesuite.IDs(b.Take("s", 2)), "c d")
	})
}

func TestAJobTakenAheadHasNotBegun(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"), storesuite.Job("c"))
		answer := b.Work("s", protocol.WorkCall{Take: 3, Ahead: 2})
		begun := []bool{answer.Taken[0].Begun, answer.Taken[1].Begun, answer.Taken[2].Begun}
		b.Want("begun", storesuite.BoolsText(begun), "true false false")
		b.Work("s", protocol.WorkCall{Begun: []protocol.BegunJob{{ID: "b", Fence: answer.Taken[1].Fence}}})
		held := b.client.HGetAll(b.Context(), b.keys().inflight("s")).Val()
		if held["b"][0] == '-' || held["c"][0] != '-' {
			b.Errorf("in flight %v, want b begun and c not", held)
		}
	})
}

func TestCrashesAreCountedAndTheSecondDelaysTheJob(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("a"))
		for crash := 1; crash <= 3; crash++ {
			session := []string{"", "s1", "s2", "s3"}[crash]
			taken := b.Work(session, protocol.WorkCall{Take: 1, TTL: time.Millisecond}).Taken
			b.Want("taken", storesuite.IDs(taken), "a")
			if taken[0].Crashes != crash-1 {
				b.Errorf("crashes %d, want %d", taken[0].Crashes, crash-1)
			}
			b.Reap(b.UntilLapsed(), 7)
			if crash == 2 {
				score := b.client.ZScore(b.Context(), b.keys().due, "a").Val()
				if wait := score - float64(time.Now().UnixMilli()); wait < 4500 || wait > 60500 {
					b.Errorf("second crash: due in %v ms, want 5 to 60 s", wait)
				}
				b.client.ZAdd(b.Context(), b.keys().due, redisZ(0, "a"))
			}
		}
		if taken := b.Take("s4", 1); len(taken) != 1 || taken[0].Crashes != 3 {
			b.Errorf("third crash: %+v, want it at the front with 3 crashes, for the worker to settle as dead", taken)
		}
	})
}

func TestASessionThatHoldsJobsIsNotClosed(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("a"))
		a := b.Take("s", 1)[0]
		if err := b.store.CloseSession(b.Context(), storesuite.DefaultPartition, "s", nil); err != nil {
			b.Fatal(err)
		}
		if !b.Settle("s", protocol.Settlement{ID: "a", Fence: a.Fence, Kind: protocol.SettleDone}) {
			b.Error("the session was closed with a job in flight")
		}
		if err := b.store.CloseSession(b.Context(), storesuite.DefaultPartition, "s", nil); err != nil {
			b.Fatal(err)
		}
		if n := b.client.Exists(b.Context(), b.keys().inflight("s"), b.keys().sessions).Val(); n != 0 {
			b.Errorf("%d keys of a closed session are left", n)
		}
	})
}

// One round trip uses several queues and partitions, each with its own session and answer.
func TestOneCallWorksOnManyPartitions(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.store.options.Partitions = map[string]int{"hot": 3}
		if n, err := b.store.Partitions(b.Context(), "hot"); n != 3 || err != nil {
			b.Fatalf("%d partitions, %v; want 3", n, err)
		}
		var enqueue []protocol.EnqueueCall
		var work []protocol.WorkCall
		for _, p := range []protocol.Partition{{Queue: "hot"}, {Queue: "hot", Index: 1}, {Queue: "hot", Index: 2}, {Queue: "mail"}} {
			id := fmt.Sprintf("%s-%d", p.Queue, p.Index)
			enqueue = append(enqueue, protocol.EnqueueCall{Partition: p, Caller: "c", Number: 1, Items: []protocol.EnqueueItem{storesuite.Job(id)}})
			work = append(work, protocol.WorkCall{Partition: p, Worker: "w", Session: "s-" + id, Number: 1, TTL: time.Minute, Take: 5})
		}
		for i, answer := range b.store.Enqueue(b.Context(), enqueue) {
			if answer.Err != nil {
				b.Errorf("enqueue on %v: %v", enqueue[i].Partition, answer.Err)
			}
		}
		for i, answer := range b.store.Work(b.Context(), work) {
			if want := enqueue[i].Items[0].ID; answer.Err != nil || storesuite.IDs(answer.Taken) != want {
				b.Errorf("work on %v: %q, %v; want %s", work[i].Partition, storesuite.IDs(answer.Taken), answer.Err, want)
			}
		}
		b.store.options.Partitions = map[string]int{"hot": 4}
		b.store.queues.partitions = recent.Map[string, int]{}
		if _, err := b.store.Partitions(b.Context(), "hot"); !errors.Is(err, protocol.ErrUnfit) {
			b.Errorf("another number of partitions: %v, want ErrUnfit", err)
		}
	})
}
