package redisstore

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

func (b *bench) pauseWith(paused bool, note protocol.Note) {
	b.Helper()
	if err := b.store.PauseQueue(b.Context(), "default", paused, note); err != nil {
		b.Fatal(err)
	}
}

// state reads a field of …:state; empty: it is not there.
func (b *bench) state(field string) string {
	return b.client.HGet(b.Context(), b.keys().state, field).Val()
}

// gateClosed reports whether enqueue_one.lua leaves all jobs to enqueue.lua.
func (b *bench) gateClosed() bool {
	return b.client.ZScore(b.Context(), b.keys().idle, "#closed").Err() == nil
}

func TestTheGateIsClosedWhileAQueueIsPausedOrLimited(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for _, c := range []struct {
			step   string
			do     func()
			closed bool
		}{
			{"limit", func() { b.Limit(protocol.QueueLimit{Running: 3}) }, true},
			{"pause", func() { b.pauseWith(true, protocol.Note{}) }, true},
			{"resume", func() { b.pauseWith(false, protocol.Note{}) }, true},
			{"wake", func() { b.Sleeping("s"); b.Enqueue(storesuite.Job("a")) }, true},
			{"poll that finds it", func() {
				b.client.ZAdd(b.Context(), b.keys().idle, redisZ(float64(b.clock().UnixMilli()), "w-late"))
				if !b.Poll("late", time.Time{}, time.Time{}).More {
					b.Error("a poll does not find the job")
				}
			}, true},
			{"pause again", func() { b.pauseWith(true, protocol.Note{}) }, true},
			{"no limit", func() { b.Limit(protocol.QueueLimit{}) }, true},
			{"resume without a limit", func() { b.pauseWith(false, protocol.Note{}) }, false},
			{"limit again", func() { b.Limit(storesuite.OneAnHour) }, true},
			{"no limit again", func() { b.Limit(protocol.QueueLimit{}) }, false},
		} {
			c.do()
			if b.gateClosed() != c.closed {
				b.Fatalf("after %q the gate is closed: %v, want %v", c.step, !c.closed, c.closed)
			}
		}
	})
}

// A sleeping worker is woken when a job may start, by the call that makes this possible, and not before.
func TestAWorkerIsWokenWhenTheLimitLetsAJobStart(t *testing.T) {
	opens := map[string]func(b *bench, fence int64){
		"a job is done": func(b *bench, fence int64) {
			b.Settle("busy", protocol.Settlement{ID: "a", Fence: fence, Kind: protocol.SettleDone})
		},
		"a sleeping worker's job is done": func(b *bench, fence int64) {
			b.Work("busy", protocol.WorkCall{SleepOn: true, Settle: []protocol.Settlement{{ID: "a", Fence: fence, Kind: protocol.SettleDone}}})
		},
		"a job failed": func(b *bench, fence int64) {
			b.Settle("busy", protocol.Settlement{ID: "a", Fence: fence, Kind: protocol.SettleLater, Delay: time.Hour, Failed: true})
		},
		"a job is parked": func(b *bench, fence int64) {
			b.Settle("busy", protocol.Settlement{ID: "a", Fence: fence, Kind: protocol.SettlePark, Name: "mail"})
		},
		"its worker vanished": func(b *bench, _ int64) { b.Reap(b.UntilLapsed(), 1) },
		"more may run":        func(b *bench, _ int64) { b.Limit(protocol.QueueLimit{Running: 2}) },
		"any number may run":  func(b *bench, _ int64) { b.Limit(protocol.QueueLimit{}) },
		"it is counted again": func(b *bench, _ int64) {
			b.client.Del(b.Context(), b.keys().inflight("busy")) // a manual edit, or an eviction
			if _, err := b.sweep(); err != nil {
				b.Fatal(err)
			}
		},
	}
	for name, open := range opens {
		t.Run(name, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.Limit(storesuite.OneAtOnce)
				b.Enqueue(storesuite.Job("a"))
				fence := b.Work("busy", protocol.WorkCall{Take: 1, TTL: time.Millisecond}).Taken[0].Fence
				b.Sleeping("s")
				b.Enqueue(storesuite.Job("b"))
				for act, answer := range map[string]protocol.WaitHint{
					"take": b.Work("s", protocol.WorkCall{Take: 5, Sleep: true}).WaitHint, "poll": b.Poll("s", time.Time{}, time.Time{}).WaitHint,
				} {
					if answer.More || answer.Next != 0 || answer.Limit != protocol.LimitFull {
						b.Errorf("a %s of a full queue: %+v", act, answer)
					}
				}
				if err := b.store.Leave(b.Context(), []protocol.LeaveCall{{Partition: storesuite.DefaultPartition, Worker: "w-other"}}); err != nil {
					b.Fatal(err)
				}
				if b.asleepSince("s").IsZero() {
					b.Fatal("woken before a job may start")
				}
				open(b, fence)
				if !b.asleepSince("s").IsZero() {
					b.Error("not woken")
				}
			})
		})
	}
}

// While workers wait for a start, the first two sleeping ones have the alarm for the next one.
func TestTheAlarmIsForTheNextStart(t *testing.T) {
	onServersWith(t, listening, func(b *bench) {
		const per = 10 * time.Second // a later instant is published to nobody
		b.Limit(protocol.QueueLimit{Starts: 1, Per: per})
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"))
		listener := b.store.Listen("w-s")
		defer listener.Close()
		receive(b, listener, func(s protocol.Signal) bool { return s.Connected })
		b.Work("s", protocol.WorkCall{Sleep: true, Take: 0})
		b.client.ZAdd(b.Context(), b.keys().idle, redisZ(float64(b.clock().UnixMilli()), "w-s"))
		taken := b.Work("busy", protocol.WorkCall{Take: 5})
		if len(taken.Taken) != 1 || taken.More || taken.Limit != protocol.LimitSpent {
			b.Fatalf("took %+v, want one job and no more", taken)
		}
		at := receive(b, listener, func(s protocol.Signal) bool { return !s.Alarm.IsZero() }).Alarm
		if in := at.Sub(taken.Now); in < per-time.Second || in > per+time.Millisecond {
			b.Errorf("the alarm is in %v, want the instant of the next start", in)
		}
		if b.asleepSince("s").IsZero() {
			b.Error("it was woken instead")
		}
		if poll := b.Poll("s", time.Time{}, time.Time{}); poll.More || poll.Next <= 0 || poll.Next > per+time.Millisecond || poll.Limit != protocol.LimitSpent {
			b.Errorf("a poll answers %+v, want the instant of the next start", poll.WaitHint)
		}
	})
}

// A start counts until more than Per has passed since it, to the microsecond. A poll answers the first millisecond at which the next job may start.
func TestAStartCountsUntilPerHasPassed(t *testing.T) {
	onServersWith(t, settableClock, func(b *bench) {
		began := b.serverSecond().Add(time.Minute)
		b.SetClock(began)
		b.Limit(protocol.QueueLimit{Starts: 1, Per: time.Second})
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"))
		b.Want("taken", storesuite.IDs(b.Take("s", 5)), "a")
		next := b.Poll("s", time.Time{}, time.Time{}).Next
		for _, passed := range []time.Duration{time.Second - time.Microsecond, time.Second, next - time.Millisecond} {
			b.SetClock(began.Add(passed))
			if taken := b.Take("s", 5); len(taken) > 0 {
				b.Fatalf("%v after the start: taken %s", passed, storesuite.IDs(taken))
			}
		}
		b.SetClock(began.Add(next))
		b.Want("taken at the instant that the poll has answered", storesuite.IDs(b.Take("s", 5)), "b")
		b.Enqueue(storesuite.Job("c"))
		b.SetClock(began.Add(next + time.Second + time.Microsecond))
		b.Want("taken a microsecond after Per", storesuite.IDs(b.Take("s", 5)), "c")
	})
}

// clock returns the server's time.
func (b *bench) clock() time.Time {
	b.Helper()
	now, err := b.client.Time(b.Context()).Result()
	if err != nil {
		b.Fatal(err)
	}
	return now
}

func TestAQueueWithPartitionsHasNoLimit(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.store.options.Partitions = map[string]int{"wide": 3}
		err := b.store.LimitQueue(b.Context(), "wide", storesuite.OneAtOnce)
		if !errors.Is(err, &protocol.InvalidError{Field: "queue", Value: "wide"}) || !strings.Contains(err.Error(), "3 partitions") {
			b.Errorf("a queue with three partitions: %v, want an error with that number", err)
		}
		if err := b.store.LimitQueue(b.Context(), "wide", protocol.QueueLimit{}); err != nil {
			b.Errorf("removing its limit: %v", err)
		}
		if err := b.store.LimitQueue(b.Context(), "unknown", protocol.QueueLimit{}); err != nil || b.client.HExists(b.Context(), b.store.keys.queues(), "unknown").Val() {
			b.Errorf("removing the limit of an unknown queue: %v; and it must not be registered", err)
		}
		if err := b.store.LimitQueue(b.Context(), "new", storesuite.OneAtOnce); err != nil || b.client.HGet(b.Context(), b.store.keys.queues(), "new").Val() != "1" {
			b.Errorf("a limit for an unknown queue: %v; and it must be registered", err)
		}
	})
}

// A limit may be what protects a third party: if nobody can read it, no job is taken until it is set again, and it is reported.
func TestALimitThatNobodyCanReadHoldsTheQueue(t *testing.T) {
	for _, text := range []string{
		"x", "1", "-1 0 0 0 0 0", "1 0 0 0 0", "99999999999999999999 0 0 0 0 0", "0 5 0 0 0 0", strings.Repeat("9 ", 40), "0 5 1000 0 1:2", "0 5 1000 0 1:2:x", " ",
	} {
		onServersWith(t, repairing, func(b *bench) {
			b.Limit(protocol.QueueLimit{Running: 2})
			b.Enqueue(storesuite.Job("a"), storesuite.Job("b"), storesuite.Job("c"))
			fence := b.Work("s", protocol.WorkCall{Take: 1, TTL: time.Millisecond}).Taken[0].Fence
			b.client.HSet(b.Context(), b.keys().state, "limit", text)
			answer := b.Work("t", protocol.WorkCall{Take: 5, Ahead: 2, Sleep: true})
			if len(answer.Taken) != 0 || answer.Unreadable != "limit" || answer.Limit != protocol.LimitFull || answer.More {
				b.Errorf("%q: %+v, want no job, and the field named", text, answer)
			}
			if poll := b.Poll("t", time.Time{}, time.Time{}); poll.More || poll.Limit != protocol.LimitFull {
				b.Errorf("%q: a poll answers %+v", text, poll.WaitHint)
			}
			b.Enqueue(storesuite.Job("d"))
			b.Work("s", protocol.WorkCall{Settle: []protocol.Settlement{{ID: "a", Fence: fence, Kind: protocol.SettleDone}}, TTL: time.Millisecond})
			b.Reap(b.UntilLapsed(), 0)
			if _, err := b.sweep(); err != nil {
				b.Fatal(err)
			}
			b.Want("found by Verify", found(b.Verify(true)), "unreadable limit")
			if b.state("limit") != text || b.asleepSince("t").IsZero() {
				b.Errorf("%q is now %q, and the worker sleeps since %v; want no change", text, b.state("limit"), b.asleepSince("t"))
			}
			b.Limit(protocol.QueueLimit{Running: 2})
			if !b.asleepSince("t").IsZero() {
				b.Error("setting the limit again wakes no worker")
			}
			b.Want("taken under the limit that is set again", storesuite.IDs(b.Take("t", 5)), "b c")
		})
	}
}

// A token bucket that a program before layout 4 has stored is read: no more jobs start than both rules allow.
func TestTheTokensOfAnEarlierLayoutCountAsStarts(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		now := b.clock()
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"), storesuite.Job("c"), storesuite.Job("d"), storesuite.Job("e"))
		// two tokens of four are left, and the bucket is a tenth of a second old
		b.client.HSet(b.Context(), b.keys().state, "limit", fmt.Sprint("0 4 3600000 0 7200000 ", now.Add(-100*time.Millisecond).UnixMilli()), "layout", "3")
		first := b.Work("s", protocol.WorkCall{Take: 5})
		b.Want("taken", storesuite.IDs(first.Taken), "a b")
		if b.state("layout") != layout || first.Limit != protocol.LimitSpent {
			b.Errorf("layout %s, limit %v", b.state("layout"), first.Limit)
		}
		if in := b.Poll("t", time.Time{}, time.Time{}).Limit; in != protocol.LimitSpent {
			b.Errorf("a poll answers %v", in)
		}
	})
}

// A count that was edited by hand is correct again after the next sweep; if it is too low, it does not fall below 0.
func TestASweepRecountsRunningJobs(t *testing.T) {
	for _, count := range []string{"0", "77"} {
		onEveryServer(t, func(b *bench) {
			b.Limit(protocol.QueueLimit{Running: 4})
			b.Enqueue(storesuite.Job("a"), storesuite.Job("b"), storesuite.Job("c"))
			b.Take("one", 2)
			b.Take("two", 1)
			b.client.HSet(b.Context(), b.keys().state, "limit", "4 0 0 "+count+" 0 0")
			if _, err := b.sweep(); err != nil {
				b.Fatal(err)
			}
			if counted := strings.Fields(b.state("limit"))[3]; counted != "3" {
				b.Errorf("%s are counted after the sweep, want 3", counted)
			}
		})
	}
}

func TestTheNoteOfAPauseRemainsUntilAnotherOneComes(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		shown := func(text, by string) time.Time {
			b.Helper()
			s := b.Stats()
			if !s.Paused || s.Note.Text != text || s.Note.By != by || s.Note.At.IsZero() || s.Note.At.Sub(s.Now).Abs() > time.Minute {
				b.Errorf("paused %v, note %+v; want %q by %q, and when", s.Paused, s.Note, text, by)
			}
			return s.Note.At
		}
		b.pauseWith(true, protocol.Note{})
		shown("", "")
		b.pauseWith(true, protocol.Note{Text: "moving\nhouse é <&>", By: "anna"})
		at := shown("moving\nhouse é <&>", "anna")
		b.pauseWith(true, protocol.Note{})
		b.pauseWith(true, protocol.Note{Text: "moving\nhouse é <&>", By: "anna"}) // as after a lost reply
		if again := shown("moving\nhouse é <&>", "anna"); !again.Equal(at) {
			b.Errorf("paused at %v, and the repeated call returns %v", at, again)
		}
		b.pauseWith(true, protocol.Note{By: "otto"})
		shown("", "otto")
		b.pauseWith(false, protocol.Note{})
		if s := b.Stats(); s.Paused || s.Note != (protocol.Note{}) {
			b.Errorf("resumed: paused %v, note %+v", s.Paused, s.Note)
		}
		b.client.HSet(b.Context(), b.keys().state, "paused", "1") // as an older version writes it
		if s := b.Stats(); !s.Paused || s.Note != (protocol.Note{}) {
			b.Errorf("paused by an older version: %v, note %+v; want no note", s.Paused, s.Note)
		}
	})
}

// Go reads the field as the scripts do: also the tokens of an earlier layout, and what was edited by hand.
func TestGoReadsALimitAsTheScriptsDo(t *testing.T) {
	now := time.UnixMilli(1_700_000_060_000)
	for text, want := range map[string]struct {
		used  int
		state protocol.LimitState
	}{
		"":                                {0, protocol.Unlimited},
		"5 0 0 4":                         {0, protocol.LimitOpen},
		"5 0 0 5":                         {0, protocol.LimitFull},
		"0 3 60000 0 0 1700000059000":     {3, protocol.LimitSpent},
		"0 3 60000 0 60000 1700000059000": {2, protocol.LimitOpen},
		"0 3 1000 0 0 1700000000000":      {0, protocol.LimitOpen},
		"0 3 60000 0 1700000059000000:0:1 1700000059500000:0:2": {3, protocol.LimitSpent},
		"0 3 60000 0 1700000059000000:0:1 junk":                 {0, protocol.LimitFull},
		"5":                                                     {0, protocol.LimitFull},
		"5  0 0 4":                                              {0, protocol.LimitFull},
		"0 3 0 0":                                               {0, protocol.LimitFull},
		"5 0 0 -1":                                              {0, protocol.LimitFull},
	} {
		stored := parseLimit(text)
		if used, state := stored.used(now), stored.state(now); used != want.used || state != want.state {
			t.Errorf("%q: %d starts count, state %v; want %d, %v", text, used, state, want.used, want.state)
		}
	}
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("a"))
		for text, unreadable := range map[string]bool{"5 0 0 0": false, "five": true, "0 3 60000 0 junk": true} {
			b.client.HSet(b.Context(), b.keys().state, "limit", text)
			stats, err := b.store.QueueStats(b.Context(), []string{"default"})
			if err != nil || stats[0].LimitUnreadable != unreadable {
				b.Errorf("limit %q: %+v, %v; want unreadable %v", text, stats[0].Limit, err, unreadable)
			}
			if taken := b.Work("s", protocol.WorkCall{Take: 1}).Taken; unreadable && len(taken) > 0 {
				b.Errorf("limit %q: a job was taken", text)
			}
		}
	})
}
