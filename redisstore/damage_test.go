package redisstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// Data that were edited by hand, or written by another program by mistake, lose no job and end no session.

// again is a bench on the same server under another namespace.
func (b *bench) again() *bench {
	return benchOn(b.T, b.client, b.SetClock, newStore(b.client, Options{Namespace: fmt.Sprintf("test%d", benches.Add(1))}))
}

// busy fills a partition: session s holds jobs and an occurrence, behind which another one waits; others are ready, due, parked, dead.
func (b *bench) busy() (held map[string]int64) {
	b.Helper()
	b.Scheduled("report", "wait", storesuite.Ago(2*time.Minute), storesuite.Ago(time.Minute))
	b.Enqueue(storesuite.Job("a"), storesuite.Job("b"), storesuite.Job("p"), storesuite.Job("x"), storesuite.Own("own"))
	held = map[string]int64{}
	for _, taken := range b.Work("s", protocol.WorkCall{Take: 20, TTL: time.Hour}).Taken {
		held[taken.ID] = taken.Fence
	}
	b.Settle("s", protocol.Settlement{ID: "p", Fence: held["p"], Kind: protocol.SettlePark, Name: "mail"})
	b.Settle("s", protocol.Settlement{ID: "x", Fence: held["x"], Kind: protocol.SettleDead})
	delete(held, "p")
	delete(held, "x")
	b.Sleeping("sleeper")
	later := storesuite.Job("later")
	later.At = storesuite.Ago(time.Minute)
	b.Enqueue(storesuite.Job("ready"), later)
	b.client.HSet(b.Context(), b.keys().state, "crashed", "1")
	b.client.HSet(b.Context(), b.keys().crashes, "ready", "1")
	return held
}

// The field of a session's hash that is not a job may be among the IDs, because any producer can write it there. It is removed.
func TestAnEntryNamedLikeTheSessionsOwnFieldIsDropped(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for _, put := range []func() error{
			func() error { return b.client.RPush(b.Context(), b.keys().ready, "\x01").Err() },
			func() error { return b.client.ZAdd(b.Context(), b.keys().due, redisZ(5, "\x01")).Err() },
			func() error { return b.client.HSet(b.Context(), b.keys().jobs, "\x01", "\x01body").Err() },
			func() error { return b.client.RPush(b.Context(), b.keys().ready, "\x01", "\x01").Err() },
		} {
			b.Enqueue(storesuite.Job("first"))
			held := b.Take("s", 1)
			if err := put(); err != nil {
				b.Fatal(err)
			}
			b.Enqueue(storesuite.Job("last"))
			held = append(held, b.Take("s", 5)...)
			b.Want("taken", storesuite.IDs(held), "first last")
			for _, j := range held {
				if !b.Settle("s", protocol.Settlement{ID: j.ID, Fence: j.Fence, Kind: protocol.SettleDone}) {
					b.Errorf("settling %q was refused", j.ID)
				}
			}
			if n := b.client.LLen(b.Context(), b.keys().ready).Val() + b.client.ZCard(b.Context(), b.keys().due).Val(); n != 0 {
				b.Errorf("%d entries are left", n)
			}
		}
	})
}

// With any number of deaths and rare sweeps, the dead set keeps the newest MaxDead.
func TestTheDeadSetIsBoundedByWhoAddsToIt(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.store.options.MaxDead = 30
		for round := range 10 {
			var items []protocol.EnqueueItem
			for i := range 20 {
				items = append(items, storesuite.Job(fmt.Sprintf("j%02d-%02d", round, i)))
			}
			b.Enqueue(items...)
			var settle []protocol.Settlement
			for _, taken := range b.Take("s", 20) {
				settle = append(settle, protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDead})
			}
			b.Work("s", protocol.WorkCall{Settle: settle})
			if n := b.client.ZCard(b.Context(), b.keys().dead).Val(); n > 30 {
				b.Fatalf("%d dead after round %d, want at most MaxDead: 30", n, round)
			}
		}
		dead := b.client.ZRange(b.Context(), b.keys().dead, 0, -1).Val()
		if len(dead) != 30 || dead[29] != "j09-19" {
			b.Errorf("dead: %q, want the 30 newest", dead)
		}
		if n := b.client.HLen(b.Context(), b.keys().jobs).Val(); n != 30 {
			b.Errorf("%d bodies, want those of the 30", n)
		}
	})
}

// A dead set that has grown beyond its limit, which was lowered, is trimmed in bounded steps.
func TestATooLargeDeadSetIsTrimmedInSteps(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.store.options.MaxDead = 10
		for i := range 3000 {
			b.client.ZAdd(b.Context(), b.keys().dead, redisZ(float64(i), fmt.Sprint("old", i)))
		}
		steps := 0
		for ; b.client.ZCard(b.Context(), b.keys().dead).Val() > 10 && steps < 20; steps++ {
			b.Enqueue(storesuite.Job("x"))
			taken := b.Take("s", 1)[0]
			before := b.client.ZCard(b.Context(), b.keys().dead).Val()
			b.Settle("s", protocol.Settlement{ID: "x", Fence: taken.Fence, Kind: protocol.SettleDead})
			if removed := before - b.client.ZCard(b.Context(), b.keys().dead).Val(); removed > 500 {
				b.Fatalf("a call removed %d, want at most 500", removed)
			}
		}
		if steps < 6 || steps > 10 {
			b.Errorf("trimmed in %d steps, want 3000 in steps of at most 500", steps)
		}
	})
}

// An entry in a session's hash without a fence is not a flight. A job there is returned, because it would be lost otherwise; other entries
// are removed.
func TestGarbageInASessionIsReaped(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"), storesuite.Job("c"))
		b.Take("s", 3)
		inflight := b.keys().inflight("s")
		b.client.HSet(b.Context(), inflight, "b", "garbage", "c", "", "nothing", "1e400", "other", "x")
		b.client.ZAdd(b.Context(), b.keys().sessions, redisZ(1000, "s"))
		b.Reap(protocol.LapsedSession{Session: "s", Lapse: time.UnixMilli(1000)}, 1)
		if n := b.client.Exists(b.Context(), inflight, b.keys().sessions).Val(); n != 0 {
			b.Errorf("%d keys of the session are left", n)
		}
		returned := b.client.LRange(b.Context(), b.keys().ready, 0, -1).Val()
		slices.Sort(returned)
		b.Want("returned", strings.Join(returned, " "), "a b c")
	})
}

// A session whose own field was damaged is lost to its worker; its jobs return.
func TestASessionWithABrokenFieldIsReaped(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for _, own := range []string{"garbage", "", "x 1 2"} {
			b.Enqueue(storesuite.Job("a"))
			session := "s" + own
			b.Want("taken", storesuite.IDs(b.Work(session, protocol.WorkCall{Take: 1, TTL: time.Millisecond}).Taken), "a")
			inflight := b.keys().inflight(session)
			for field := range b.client.HGetAll(b.Context(), inflight).Val() {
				if field != "a" {
					b.client.HSet(b.Context(), inflight, field, own)
				}
			}
			if answer := b.Try(session, protocol.WorkCall{Take: 1}); !errors.Is(answer.Err, protocol.ErrSessionLost) {
				b.Errorf("own field %q: error %v, want ErrSessionLost", own, answer.Err)
			}
			b.Reap(b.UntilLapsed(), 1)
			b.Want("returned", strings.Join(b.client.LRange(b.Context(), b.keys().ready, 0, -1).Val(), " "), "a")
			b.client.Del(b.Context(), b.keys().ready, b.keys().jobs, b.keys().crashes)
		}
	})
}

// A lapse that is not an instant counts as past, or as at most a session's time to live ahead: the session is found, and reaped.
func TestAStrangeLapseIsRepaired(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for _, score := range []string{"-inf", "-5", "1.5", "+inf", "1e300"} {
			b.client.Del(b.Context(), b.keys().sessions)
			if err := b.client.Do(b.Context(), "ZADD", b.keys().sessions, score, "gone").Err(); err != nil {
				b.Fatal(err)
			}
			poll := b.store.Poll(b.Context(), []protocol.PollCall{{Partition: storesuite.DefaultPartition, Worker: "w"}})[0]
			if poll.Err != nil {
				b.Fatal(poll.Err)
			}
			stored := b.client.ZScore(b.Context(), b.keys().sessions, "gone").Val()
			if len(poll.Lapsed) == 0 {
				if ahead := time.UnixMilli(int64(stored)).Sub(poll.Now); ahead > 2*time.Minute || poll.Lapse.Sub(poll.Now) > 2*time.Minute {
					b.Errorf("score %s: lapses in %v, the answer says %v", score, ahead, poll.Lapse.Sub(poll.Now))
				}
				continue
			}
			b.Reap(poll.Lapsed[0], 1)
			if err := b.client.ZScore(b.Context(), b.keys().sessions, "gone").Err(); err != redis.Nil {
				b.Errorf("score %s: the session was found lapsed and is not reaped (%v)", score, err)
			}
		}
	})
}
