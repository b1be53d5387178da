package redisstore

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// sleeping puts a worker to sleep and returns when, by the server's clock.
func (b *bench) sleeping(session string) time.Time {
	b.Helper()
	return b.work(session, protocol.WorkCall{Take: 1, Sleep: true}).Now
}

// asleepSince is the instant that the list of sleepers shows for the worker of a session; zero: it is not on it.
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

func (b *bench) look(session string, since, now time.Time) protocol.PollAnswer {
	b.Helper()
	answer := b.store.Poll(b.Context(), []protocol.PollCall{{Partition: line0, Worker: "w-" + session, Sleep: true, Since: since, Now: now}})[0]
	if answer.Err != nil {
		b.Fatal(answer.Err)
	}
	return answer
}

// A sleeper's idea of the time is only a guess: what it reads is judged by the server's, and where the two differ the list
// of sleepers gets the server's too.
func TestALookGoesByTheServersTime(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		since := b.sleeping("s")
		for _, wrong := range []time.Duration{-time.Hour, -5 * time.Second, -10 * time.Millisecond, 10 * time.Millisecond, 5 * time.Second, time.Hour} {
			answer := b.look("s", since.Add(min(wrong, 0)-time.Second), since.Add(wrong))
			if off := answer.Now.Sub(since); off < 0 || off > 10*time.Second {
				b.Errorf("a caller that is wrong by %v was told that it is %v after it went to sleep", wrong, off)
			}
			if off := answer.Now.Sub(answer.Since).Abs(); off > 1100*time.Millisecond {
				b.Errorf("a caller that is wrong by %v is on the list with an instant that is wrong by %v", wrong, off)
			}
			if listed := b.asleepSince("s"); !listed.Equal(answer.Since.Truncate(time.Millisecond)) {
				b.Errorf("it was told that it is on the list since %v, there it says %v", answer.Since, listed)
			}
		}
	})
}

// Whatever a sleeper may have to do something about is found by its look, whether it knows the time or not.
func TestALookFindsWhatIsToBeDone(t *testing.T) {
	for _, knows := range []bool{true, false} {
		onEveryServer(t, func(b *bench) {
			since := b.sleeping("s")
			look := func() protocol.PollAnswer {
				if !knows {
					return b.look("s", time.Time{}, time.Time{})
				}
				return b.look("s", since, since.Add(time.Millisecond))
			}
			if a := look(); a.More || a.Next != 0 || !a.Lapse.IsZero() || a.Since.IsZero() {
				b.Fatalf("nothing is there, and the look says %+v", a)
			}
			item := job("soon")
			item.In = 5 * time.Second
			b.enqueue(item)
			if a := look(); a.Next <= 0 || a.Next > 5*time.Second+time.Millisecond {
				b.Errorf("a job is due in five seconds, and the look says in %v", a.Next)
			}
			b.enqueue(job("held"), job("waiting"))
			b.take("other", 1)
			a := look()
			if !a.More || !a.Since.IsZero() || !b.asleepSince("s").IsZero() {
				b.Errorf("a job waits, and the look says %+v; asleep since %v", a, b.asleepSince("s"))
			}
			if lapse := a.Lapse.Sub(a.Now); lapse <= 10*time.Second || lapse > 12*time.Second {
				b.Errorf("a session lapses in %v, want about twelve seconds", lapse)
			}
		})
	}
}

// Who only says that its jobs have finished keeps its place among the sleepers, before whoever came later.
func TestASleeperThatSettlesSleepsOn(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("a"), job("b"))
		held := b.work("first", protocol.WorkCall{Take: 3, Sleep: true}).Taken
		since := b.asleepSince("first")
		b.sleeping("second")
		call := protocol.WorkCall{SleepOn: true, Settle: []protocol.Settlement{{ID: "a", Fence: held[0].Fence, Kind: protocol.SettleDone}}}
		for name, answer := range map[string]protocol.WorkAnswer{"called": b.work("first", call), "called again": b.repeat("first", call)} {
			if answer.Err != nil || len(answer.Refused) > 0 || len(answer.Taken) > 0 || answer.More || answer.Next != 0 {
				b.Errorf("%s: %+v", name, answer)
			}
			if now := b.asleepSince("first"); !now.Equal(since) {
				b.Errorf("%s: asleep since %v, want %v as before", name, now, since)
			}
		}
		if s := b.stats(); s.Done != 1 || s.Running != 1 {
			b.Errorf("%d done, %d in flight, want 1 and 1", s.Done, s.Running)
		}
		b.enqueue(job("c"))
		if now := b.asleepSince("first"); !now.IsZero() {
			b.Error("the longest asleep was not woken")
		}
		answer := b.work("first", protocol.WorkCall{SleepOn: true, Settle: []protocol.Settlement{{ID: "b", Fence: held[1].Fence, Kind: protocol.SettleDone}}})
		if answer.More || b.asleepSince("second").IsZero() {
			b.Errorf("who only settles was told of more (%v), or woke the other", answer.More)
		}
		if now := b.asleepSince("first"); !now.IsZero() {
			b.Error("one that was woken went to sleep again without having looked")
		}
	})
}

// A settlement that is refused writes nothing, also out of memory, and leaves the sleeper where it is.
func TestASleeperWhoseSettlementIsRefusedSleepsOn(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("a"))
		b.work("s", protocol.WorkCall{Take: 3, Sleep: true})
		since := b.asleepSince("s")
		answer := b.work("s", protocol.WorkCall{SleepOn: true, Settle: []protocol.Settlement{{ID: "a", Fence: 7, Kind: protocol.SettleDone}}})
		if len(answer.Refused) != 1 || b.stats().Running != 1 || !b.asleepSince("s").Equal(since) {
			b.Errorf("refused %v, in flight %d, asleep since %v, want %v", answer.Refused, b.stats().Running, b.asleepSince("s"), since)
		}
	})
}
