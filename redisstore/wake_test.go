package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// Who is taken off the list of sleepers was woken: the two are one step of a script.

func TestATakeThatLeavesSomethingWakesOneMore(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for _, session := range []string{"a", "b", "c"} {
			b.sleeping(session)
		}
		b.enqueue(job("1"), job("2"), job("3"))
		if !b.asleepSince("a").IsZero() || b.asleepSince("b").IsZero() {
			b.Fatal("a call that enqueues wakes the longest asleep, and no other")
		}
		b.work("a", protocol.WorkCall{Take: 1, Sleep: true})
		if !b.asleepSince("b").IsZero() || b.asleepSince("c").IsZero() {
			b.Error("who leaves two jobs wakes the next, and no other")
		}
		b.work("b", protocol.WorkCall{Take: 5, Sleep: true})
		if b.asleepSince("c").IsZero() {
			b.Error("who leaves nothing wakes nobody")
		}
	})
}

func TestWhoFillsItsSlotsIsNoSleeper(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.sleeping("s")
		item := job("soon")
		item.In = time.Millisecond
		b.enqueue(item) // which wakes nobody
		for len(b.work("s", protocol.WorkCall{Take: 1, Sleep: true}).Taken) == 0 {
			if b.asleepSince("s").IsZero() {
				b.Fatal("it found nothing, and does not sleep")
			}
		}
		if !b.asleepSince("s").IsZero() {
			b.Error("all its slots are taken, and it is on the list of sleepers")
		}
	})
}

func TestAWakeUpThatCannotBeUsedGoesOn(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.sleeping("a")
		b.sleeping("b")
		b.enqueue(job("1"))
		if err := b.store.Leave(b.Context(), []protocol.LeaveCall{{Partition: line0, Worker: "w-a", Pass: true}}); err != nil {
			b.Fatal(err)
		}
		if !b.asleepSince("b").IsZero() {
			b.Error("the next was not woken")
		}
	})
}

func TestNobodyIsWokenForAPausedQueue(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.sleeping("s")
		if err := b.store.PauseQueue(b.Context(), "default", true); err != nil {
			b.Fatal(err)
		}
		b.enqueue(job("1"))
		if b.asleepSince("s").IsZero() {
			b.Error("woken, and nothing may be taken")
		}
		if err := b.store.PauseQueue(b.Context(), "default", false); err != nil {
			b.Fatal(err)
		}
		if !b.asleepSince("s").IsZero() {
			b.Error("not woken when the queue was resumed")
		}
	})
}

// Who finds by itself what somebody ahead of it should have taken takes those off: they are dead, or return at their next look.
func TestASleeperThatFindsWorkDropsThoseAheadOfIt(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.sleeping("dead")
		b.client.ZAdd(b.Context(), b.keys().idle, redisZ(float64(time.Now().Add(-time.Second).UnixMilli()), "w-dead"))
		since := b.sleeping("s")
		b.client.HSet(b.Context(), b.keys().jobs, "1", "\x011")
		b.client.RPush(b.Context(), b.keys().ready, "1") // as if the wake-up had gone to the dead
		if answer := b.look("s", since, since.Add(time.Millisecond)); !answer.More {
			b.Errorf("a job waits, and the look says %+v", answer)
		}
		if !b.asleepSince("dead").IsZero() {
			b.Error("the dead one is still first in line")
		}
	})
}

func TestReapedJobsComeBackInOrderAndWakeSomebody(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		var items []protocol.EnqueueItem
		for i := range 60 {
			items = append(items, job(fmt.Sprintf("j%02d", i)))
		}
		b.enqueue(items...)
		first := ids(b.work("gone", protocol.WorkCall{Take: 60, TTL: time.Millisecond}).Taken)
		lapsed := b.untilLapsed()
		b.sleeping("s")
		b.reap(lapsed, 1)
		if !b.asleepSince("s").IsZero() {
			b.Error("nobody was woken")
		}
		b.want("taken again", ids(b.take("s", 60)), first)
	})
}

// heard waits for the alarm that a sleeper is told of.
func heard(b *bench, line protocol.Listener, want func(protocol.Signal) bool) protocol.Signal {
	b.Helper()
	timeout := time.After(10 * time.Second)
	for {
		select {
		case signal := <-line.Signals():
			if want(signal) {
				return signal
			}
		case <-timeout:
			b.Fatal("nothing was heard")
		}
	}
}

// A retry that is due before all else is told to the first two sleepers, the second of whom lets the first go ahead.
func TestTheFirstTwoSleepersAreToldOfARetry(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("1"))
		taken := b.take("busy", 1)
		var lines []protocol.Listener
		for _, session := range []string{"a", "b", "c"} {
			line := b.store.Listen("w-" + session)
			defer line.Close()
			heard(b, line, func(s protocol.Signal) bool { return s.Connected })
			lines = append(lines, line)
			b.sleeping(session)
		}
		answer := b.work("busy", protocol.WorkCall{Settle: []protocol.Settlement{{
			ID: "1", Fence: taken[0].Fence, Kind: protocol.SettleLater, Delay: 3 * time.Second, Failed: true,
		}}})
		due := answer.Now.Add(3 * time.Second)
		for i, line := range lines[:2] {
			at := heard(b, line, func(s protocol.Signal) bool { return !s.Alarm.IsZero() }).Alarm
			want := due.Add(time.Duration(i) * 20 * time.Millisecond)
			if late := at.Sub(want); late < 0 || late > time.Millisecond {
				b.Errorf("sleeper %d was told %v after the instant, want the next millisecond at most", i, late)
			}
		}
		if b.asleepSince("a").IsZero() || b.asleepSince("b").IsZero() {
			b.Error("who keeps an alarm sleeps on")
		}
	})
}

// Nothing is due before its time: what is a part of a millisecond longer is due in the next.
func TestDelaysAreRoundedUp(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for n := range 20 {
			id := fmt.Sprintf("j%02d", n)
			delay := 20*time.Second + time.Duration(n*53)*time.Microsecond
			item := job(id)
			item.In = delay
			b.callers++
			enqueued := b.store.Enqueue(b.Context(), []protocol.EnqueueCall{{Partition: line0, Caller: "caller", Number: b.callers, Items: []protocol.EnqueueItem{item}}})[0]
			if enqueued.Err != nil {
				b.Fatal(enqueued.Err)
			}
			b.dueAfter(id, enqueued.Now, delay)
			b.client.ZAdd(b.Context(), b.keys().due, redisZ(0, id))
			taken := b.take("s", 1)
			settled := b.work("s", protocol.WorkCall{Settle: []protocol.Settlement{{ID: id, Fence: taken[0].Fence, Kind: protocol.SettleLater, Delay: delay, Failed: true}}})
			b.dueAfter(id, settled.Now, delay)
			b.client.ZRem(b.Context(), b.keys().due, id)
		}
	})
}

func (b *bench) dueAfter(id string, now time.Time, delay time.Duration) {
	b.Helper()
	score, err := b.client.ZScore(b.Context(), b.keys().due, id).Result()
	if err != nil {
		b.Fatal(err)
	}
	if off := time.UnixMilli(int64(score)).Sub(now.Add(delay)); off < 0 || off > 2*time.Millisecond {
		b.Errorf("%s is due %v after its instant, want none before and two milliseconds at most", id, off)
	}
}

// A job that was taken ahead has begun only if whoever says so holds it under that fence.
func TestBeginningNeedsTheFence(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("a"), job("b"))
		taken := b.work("s", protocol.WorkCall{Take: 2, Ahead: 2}).Taken
		b.work("s", protocol.WorkCall{Begun: []protocol.BegunJob{{ID: "a", Fence: taken[0].Fence}, {ID: "b", Fence: taken[1].Fence + 5}}})
		held := b.client.HMGet(b.Context(), b.keys().inflight("s"), "a", "b").Val()
		if a, _ := held[0].(string); strings.HasPrefix(a, "-") {
			b.Errorf("a has begun and is held as %q", a)
		}
		if other, _ := held[1].(string); !strings.HasPrefix(other, "-") {
			b.Errorf("b has not begun and is held as %q", other)
		}
	})
}
