package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A worker that is not registered as asleep any more was woken: a script does both in one step.

func TestATakeThatLeavesJobsWakesOneMoreWorker(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for _, session := range []string{"a", "b", "c"} {
			b.sleeping(session)
		}
		b.enqueue(job("1"), job("2"), job("3"))
		if !b.asleepSince("a").IsZero() || b.asleepSince("b").IsZero() {
			b.Fatal("a call that enqueues wakes the worker asleep longest, and no other")
		}
		b.work("a", protocol.WorkCall{Take: 1, Sleep: true})
		if !b.asleepSince("b").IsZero() || b.asleepSince("c").IsZero() {
			b.Error("a take that leaves jobs wakes the next worker, and no other")
		}
		b.work("b", protocol.WorkCall{Take: 5, Sleep: true})
		if b.asleepSince("c").IsZero() {
			b.Error("a take that leaves no job wakes no worker")
		}
	})
}

func TestAWorkerThatFillsItsSlotsIsNotAsleep(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.sleeping("s")
		item := job("soon")
		item.In = time.Millisecond
		b.enqueue(item) // which wakes no worker
		for len(b.work("s", protocol.WorkCall{Take: 1, Sleep: true}).Taken) == 0 {
			if b.asleepSince("s").IsZero() {
				b.Fatal("it took no job, and is not registered as asleep")
			}
		}
		if !b.asleepSince("s").IsZero() {
			b.Error("all its slots are taken, and it is registered as asleep")
		}
	})
}

func TestAWakeUpThatCannotBeUsedIsPassedOn(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.sleeping("a")
		b.sleeping("b")
		b.enqueue(job("1"))
		if err := b.store.Leave(b.Context(), []protocol.LeaveCall{{Partition: defaultPartition, Worker: "w-a", Pass: true}}); err != nil {
			b.Fatal(err)
		}
		if !b.asleepSince("b").IsZero() {
			b.Error("the next was not woken")
		}
	})
}

func TestNoWorkerIsWokenForAPausedQueue(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.sleeping("s")
		if err := b.store.PauseQueue(b.Context(), "default", true, protocol.Note{}); err != nil {
			b.Fatal(err)
		}
		b.enqueue(job("1"))
		if b.asleepSince("s").IsZero() {
			b.Error("woken, though no job may be taken")
		}
		if err := b.store.PauseQueue(b.Context(), "default", false, protocol.Note{}); err != nil {
			b.Fatal(err)
		}
		if !b.asleepSince("s").IsZero() {
			b.Error("not woken when the queue was resumed")
		}
	})
}

// A worker that finds work by its own poll, which a worker ahead of it should have taken, removes those ahead of it: they are dead, or
// register again at their next poll.
func TestASleepingWorkerThatFindsWorkRemovesThoseAheadOfIt(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.sleeping("dead")
		b.client.ZAdd(b.Context(), b.keys().idle, redisZ(float64(time.Now().Add(-time.Second).UnixMilli()), "w-dead"))
		since := b.sleeping("s")
		b.client.HSet(b.Context(), b.keys().jobs, "1", "\x011")
		b.client.RPush(b.Context(), b.keys().ready, "1") // as if the wake-up had gone to the dead worker
		if answer := b.poll("s", since, since.Add(time.Millisecond)); !answer.More {
			b.Errorf("a job waits: got %+v", answer)
		}
		if !b.asleepSince("dead").IsZero() {
			b.Error("the dead worker is still registered")
		}
	})
}

func TestReapedJobsReturnInOrderAndWakeAWorker(t *testing.T) {
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
			b.Error("no worker was woken")
		}
		b.want("taken again", ids(b.take("s", 60)), first)
	})
}

// receive returns the first signal of a listener that is wanted.
func receive(b *bench, listener protocol.Listener, want func(protocol.Signal) bool) protocol.Signal {
	b.Helper()
	timeout := time.After(10 * time.Second)
	for {
		select {
		case signal := <-listener.Signals():
			if want(signal) {
				return signal
			}
		case <-timeout:
			b.Fatal("no such signal within ten seconds")
		}
	}
}

// The first two sleeping workers get the alarm of a retry that is due before everything else, the second one 20 ms later.
func TestTheFirstTwoSleepingWorkersGetTheAlarmOfARetry(t *testing.T) {
	onServersWith(t, listening, func(b *bench) {
		b.enqueue(job("1"))
		taken := b.take("busy", 1)
		var listeners []protocol.Listener
		for _, session := range []string{"a", "b", "c"} {
			listener := b.store.Listen("w-" + session)
			defer listener.Close()
			receive(b, listener, func(s protocol.Signal) bool { return s.Connected })
			listeners = append(listeners, listener)
			b.sleeping(session)
		}
		answer := b.work("busy", protocol.WorkCall{Settle: []protocol.Settlement{{
			ID: "1", Fence: taken[0].Fence, Kind: protocol.SettleLater, Delay: 3 * time.Second, Failed: true,
		}}})
		due := answer.Now.Add(3 * time.Second)
		for i, listener := range listeners[:2] {
			at := receive(b, listener, func(s protocol.Signal) bool { return !s.Alarm.IsZero() }).Alarm
			want := due.Add(time.Duration(i) * protocol.SecondAlarm)
			if late := at.Sub(want); late < 0 || late > time.Millisecond {
				b.Errorf("sleeping worker %d: alarm %v after the instant, want at most the next millisecond", i, late)
			}
		}
		if b.asleepSince("a").IsZero() || b.asleepSince("b").IsZero() {
			b.Error("a worker that keeps an alarm is not registered any more")
		}
	})
}

// No job is due before its time: a delay that ends within a millisecond ends with the next one.
func TestDelaysAreRoundedUpToMilliseconds(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for n := range 20 {
			id := fmt.Sprintf("j%02d", n)
			delay := 20*time.Second + time.Duration(n*53)*time.Microsecond
			item := job(id)
			item.In = delay
			b.callers++
			enqueued := b.store.Enqueue(b.Context(), []protocol.EnqueueCall{{Partition: defaultPartition, Caller: "caller", Number: b.callers, Items: []protocol.EnqueueItem{item}}})[0]
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

// A job taken ahead has begun only if the call that says so names its fence.
func TestAJobTakenAheadBeginsOnlyUnderItsFence(t *testing.T) {
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

func TestASleepingWorkerGetsWakeUpsAndAlarms(t *testing.T) {
	onServersWith(t, listening, func(b *bench) {
		listener := b.store.Listen("w-s")
		defer listener.Close()
		if s := <-listener.Signals(); !s.Connected {
			b.Fatalf("signal %+v, want connected", s)
		}
		b.work("s", protocol.WorkCall{Take: 1, Sleep: true, Lapses: true})
		b.enqueue(job("a"))
		if s := <-listener.Signals(); !s.Wake {
			b.Fatalf("signal %+v, want a wake-up", s)
		}
		taken := b.work("s", protocol.WorkCall{Take: 2, Sleep: true, Lapses: true}).Taken
		b.want("taken", ids(taken), "a")
		later := job("b")
		later.At = time.Now().Add(10 * time.Second).Truncate(time.Millisecond)
		b.enqueue(later)
		if s := <-listener.Signals(); !s.Alarm.Equal(later.At) {
			b.Fatalf("signal %+v, want an alarm at %v", s, later.At)
		}
		poll := b.store.Poll(b.Context(), []protocol.PollCall{{Partition: defaultPartition, Worker: "w-s", Sleep: true}})[0]
		if poll.Next <= 0 || poll.Second || poll.More {
			b.Errorf("poll %+v, want the first keeper of the alarm", poll)
		}
		if err := b.store.Leave(b.Context(), []protocol.LeaveCall{{Partition: defaultPartition, Worker: "w-s"}}); err != nil {
			b.Fatal(err)
		}
		if n := b.client.ZCard(b.Context(), b.keys().idle).Val(); n != 0 {
			b.Errorf("%d asleep, want none", n)
		}
	})
}
