package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A worker that is no longer registered as asleep was woken: a script does both in one step.

func TestATakeThatLeavesJobsWakesOneMoreWorker(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for _, session := range []string{"a", "b", "c"} {
			b.Sleeping(session)
		}
		b.Enqueue(storesuite.Job("1"), storesuite.Job("2"), storesuite.Job("3"))
		if !b.asleepSince("a").IsZero() || b.asleepSince("b").IsZero() {
			b.Fatal("a call that enqueues wakes the worker asleep longest, and no other")
		}
		b.Work("a", protocol.WorkCall{Take: 1, Sleep: true})
		if !b.asleepSince("b").IsZero() || b.asleepSince("c").IsZero() {
			b.Error("a take that leaves jobs wakes the next worker, and no other")
		}
		b.Work("b", protocol.WorkCall{Take: 5, Sleep: true})
		if b.asleepSince("c").IsZero() {
			b.Error("a take that leaves no job wakes no worker")
		}
	})
}

func TestAWorkerThatFillsItsSlotsIsNotAsleep(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Sleeping("s")
		item := storesuite.Job("soon")
		item.In = time.Millisecond
		b.Enqueue(item) // which wakes no worker
		for len(b.Work("s", protocol.WorkCall{Take: 1, Sleep: true}).Taken) == 0 {
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
		b.Sleeping("a")
		b.Sleeping("b")
		b.Enqueue(storesuite.Job("1"))
		if err := b.store.Leave(b.Context(), []protocol.LeaveCall{{Partition: storesuite.DefaultPartition, Worker: "w-a"}}); err != nil {
			b.Fatal(err)
		}
		if !b.asleepSince("b").IsZero() {
			b.Error("the next was not woken")
		}
	})
}

func TestNoWorkerIsWokenForAPausedQueue(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Sleeping("s")
		if err := b.store.PauseQueue(b.Context(), "default", true, protocol.Note{}); err != nil {
			b.Fatal(err)
		}
		b.Enqueue(storesuite.Job("1"))
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

// A worker finds work by its own poll that a worker registered before it should have taken. It removes the workers registered before it: they
// are dead, or register again at their next poll.
func TestASleepingWorkerThatFindsWorkRemovesThoseAheadOfIt(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Sleeping("dead")
		b.client.ZAdd(b.Context(), b.keys().idle, redisZ(float64(time.Now().Add(-time.Second).UnixMilli()), "w-dead"))
		since := b.Sleeping("s")
		b.client.HSet(b.Context(), b.keys().jobs, "1", "\x011")
		b.client.RPush(b.Context(), b.keys().ready, "1") // as if the wake-up had gone to the dead worker
		if answer := b.Poll("s", since, since.Add(time.Millisecond)); !answer.More {
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
			items = append(items, storesuite.Job(fmt.Sprintf("j%02d", i)))
		}
		b.Enqueue(items...)
		first := storesuite.IDs(b.Work("gone", protocol.WorkCall{Take: 60, TTL: time.Millisecond}).Taken)
		lapsed := b.UntilLapsed()
		b.Sleeping("s")
		b.Reap(lapsed, 1)
		if !b.asleepSince("s").IsZero() {
			b.Error("no worker was woken")
		}
		b.Want("taken again", storesuite.IDs(b.Take("s", 60)), first)
	})
}

// receive returns the first wanted signal of a listener.
func receive(b *bench, listener protocol.Listener, want func(protocol.Signal) bool) protocol.Signal {
	b.Helper()
	timeout := time.After(time.Minute) // real time: a signal that does not come fails the test
	for {
		select {
		case signal := <-listener.Signals():
			if want(signal) {
				return signal
			}
		case <-timeout:
			b.Fatal("no such signal within a minute")
		}
	}
}

// The first two sleeping workers get the alarm of a retry that is due before everything else, the second one 20 ms later.
func TestTheFirstTwoSleepingWorkersGetTheAlarmOfARetry(t *testing.T) {
	onServersWith(t, listening, func(b *bench) {
		b.Enqueue(storesuite.Job("1"))
		taken := b.Take("busy", 1)
		var listeners []protocol.Listener
		for _, session := range []string{"a", "b", "c"} {
			listener := b.store.Listen("w-" + session)
			defer listener.Close()
			receive(b, listener, func(s protocol.Signal) bool { return s.Connected })
			listeners = append(listeners, listener)
			b.Sleeping(session)
		}
		answer := b.Work("busy", protocol.WorkCall{Settle: []protocol.Settlement{{
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
			item := storesuite.Job(id)
			item.In = delay
			b.Callers++
			enqueued := b.store.Enqueue(b.Context(), []protocol.EnqueueCall{{Partition: storesuite.DefaultPartition, Caller: "caller", Number: b.Callers, Items: []protocol.EnqueueItem{item}}})[0]
			if enqueued.Err != nil {
				b.Fatal(enqueued.Err)
			}
			b.dueAfter(id, enqueued.Now, delay)
			b.client.ZAdd(b.Context(), b.keys().due, redisZ(0, id))
			taken := b.Take("s", 1)
			settled := b.Work("s", protocol.WorkCall{Settle: []protocol.Settlement{{ID: id, Fence: taken[0].Fence, Kind: protocol.SettleLater, Delay: delay, Failed: true}}})
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

// A job taken ahead has begun only if the call that marks it names its fence.
func TestAJobTakenAheadBeginsOnlyUnderItsFence(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"))
		taken := b.Work("s", protocol.WorkCall{Take: 2, Ahead: 2}).Taken
		b.Work("s", protocol.WorkCall{Begun: []protocol.BegunJob{{ID: "a", Fence: taken[0].Fence}, {ID: "b", Fence: taken[1].Fence + 5}}})
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
		receive(b, listener, func(s protocol.Signal) bool { return s.Connected })
		b.Work("s", protocol.WorkCall{Take: 1, Sleep: true, Lapses: true})
		b.Enqueue(storesuite.Job("a"))
		receive(b, listener, func(s protocol.Signal) bool { return s.Wake })
		taken := b.Work("s", protocol.WorkCall{Take: 2, Sleep: true, Lapses: true}).Taken
		b.Want("taken", storesuite.IDs(taken), "a")
		later := storesuite.Job("b")
		later.At = time.Now().Add(10 * time.Second).Truncate(time.Millisecond) // a later instant is published to nobody
		b.Enqueue(later)
		if s := receive(b, listener, func(s protocol.Signal) bool { return !s.Alarm.IsZero() }); !s.Alarm.Equal(later.At) {
			b.Fatalf("signal %+v, want an alarm at %v", s, later.At)
		}
		poll := b.store.Poll(b.Context(), []protocol.PollCall{{Partition: storesuite.DefaultPartition, Worker: "w-s", Sleep: true}})[0]
		if poll.Next <= 0 || poll.Second || poll.More {
			b.Errorf("poll %+v, want the first keeper of the alarm", poll)
		}
		if err := b.store.Leave(b.Context(), []protocol.LeaveCall{{Partition: storesuite.DefaultPartition, Worker: "w-s"}}); err != nil {
			b.Fatal(err)
		}
		if n := b.client.ZCard(b.Context(), b.keys().idle).Val(); n != 0 {
			b.Errorf("%d asleep, want none", n)
		}
	})
}
