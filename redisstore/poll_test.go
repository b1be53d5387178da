package redisstore

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// asleepSince returns the instant since which the worker of a session is registered as asleep; zero: it is not.
func (b *bench) asleepSince(session string) time.Time {
	b.Helper()
	score, err := b.client.ZScore(b.Context(), b.keys().idle, "w-"+session).Result()
	if err == redis.Nil {
		return time.Time{}
	}
	if err != nil {
		b.Fatal(err)
	}
	return time.UnixMilli(int64(score))
}

// A worker's Now is only a guess: the server's time decides what is due. If the two differ much, the worker is registered with
// the server's time too.
func TestAPollGoesByTheServersTime(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		since := b.Sleeping("s")
		for _, wrong := range []time.Duration{-time.Hour, -5 * time.Second, -10 * time.Millisecond, 10 * time.Millisecond, 5 * time.Second, time.Hour} {
			before := b.serverTime()
			answer := b.Poll("s", since.Add(min(wrong, 0)-time.Second), since.Add(wrong))
			if answer.Now.Before(before) || answer.Now.After(b.serverTime()) {
				b.Errorf("a caller that is wrong by %v got the time %v, want the server's", wrong, answer.Now)
			}
			if off := answer.Now.Sub(answer.Since).Abs(); off > 1100*time.Millisecond {
				b.Errorf("a caller that is wrong by %v is registered with an instant that is wrong by %v", wrong, off)
			}
			if listed := b.asleepSince("s"); !listed.Equal(answer.Since.Truncate(time.Millisecond)) {
				b.Errorf("the answer says registered since %v, the key says %v", answer.Since, listed)
			}
		}
	})
}

// A poll reports a job that is due soon, a waiting job and a session, whether or not the caller knows the time.
func TestAPollReportsWhatThereIsToDo(t *testing.T) {
	for _, knows := range []bool{true, false} {
		onEveryServer(t, func(b *bench) {
			since := b.Sleeping("s")
			poll := func() protocol.PollAnswer {
				if !knows {
					return b.Poll("s", time.Time{}, time.Time{})
				}
				return b.Poll("s", since, since.Add(time.Millisecond))
			}
			if a := poll(); a.More || a.Next != 0 || !a.Lapse.IsZero() || a.Since.IsZero() {
				b.Fatalf("nothing to do: got %+v", a)
			}
			item := storesuite.Job("soon")
			item.In = 10 * time.Second // a worker polls again before a later instant
			b.Enqueue(item)
			if a := poll(); a.Next <= 0 || a.Next > item.In+time.Millisecond {
				b.Errorf("a job is due in ten seconds: got %v", a.Next)
			}
			b.Enqueue(storesuite.Job("held"), storesuite.Job("waiting"))
			lapse := b.Work("other", protocol.WorkCall{Take: 1, TTL: 12 * time.Second}).Now.Add(12 * time.Second)
			a := poll()
			if !a.More || !a.Since.IsZero() || !b.asleepSince("s").IsZero() {
				b.Errorf("a job waits: got %+v, asleep since %v", a, b.asleepSince("s"))
			}
			if a.Lapse.Sub(lapse).Abs() > time.Millisecond {
				b.Errorf("a session lapses at %v, want %v", a.Lapse, lapse)
			}
		})
	}
}

// A worker that only settles finished jobs remains registered as asleep, before those that were registered later.
func TestASleepingWorkerThatSettlesRemainsRegistered(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"))
		held := b.Work("first", protocol.WorkCall{Take: 3, Sleep: true}).Taken
		since := b.asleepSince("first")
		b.Sleeping("second")
		call := protocol.WorkCall{SleepOn: true, Settle: []protocol.Settlement{{ID: "a", Fence: held[0].Fence, Kind: protocol.SettleDone}}}
		for name, answer := range map[string]protocol.WorkAnswer{"called": b.Work("first", call), "called again": b.Repeat("first", call)} {
			if answer.Err != nil || len(answer.Refused) > 0 || len(answer.Taken) > 0 || answer.More || answer.Next != 0 {
				b.Errorf("%s: %+v", name, answer)
			}
			if now := b.asleepSince("first"); !now.Equal(since) {
				b.Errorf("%s: asleep since %v, want %v as before", name, now, since)
			}
		}
		if s := b.Stats(); s.Done != 1 || s.InFlight() != 1 {
			b.Errorf("%d done, %d in flight, want 1 and 1", s.Done, s.InFlight())
		}
		b.Enqueue(storesuite.Job("c"))
		if now := b.asleepSince("first"); !now.IsZero() {
			b.Error("the longest asleep was not woken")
		}
		answer := b.Work("first", protocol.WorkCall{SleepOn: true, Settle: []protocol.Settlement{{ID: "b", Fence: held[1].Fence, Kind: protocol.SettleDone}}})
		if answer.More || b.asleepSince("second").IsZero() {
			b.Errorf("a call that only settles reported more (%v), or woke the other worker", answer.More)
		}
		if now := b.asleepSince("first"); !now.IsZero() {
			b.Error("a worker that was woken is registered again without a poll")
		}
	})
}

// A settlement that is refused writes nothing, even when the server is out of memory, and leaves the worker registered.
func TestASleepingWorkerWhoseSettlementIsRefusedRemainsRegistered(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("a"))
		b.Work("s", protocol.WorkCall{Take: 3, Sleep: true})
		since := b.asleepSince("s")
		answer := b.Work("s", protocol.WorkCall{SleepOn: true, Settle: []protocol.Settlement{{ID: "a", Fence: 7, Kind: protocol.SettleDone}}})
		if len(answer.Refused) != 1 || b.Stats().InFlight() != 1 || !b.asleepSince("s").Equal(since) {
			b.Errorf("refused %v, in flight %d, asleep since %v, want %v", answer.Refused, b.Stats().InFlight(), b.asleepSince("s"), since)
		}
	})
}
