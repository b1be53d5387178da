package redisstore

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func TestLargeReadyJobsDoNotHoldUpDueJobs(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for i := range 6 {
			large := job(fmt.Sprint("r", i))
			large.Body = []byte("\x01" + strings.Repeat("x", 600<<10))
			b.enqueue(large)
		}
		due := job("d")
		due.At = time.Now().Add(-time.Second)
		b.enqueue(due)
		if taken := ids(b.take("s", 10)) + " " + ids(b.take("s", 10)); !strings.Contains(taken, "d") {
			b.Errorf("taken in two calls: %s; want the one that is due among them", taken)
		}
	})
}

func TestALapseTooFarAheadIsCorrectedWhileOtherSessionsLive(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("a"), job("b"))
		b.take("gone~12000", 1)
		b.take("lives", 1)
		b.client.ZAdd(b.Context(), b.keys().sessions, redisZ(float64(time.Now().Add(time.Hour).UnixMilli()), "gone~12000"))
		if poll := b.store.Poll(b.Context(), []protocol.PollCall{{Partition: defaultPartition, Worker: "poller"}})[0]; poll.Err != nil {
			b.Fatal(poll.Err)
		}
		lapse := time.UnixMilli(int64(b.client.ZScore(b.Context(), b.keys().sessions, "gone~12000").Val()))
		if in := time.Until(lapse); in > 12*time.Second {
			b.Errorf("the session lapses in %v, want no more than its TTL of 12s", in)
		}
	})
}

func TestASessionBeingReapedCannotStartAgain(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		items := make([]protocol.EnqueueItem, 600)
		for i := range items {
			items[i] = job(fmt.Sprint("j", i))
		}
		b.enqueue(items[:300]...)
		b.enqueue(items[300:]...)
		b.work("s", protocol.WorkCall{Take: 300, TTL: time.Millisecond})
		b.work("s", protocol.WorkCall{Take: 300, TTL: time.Millisecond})
		lapsed := b.untilLapsed()
		call := protocol.ReapCall{Partition: defaultPartition, Session: "s", Seen: lapsed.Lapse}
		if done, err := b.reapStep(call); done || err != nil {
			b.Fatalf("first step: done %v, error %v; want more to do", done, err)
		}
		b.numbers["s"] = 0 // its first call arrives again, late
		if answer := b.try("s", protocol.WorkCall{Take: 1}); answer.Err == nil {
			b.Errorf("a session that is being reaped took %s", ids(answer.Taken))
		}
		b.reap(lapsed, 1)
		if s := b.stats(); s.Running != 0 || s.Waiting != 600 {
			b.Errorf("stats %+v, want all 600 waiting", s)
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
		first, second := ago(2*time.Hour), ago(time.Hour)
		b.scheduled("report", "cancel", first, second)
		taken := b.take("s", 1)
		b.want("taken", ids(taken), occurrenceID("report", first))
		b.settle("s", protocol.Settlement{ID: taken[0].ID, Fence: taken[0].Fence, Kind: protocol.SettleLater, Body: []byte("\x01"), Failed: true})
		b.client.ZAdd(b.Context(), b.keys().due, redisZ(float64(ago(time.Minute).UnixMilli()), taken[0].ID))
		b.want("taken next", ids(b.take("s", 5)), occurrenceID("report", second))
		b.want("superseded", b.client.HGet(b.Context(), b.keys().counters, "report/superseded").Val(), "1")
	})
}

func TestAMissedRunOfARemovedScheduleLeavesANewOneOfThatNameAlone(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.scheduled("report", "skip", ago(time.Hour))
		old := b.take("s", 1)[0]
		if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "report"}); err != nil {
			b.Fatal(err)
		}
		again := b.declare("report", "skip", `{"job":"j"}`)
		b.place(*again.Owed, again.Revision, 1, ago(-time.Hour))
		b.settle("s", protocol.Settlement{ID: old.ID, Fence: old.Fence, Kind: protocol.SettleMissed})
		found, err := b.store.Find(b.Context(), []string{"report"})
		if err != nil || found[0].Cursor.Used != 1 || found[0].Missed != 0 {
			b.Errorf("found %+v, %v; want its one run used and nothing missed", found, err)
		}
	})
}

// Under policy cancel the occurrence in behind replaces the one that a crash returns.
func TestUnderCancelTheOccurrenceBehindReplacesTheOneThatCrashed(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		first, second := ago(30*time.Second), ago(20*time.Second)
		b.scheduled("s", "cancel", first, second)
		b.want("taken", ids(b.work("w", protocol.WorkCall{Take: 5, TTL: time.Millisecond}).Taken), occurrenceID("s", first))
		b.reap(b.untilLapsed(), 1)
		b.want("taken after the crash", ids(b.take("w2", 5)), occurrenceID("s", second))
		b.want("superseded", b.client.HGet(b.Context(), b.keys().counters, "s/superseded").Val(), "1")
		if n := b.client.Exists(b.Context(), b.keys().ready, b.keys().due).Val(); n != 0 {
			b.Error("something of the replaced one is left in ready or due")
		}
	})
}

func TestSweepRemovesTheMarkOfAMove(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.scheduled("s", "skip", ago(time.Minute))
		b.take("w", 1)
		b.declareOn("mail", "s", "skip", `{"job":"j"}`)
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

// An instant before 1970 is one in the past, as At documents. A score that no client writes holds nothing up either.
func TestAnInstantBefore1970AndStrangeScoresStopNoQueue(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		poll := func() protocol.PollAnswer {
			b.Helper()
			answer := b.store.Poll(b.Context(), []protocol.PollCall{{Partition: defaultPartition, Worker: "poller"}})[0]
			if answer.Err != nil {
				b.Fatal(answer.Err)
			}
			return answer
		}
		old := job("old")
		old.At = time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC)
		b.enqueue(old)
		b.want("score", fmt.Sprint(b.client.ZScore(b.Context(), b.keys().due, "old").Val()), "0")
		b.want("more", fmt.Sprint(poll().More), "true")
		b.want("taken", ids(b.take("s", 5)), "old")

		for _, score := range []float64{math.Inf(-1), -5} {
			b.enqueue(job("x"))
			b.client.LPop(b.Context(), b.keys().ready)
			b.client.ZAdd(b.Context(), b.keys().due, redisZ(score, "x"))
			b.want(fmt.Sprintf("more at %v", score), fmt.Sprint(poll().More), "true")
			b.want(fmt.Sprintf("taken at %v", score), ids(b.take("s", 5)), "x")
		}
		b.enqueue(job("never"))
		b.client.LPop(b.Context(), b.keys().ready)
		b.client.ZAdd(b.Context(), b.keys().due, redisZ(math.Inf(1), "never"))
		b.want("more at +inf", fmt.Sprint(poll().More), "false")
		b.enqueue(job("ready"))
		b.want("taken beside +inf", ids(b.take("s", 5)), "ready")
	})
}

// A lapse too far ahead is one further than the session's own time to live, whatever those of others are.
func TestTheTTLOfOneSessionDoesNotRaiseTheClampOfAnother(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		long, short := protocol.NewSession(time.Hour), protocol.NewSession(12*time.Second)
		b.enqueue(job("a"), job("b"))
		b.work(long, protocol.WorkCall{Take: 1, TTL: time.Hour})
		b.take(short, 1)
		b.client.ZAdd(b.Context(), b.keys().sessions, redisZ(float64(time.Now().Add(50*time.Minute).UnixMilli()), short)) // the clock stepped back
		if poll := b.store.Poll(b.Context(), []protocol.PollCall{{Partition: defaultPartition, Worker: "poller"}})[0]; poll.Err != nil {
			b.Fatal(poll.Err)
		}
		for session, want := range map[string][2]time.Duration{long: {59 * time.Minute, time.Hour}, short: {0, 12 * time.Second}} {
			lapse := time.UnixMilli(int64(b.client.ZScore(b.Context(), b.keys().sessions, session).Val()))
			if in := time.Until(lapse); in < want[0] || in > want[1] {
				b.Errorf("session %s lapses in %v, want %v to %v", session, in, want[0], want[1])
			}
		}
	})
}
