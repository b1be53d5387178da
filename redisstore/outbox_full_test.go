package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// fill makes an outbox look full: by the number of its entries, of which only the first few are there.
func (b *bench) fill(source protocol.Partition, sums string) {
	b.Helper()
	b.client.HSet(b.Context(), b.store.keys.partition(source).state, "outbox", sums)
}

// A partition whose outbox has reached a bound gives no job to a worker, and settles those that are held.
func TestAFullOutboxTakesNothingAndSettles(t *testing.T) {
	for what, sums := range map[string]string{"entries": "1 100000 1 1 0", "bytes": "1 1 268435456 1 0"} {
		t.Run(what, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.Enqueue(storesuite.Job("a"), storesuite.Job("b"), storesuite.Job("c"))
				held := b.Take("w", 2)
				b.fill(storesuite.DefaultPartition, sums)
				answer := b.Work("w", protocol.WorkCall{Take: 5, Sleep: true, Settle: []protocol.Settlement{storesuite.Done(held[0])}})
				if len(answer.Taken) > 0 || !answer.Full || !answer.Owes || answer.More || answer.Paused || len(answer.Refused) > 0 {
					b.Errorf("%+v, want the settlement accepted, and nothing taken", answer)
				}
				if poll := b.Poll("w", time.Time{}, time.Time{}); poll.More || !poll.Full || !poll.Owes || poll.Paused {
					b.Errorf("%+v, want that nothing can be taken", poll)
				}
				b.Settle("w", storesuite.Done(held[1]))
				b.Want("done", fmt.Sprint(b.Stats().Done), "2")
				b.fill(storesuite.DefaultPartition, "1 99999 1 1 0")
				if poll := b.Poll("w", time.Time{}, time.Time{}); !poll.More || poll.Full {
					b.Errorf("%+v, want that a job can be taken", poll)
				}
				b.Want("taken", storesuite.IDs(b.Take("w", 5)), "c")
			})
		})
	}
}

// A served name that an answer leaves out counts as served. So a call that takes nothing, because the outbox is full or the queue is paused, answers it.
func TestParkedJobsAreServedWhenTheOutboxHasDrained(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.park("s", "name")
		for _, pauses := range []bool{false, true} {
			if pauses {
				b.fill(storesuite.DefaultPartition, "1 0 0 0 0")
				b.pause(true)
			} else {
				b.fill(storesuite.DefaultPartition, "1 100000 1 1 0")
			}
			answer := b.Work("w", protocol.WorkCall{Take: 1, Sleep: true, Serve: []string{"name"}})
			if len(answer.Taken) > 0 || answer.Full == pauses || fmt.Sprint(answer.Parked) != "[name]" {
				b.Errorf("paused %v: %+v, want nothing taken, and the name answered", pauses, answer)
			}
		}
		b.pause(false)
		b.Want("taken", storesuite.IDs(b.Work("w", protocol.WorkCall{Take: 1, Serve: []string{"name"}}).Taken), "j-name")
	})
}

func TestADrainedOutboxWakesAWorker(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		source := storesuite.DefaultPartition
		b.departs(source, "mail", "a", 0)
		b.address(source)
		b.fill(source, "1 100000 1 1 0")
		b.Enqueue(storesuite.Job("waits"))
		b.Sleeping("w")
		if b.asleepSince("w").IsZero() {
			b.Fatal("the worker is awake")
		}
		b.carryAll(source, mail)
		if !b.asleepSince("w").IsZero() {
			b.Error("the sleeper was not woken when the outbox had drained")
		}
		b.Want("taken", storesuite.IDs(b.Take("w", 5)), "waits")
	})
}

// An entry of a second ago is named in the answers of all calls to the partition, also if no worker holds a session there. A younger one is left to the
// process that has added it.
func TestAnOldEntryIsNamedInEveryAnswer(t *testing.T) {
	onServersWith(t, settableClock, func(b *bench) {
		source, now := storesuite.DefaultPartition, b.serverTime()
		b.SetClock(now)
		asks := func() string {
			work := b.Work("w", protocol.WorkCall{Take: 1})
			b.Sleeping("s")
			sleeper := b.Poll("s", now, b.serverTime())
			leader := b.store.Poll(b.Context(), []protocol.PollCall{{Partition: source, Worker: "l", Lapses: true}})[0]
			return fmt.Sprint(work.Owes, sleeper.Owes, leader.Owes)
		}
		b.Want("nothing waits", asks(), "false false false")
		b.departs(source, "mail", "a", 0)
		b.Want("it is young", asks(), "false false false")
		b.SetClock(now.Add(1100 * time.Millisecond))
		b.Want("a second later", asks(), "true true true")
		b.SetClock(now.Add(-time.Hour))
		b.Want("the clock stepped back", asks(), "true true true")
		swept := b.store.Sweep(b.Context(), []protocol.Partition{source}, 0)[0]
		b.carryAll(source, mail)
		b.Want("it was carried", asks(), "false false false")
		again := b.store.Sweep(b.Context(), []protocol.Partition{source}, 0)[0]
		b.Want("named by sweeps until it is confirmed", fmt.Sprint(swept.Owes, again.Owes, swept.Err, again.Err), "true true <nil> <nil>")
		b.SetClock(now.Add(time.Hour))
		b.confirm(source, mail)
		b.SetClock(now.Add(2 * time.Hour))
		b.confirm(source, mail)
		b.Want("confirmed", fmt.Sprint(b.store.Sweep(b.Context(), []protocol.Partition{source}, 0)[0].Owes), "false")
	})
}
