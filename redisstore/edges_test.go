package redisstore

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

func TestALapseTooFarAheadIsCorrectedWhileOtherSessionsLive(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"))
		b.Take("gone~12000", 1)
		b.Take("lives", 1)
		b.client.ZAdd(b.Context(), b.keys().sessions, redisZ(float64(time.Now().Add(time.Hour).UnixMilli()), "gone~12000"))
		if poll := b.store.Poll(b.Context(), []protocol.PollCall{{Partition: storesuite.DefaultPartition, Worker: "poller"}})[0]; poll.Err != nil {
			b.Fatal(poll.Err)
		}
		lapse := time.UnixMilli(int64(b.client.ZScore(b.Context(), b.keys().sessions, "gone~12000").Val()))
		if in := time.Until(lapse); in > 12*time.Second {
			b.Errorf("the session lapses in %v, want no more than its TTL of 12s", in)
		}
	})
}

// An alarm does not name its partition: the later one of another partition must not replace the earlier one.
func TestOfUndeliveredAlarmsTheEarliestIsKept(t *testing.T) {
	l := &listener{added: make(chan struct{}, 1)}
	early, late := time.Unix(100, 0), time.Unix(200, 0)
	l.push(protocol.Signal{Alarm: early})
	l.push(protocol.Signal{Wake: true})
	l.push(protocol.Signal{Alarm: late})
	found := false
	for _, s := range l.undelivered {
		found = found || s.Alarm.Equal(early)
	}
	if !found || len(l.undelivered) != 2 {
		t.Errorf("undelivered %v, want the wake-up and the alarm of %v", l.undelivered, early)
	}
}

func TestUnderCancelARetryTakenTogetherWithItsSuccessorIsSupersededOnce(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		first, second := storesuite.Ago(2*time.Hour), storesuite.Ago(time.Hour)
		b.Scheduled("report", "cancel", first, second)
		taken := b.Take("s", 1)
		b.Want("taken", storesuite.IDs(taken), storesuite.OccurrenceID("report", first))
		b.Settle("s", protocol.Settlement{ID: taken[0].ID, Fence: taken[0].Fence, Kind: protocol.SettleLater, Body: []byte("\x01"), Failed: true})
		b.client.ZAdd(b.Context(), b.keys().due, redisZ(float64(storesuite.Ago(time.Minute).UnixMilli()), taken[0].ID))
		b.Want("taken next", storesuite.IDs(b.Take("s", 5)), storesuite.OccurrenceID("report", second))
		b.Want("superseded", b.client.HGet(b.Context(), b.keys().counters, "report/superseded").Val(), "1")
	})
}

// Under policy cancel the occurrence in behind replaces the one that a crash returns.
func TestUnderCancelTheOccurrenceBehindReplacesTheOneThatCrashed(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		first, second := storesuite.Ago(30*time.Second), storesuite.Ago(20*time.Second)
		b.Scheduled("s", "cancel", first, second)
		b.Want("taken", storesuite.IDs(b.Work("w", protocol.WorkCall{Take: 5, TTL: time.Millisecond}).Taken), storesuite.OccurrenceID("s", first))
		b.Reap(b.UntilLapsed(), 1)
		b.Want("taken after the crash", storesuite.IDs(b.Take("w2", 5)), storesuite.OccurrenceID("s", second))
		b.Want("superseded", b.client.HGet(b.Context(), b.keys().counters, "s/superseded").Val(), "1")
		if n := b.client.Exists(b.Context(), b.keys().ready, b.keys().due).Val(); n != 0 {
			b.Error("data of the replaced one are left in ready or due")
		}
	})
}

func TestSweepRemovesTheMarkOfAMove(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Scheduled("s", "skip", storesuite.Ago(time.Minute))
		b.Take("w", 1)
		b.DeclareOn("mail", "s", "skip", `{"job":"j"}`)
		b.client.ZAdd(b.Context(), b.keys().gone, redisZ(1000, "s"))
		if _, err := b.sweep(); err != nil {
			b.Fatal(err)
		}
		for _, key := range []string{b.keys().schedules, b.keys().cursors, b.keys().gone} {
			if b.client.Exists(b.Context(), key).Val() != 0 {
				b.Errorf("%s is left", key)
			}
		}
	})
}

// An instant before 1970 is in the past, as At documents. A score that no client writes delays nothing either.
func TestAnInstantBefore1970AndStrangeScoresStopNoQueue(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		poll := func() protocol.PollAnswer {
			b.Helper()
			answer := b.store.Poll(b.Context(), []protocol.PollCall{{Partition: storesuite.DefaultPartition, Worker: "poller"}})[0]
			if answer.Err != nil {
				b.Fatal(answer.Err)
			}
			return answer
		}
		old := storesuite.Job("old")
		old.At = time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC)
		b.Enqueue(old)
		b.Want("score", fmt.Sprint(b.client.ZScore(b.Context(), b.keys().due, "old").Val()), "0")
		b.Want("more", fmt.Sprint(poll().More), "true")
		b.Want("taken", storesuite.IDs(b.Take("s", 5)), "old")

		for _, score := range []float64{math.Inf(-1), -5} {
			b.Enqueue(storesuite.Job("x"))
			b.client.LPop(b.Context(), b.keys().ready)
			b.client.ZAdd(b.Context(), b.keys().due, redisZ(score, "x"))
			b.Want(fmt.Sprintf("more at %v", score), fmt.Sprint(poll().More), "true")
			b.Want(fmt.Sprintf("taken at %v", score), storesuite.IDs(b.Take("s", 5)), "x")
		}
		b.Enqueue(storesuite.Job("never"))
		b.client.LPop(b.Context(), b.keys().ready)
		b.client.ZAdd(b.Context(), b.keys().due, redisZ(math.Inf(1), "never"))
		b.Want("more at +inf", fmt.Sprint(poll().More), "false")
		b.Enqueue(storesuite.Job("ready"))
		b.Want("taken beside +inf", storesuite.IDs(b.Take("s", 5)), "ready")
	})
}

// A lapse is too far ahead if it is further than the session's own time to live, with any times to live of other sessions.
func TestTheTTLOfOneSessionDoesNotRaiseTheClampOfAnother(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		long, short := protocol.NewSession(time.Hour), protocol.NewSession(12*time.Second)
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"))
		b.Work(long, protocol.WorkCall{Take: 1, TTL: time.Hour})
		b.Take(short, 1)
		b.client.ZAdd(b.Context(), b.keys().sessions, redisZ(float64(time.Now().Add(50*time.Minute).UnixMilli()), short)) // the clock stepped back
		if poll := b.store.Poll(b.Context(), []protocol.PollCall{{Partition: storesuite.DefaultPartition, Worker: "poller"}})[0]; poll.Err != nil {
			b.Fatal(poll.Err)
		}
		for session, want := range map[string][2]time.Duration{long: {59 * time.Minute, time.Hour}, short: {-time.Hour, 12 * time.Second}} {
			lapse := time.UnixMilli(int64(b.client.ZScore(b.Context(), b.keys().sessions, session).Val()))
			if in := time.Until(lapse); in < want[0] || in > want[1] {
				b.Errorf("session %s lapses in %v, want %v to %v", session, in, want[0], want[1])
			}
		}
	})
}
