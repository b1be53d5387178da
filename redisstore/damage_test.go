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
)

// What somebody has written by hand, or another program by mistake, loses no job and ends no session.

// contents returns all that the partition's keys hold, by key.
func (b *bench) contents() map[string]string {
	b.Helper()
	all := map[string]string{}
	keys, err := b.client.Keys(b.Context(), b.keys().prefix+"*").Result()
	if err != nil {
		b.Fatal(err)
	}
	for _, key := range keys {
		var value any
		switch kind := b.client.Type(b.Context(), key).Val(); kind {
		case "hash":
			value = b.client.HGetAll(b.Context(), key).Val()
		case "zset":
			value = b.client.ZRangeWithScores(b.Context(), key, 0, -1).Val()
		case "list":
			value = b.client.LRange(b.Context(), key, 0, -1).Val()
		case "stream":
			value = b.client.XRange(b.Context(), key, "-", "+").Val()
		default:
			value = kind
		}
		all[key] = fmt.Sprint(value)
	}
	return all
}

// again is a bench on the same server under a namespace of its own.
func (b *bench) again() *bench {
	namespace := fmt.Sprintf("test%d", benches.Add(1))
	other := &bench{T: b.T, store: newStore(b.client, Options{Namespace: namespace}), client: b.client, numbers: map[string]int64{}}
	if _, err := other.store.Partitions(b.Context(), defaultPartition.Queue); err != nil {
		b.Fatal(err)
	}
	return other
}

// busy fills a partition: session s holds jobs and an occurrence, behind which another one waits; others are ready, due, parked, dead.
func (b *bench) busy() (held map[string]int64) {
	b.Helper()
	b.scheduled("report", "wait", ago(2*time.Minute), ago(time.Minute))
	b.enqueue(job("a"), job("b"), job("p"), job("x"), own("own"))
	held = map[string]int64{}
	for _, taken := range b.work("s", protocol.WorkCall{Take: 20, TTL: time.Hour}).Taken {
		held[taken.ID] = taken.Fence
	}
	b.settle("s", protocol.Settlement{ID: "p", Fence: held["p"], Kind: protocol.SettlePark, Name: "mail"})
	b.settle("s", protocol.Settlement{ID: "x", Fence: held["x"], Kind: protocol.SettleDead})
	delete(held, "p")
	delete(held, "x")
	b.sleeping("sleeper")
	later := job("later")
	later.At = ago(time.Minute)
	b.enqueue(job("ready"), later)
	b.client.HSet(b.Context(), b.keys().state, "crashed", "1")
	b.client.HSet(b.Context(), b.keys().crashes, "ready", "1")
	return held
}

// difference lists what has changed.
func difference(before, after map[string]string) string {
	var lines []string
	for key, value := range before {
		if after[key] != value {
			lines = append(lines, fmt.Sprintf("  %s: %.200s, before %.200s", key, after[key], value))
		}
	}
	for key, value := range after {
		if _, ok := before[key]; !ok {
			lines = append(lines, fmt.Sprintf("  %s: %.200s, before nothing", key, value))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestNoJobIDEndsASession(t *testing.T) {
	for _, id := range []string{"#", "-", "s", "fence", "reaped"} {
		onEveryServer(t, func(b *bench) {
			b.enqueue(job("first"), job(id), job("last"))
			first := b.take("s", 1)
			taken := b.take("s", 5)
			b.want("taken", ids(taken), id+" last")
			if !b.settle("s", protocol.Settlement{ID: id, Fence: taken[0].Fence, Kind: protocol.SettleDone}) {
				b.Errorf("settling %q was refused", id)
			}
			if !b.settle("s", protocol.Settlement{ID: "first", Fence: first[0].Fence, Kind: protocol.SettleDone}) {
				b.Error("settling another job was refused")
			}
			if s := b.stats(); s.Running != 1 || s.Done != 2 {
				b.Errorf("stats %+v, want 1 running, 2 done", s)
			}
		})
	}
}

// The field of a session's hash that is no job may stand among the IDs, for any producer can write it there. It is dropped.
func TestAnEntryNamedLikeTheSessionsOwnFieldIsDropped(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for _, put := range []func() error{
			func() error { return b.client.RPush(b.Context(), b.keys().ready, "\x01").Err() },
			func() error { return b.client.ZAdd(b.Context(), b.keys().due, redisZ(5, "\x01")).Err() },
			func() error { return b.client.HSet(b.Context(), b.keys().jobs, "\x01", "\x01body").Err() },
			func() error { return b.client.RPush(b.Context(), b.keys().ready, "\x01", "\x01").Err() },
		} {
			b.enqueue(job("first"))
			held := b.take("s", 1)
			if err := put(); err != nil {
				b.Fatal(err)
			}
			b.enqueue(job("last"))
			held = append(held, b.take("s", 5)...)
			b.want("taken", ids(held), "first last")
			for _, j := range held {
				if !b.settle("s", protocol.Settlement{ID: j.ID, Fence: j.Fence, Kind: protocol.SettleDone}) {
					b.Errorf("settling %q was refused", j.ID)
				}
			}
			if n := b.client.LLen(b.Context(), b.keys().ready).Val() + b.client.ZCard(b.Context(), b.keys().due).Val(); n != 0 {
				b.Errorf("%d entries are left", n)
			}
		}
	})
}

// The first call of a session that has ended, arriving late, takes nothing: nobody would run what it took.
func TestALateCopyOfTheFirstCallTakesNothing(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for _, ended := range []string{"closed", "reaped"} {
			b.enqueue(job("one"))
			first := protocol.WorkCall{Take: 5, TTL: time.Millisecond}
			taken := b.work(ended, first).Taken
			b.want("taken", ids(taken), "one")
			if ended == "closed" {
				b.settle(ended, protocol.Settlement{ID: "one", Fence: taken[0].Fence, Kind: protocol.SettleDone})
				if err := b.store.CloseSession(b.Context(), defaultPartition, ended, nil); err != nil {
					b.Fatal(err)
				}
			} else {
				b.reap(b.untilLapsed(), 1)
			}
			b.enqueue(job("two"))
			b.numbers[ended] = 1
			if answer := b.repeat(ended, first); !errors.Is(answer.Err, protocol.ErrSessionLost) {
				b.Errorf("%s: the late copy took %q, error %v; want ErrSessionLost", ended, ids(answer.Taken), answer.Err)
			}
			for _, taken := range b.take("rest", 5) {
				b.settle("rest", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone})
			}
		}
	})
}

// However many jobs die, and however seldom somebody sweeps, the dead set keeps the newest MaxDead.
func TestTheDeadSetIsBoundedByWhoAddsToIt(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.store.options.MaxDead = 30
		for round := range 10 {
			var items []protocol.EnqueueItem
			for i := range 20 {
				items = append(items, job(fmt.Sprintf("j%02d-%02d", round, i)))
			}
			b.enqueue(items...)
			var settle []protocol.Settlement
			for _, taken := range b.take("s", 20) {
				settle = append(settle, protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDead})
			}
			b.work("s", protocol.WorkCall{Settle: settle})
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
			b.enqueue(job("x"))
			taken := b.take("s", 1)[0]
			before := b.client.ZCard(b.Context(), b.keys().dead).Val()
			b.settle("s", protocol.Settlement{ID: "x", Fence: taken.Fence, Kind: protocol.SettleDead})
			if removed := before - b.client.ZCard(b.Context(), b.keys().dead).Val(); removed > 500 {
				b.Fatalf("a call removed %d, want at most 500", removed)
			}
		}
		if steps < 6 || steps > 10 {
			b.Errorf("trimmed in %d steps, want 3000 in steps of at most 500", steps)
		}
	})
}

// What is no fence in a session's hash is no flight. A job that stands there is returned, for it would be lost else; what is no job is
// dropped.
func TestGarbageInASessionIsReaped(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("a"), job("b"), job("c"))
		b.take("s", 3)
		inflight := b.keys().inflight("s")
		b.client.HSet(b.Context(), inflight, "b", "garbage", "c", "", "nothing", "1e400", "other", "x")
		b.client.ZAdd(b.Context(), b.keys().sessions, redisZ(1000, "s"))
		b.reap(protocol.LapsedSession{Session: "s", Lapse: time.UnixMilli(1000)}, 1)
		if n := b.client.Exists(b.Context(), inflight, b.keys().sessions).Val(); n != 0 {
			b.Errorf("%d keys of the session are left", n)
		}
		returned := b.client.LRange(b.Context(), b.keys().ready, 0, -1).Val()
		slices.Sort(returned)
		b.want("returned", strings.Join(returned, " "), "a b c")
	})
}

// A session whose own field somebody has broken is lost to its worker; its jobs return.
func TestASessionWithABrokenFieldIsReaped(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for _, own := range []string{"garbage", "", "x 1 2"} {
			b.enqueue(job("a"))
			session := "s" + own
			b.want("taken", ids(b.work(session, protocol.WorkCall{Take: 1, TTL: time.Millisecond}).Taken), "a")
			inflight := b.keys().inflight(session)
			for field := range b.client.HGetAll(b.Context(), inflight).Val() {
				if field != "a" {
					b.client.HSet(b.Context(), inflight, field, own)
				}
			}
			if answer := b.try(session, protocol.WorkCall{Take: 1}); !errors.Is(answer.Err, protocol.ErrSessionLost) {
				b.Errorf("own field %q: error %v, want ErrSessionLost", own, answer.Err)
			}
			b.reap(b.untilLapsed(), 1)
			b.want("returned", strings.Join(b.client.LRange(b.Context(), b.keys().ready, 0, -1).Val(), " "), "a")
			b.client.Del(b.Context(), b.keys().ready, b.keys().jobs, b.keys().crashes)
		}
	})
}

// A lapse that is no instant is one in the past, or at most a session's time to live ahead: the session is found, and reaped.
func TestAStrangeLapseIsMended(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for _, score := range []string{"-inf", "-5", "1.5", "+inf", "1e300"} {
			b.client.Del(b.Context(), b.keys().sessions)
			if err := b.client.Do(b.Context(), "ZADD", b.keys().sessions, score, "gone").Err(); err != nil {
				b.Fatal(err)
			}
			poll := b.store.Poll(b.Context(), []protocol.PollCall{{Partition: defaultPartition, Worker: "w"}})[0]
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
			b.reap(poll.Lapsed[0], 1)
			if err := b.client.ZScore(b.Context(), b.keys().sessions, "gone").Err(); err != redis.Nil {
				b.Errorf("score %s: the session was found lapsed and is not reaped (%v)", score, err)
			}
		}
	})
}
