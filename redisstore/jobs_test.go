package redisstore

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func TestJobsAreTakenInOrderWithGrowingFences(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("a"), job("b"), job("c"))
		taken := b.take("s", 2)
		b.want("taken", ids(taken), "a b")
		b.want("body", string(taken[0].Body), "\x01a")
		if taken[0].Fence >= taken[1].Fence || !taken[0].Begun {
			b.Errorf("fences %d, %d, begun %v: want growing ones and begun", taken[0].Fence, taken[1].Fence, taken[0].Begun)
		}
		more := b.take("s", 2)
		b.want("taken next", ids(more), "c")
		if more[0].Fence <= taken[1].Fence {
			b.Errorf("fence %d after %d: want a larger one", more[0].Fence, taken[1].Fence)
		}
		if s := b.stats(); s.Running != 3 || s.Waiting != 0 || s.Enqueued != 3 {
			b.Errorf("stats %+v, want 3 in flight, none waiting", s)
		}
	})
}

func TestADoneJobIsRemoved(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("a"))
		a := b.take("s", 1)[0]
		if !b.settle("s", protocol.Settlement{ID: "a", Fence: a.Fence, Kind: protocol.SettleDone}) {
			b.Fatal("settling was refused")
		}
		if n := b.client.Exists(b.Context(), b.keys().jobs, b.keys().ready, b.keys().due).Val(); n != 0 {
			b.Errorf("%d of jobs, ready, due are left, want none", n)
		}
		if s := b.stats(); s.Done != 1 || s.Running != 0 {
			b.Errorf("stats %+v, want 1 done, none in flight", s)
		}
	})
}

func TestARepeatedWorkCallGetsTheSameAnswerAndWritesNothing(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("a"), job("b"), job("c"), job("d"))
		first := b.take("s", 1)
		second := b.work("s", protocol.WorkCall{Take: 2, Settle: []protocol.Settlement{{ID: "a", Fence: first[0].Fence, Kind: protocol.SettleDone}}})
		again := b.repeat("s", protocol.WorkCall{Take: 2, Settle: []protocol.Settlement{{ID: "a", Fence: first[0].Fence, Kind: protocol.SettleDone}}})
		if again.Err != nil {
			b.Fatal(again.Err)
		}
		b.want("taken", ids(second.Taken), "b c")
		b.want("taken again", ids(again.Taken), "b c")
		if again.Taken[0].Fence != second.Taken[0].Fence || string(again.Taken[1].Body) != "\x01c" || len(again.Refused) != 0 {
			b.Errorf("again %+v, want the same fences and bodies, nothing refused", again)
		}
		if s := b.stats(); s.Done != 1 || s.Running != 2 || s.Waiting != 1 {
			b.Errorf("stats %+v, want 1 done, 2 in flight, 1 waiting", s)
		}
		b.numbers["s"] = 0
		if answer := b.try("s", protocol.WorkCall{Take: 1}); !errors.Is(answer.Err, protocol.ErrSessionLost) {
			b.Errorf("an earlier number: error %v, want ErrSessionLost", answer.Err)
		}
	})
}

func TestASettlementNeedsTheFence(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("a"))
		a := b.take("s", 1)[0]
		for _, kind := range []protocol.SettleKind{protocol.SettleDone, protocol.SettleLater, protocol.SettleDead, protocol.SettleBack} {
			if b.settle("s", protocol.Settlement{ID: "a", Fence: a.Fence - 1, Kind: kind}) {
				b.Errorf("kind %c with another fence was accepted", kind)
			}
		}
		if b.settle("s", protocol.Settlement{ID: "never taken", Fence: a.Fence, Kind: protocol.SettleDone}) {
			b.Error("a job that was not taken was settled")
		}
		if s := b.stats(); s.Running != 1 {
			b.Errorf("in flight %d, want 1", s.Running)
		}
	})
}

func TestARepeatedEnqueueCallAddsNothing(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.want("existing", boolsText(b.enqueue(own("a"), job("b"))), "false false")
		b.callers--
		b.want("the same call again", boolsText(b.enqueue(own("a"), job("b"))), "true false")
		if s := b.stats(); s.Waiting != 2 || s.Enqueued != 2 {
			b.Errorf("stats %+v, want 2 waiting", s)
		}
		for _, taken := range b.take("s", 5) {
			b.settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone})
		}
		b.callers--
		b.enqueue(own("a"), job("b"))
		if s := b.stats(); s.Waiting != 0 {
			b.Errorf("the same call after the jobs were done: %d waiting, want 0", s.Waiting)
		}
		b.callers -= 2
		answer := b.store.Enqueue(b.Context(), []protocol.EnqueueCall{{Partition: defaultPartition, Caller: "caller", Number: b.callers, Items: []protocol.EnqueueItem{job("c")}}})[0]
		if answer.Err == nil {
			b.Error("a call older than the last one was accepted")
		}
	})
}

func TestAnOwnIDIsUniqueAsLongAsTheJobExists(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.want("first and twice in one call", boolsText(b.enqueue(own("x"), own("x"))), "false true")
		b.want("waiting", boolsText(b.enqueue(own("x"))), "true")
		x := b.take("s", 5)
		b.want("taken", ids(x), "x")
		b.want("in flight", boolsText(b.enqueue(own("x"))), "true")
		b.settle("s", protocol.Settlement{ID: "x", Fence: x[0].Fence, Kind: protocol.SettleDone})
		b.want("done", boolsText(b.enqueue(own("x"))), "false")
	})
}

func boolsText(all []bool) string {
	text := ""
	for i, is := range all {
		if i > 0 {
			text += " "
		}
		text += map[bool]string{true: "true", false: "false"}[is]
	}
	return text
}

func TestADelayedJobIsNotTakenEarly(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		later, soon := job("later"), job("soon")
		later.In = time.Hour
		soon.In = 400 * time.Millisecond // a slow machine's next call comes before
		b.enqueue(later, soon)
		answer := b.work("s", protocol.WorkCall{Take: 5, Sleep: true, Lapses: true})
		b.want("taken at once", ids(answer.Taken), "")
		if answer.Next <= 0 || answer.Next > 401*time.Millisecond {
			b.Fatalf("Next %v, want up to 401ms (instants are rounded up to a millisecond)", answer.Next)
		}
		started := time.Now()
		for time.Since(started) < 10*time.Second {
			answer = b.work("s", protocol.WorkCall{Take: 5})
			if len(answer.Taken) > 0 {
				break
			}
		}
		b.want("taken later", ids(answer.Taken), "soon")
	})
}

func TestDueAndReadyJobsShareATake(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		past := time.Now().Add(-time.Hour)
		for _, id := range []string{"d1", "d2", "d3"} {
			item := job(id)
			item.At = past
			past = past.Add(time.Second)
			b.enqueue(item)
		}
		b.enqueue(job("r1"), job("r2"), job("r3"))
		b.want("two and two", ids(b.take("s", 4)), "r1 r2 d1 d2")
		b.want("the rest", ids(b.take("s", 4)), "r3 d3")
	})
}

func TestFailedJobsAreDelayedOrDeadAndJobsGivenBackAreFirst(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("a"), job("b"), job("c"), job("d"))
		taken := b.take("s", 3)
		answer := b.work("s", protocol.WorkCall{Settle: []protocol.Settlement{
			{ID: "a", Fence: taken[0].Fence, Kind: protocol.SettleLater, Delay: time.Hour, Body: []byte("\x01a2"), Failed: true},
			{ID: "b", Fence: taken[1].Fence, Kind: protocol.SettleDead, Body: []byte("\x01b2")},
			{ID: "c", Fence: taken[2].Fence, Kind: protocol.SettleBack},
		}})
		if len(answer.Refused) != 0 {
			b.Fatalf("refused %v", answer.Refused)
		}
		if s := b.stats(); s.Delayed != 1 || s.Dead != 1 || s.Waiting != 2 || s.Retried != 1 || s.Died != 1 || s.Failed != 2 {
			b.Errorf("stats %+v", s)
		}
		b.want("body of the dead", b.client.HGet(b.Context(), b.keys().jobs, "b").Val(), "\x01b2")
		b.want("body to be retried", b.client.HGet(b.Context(), b.keys().jobs, "a").Val(), "\x01a2")
		b.want("given back to the front", ids(b.take("s", 2)), "c d")
	})
}

func TestParkedJobsGoToAWorkerThatAsks(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("a"), job("b"))
		taken := b.take("s", 2)
		answer := b.work("s", protocol.WorkCall{Settle: []protocol.Settlement{
			{ID: "a", Fence: taken[0].Fence, Kind: protocol.SettlePark, Name: "mail"},
			{ID: "b", Fence: taken[1].Fence, Kind: protocol.SettlePark, Name: "report"},
		}})
		if answer.ParkedMark == 0 || answer.More {
			b.Fatalf("mark %d, more %v; want one, and nothing more", answer.ParkedMark, answer.More)
		}
		look := protocol.ParkedLook{Handled: []string{"mail", "sms"}}
		answer = b.work("s2", protocol.WorkCall{Take: 1, ParkedLook: look})
		if len(answer.Parked) != 1 || answer.Parked[0] != "mail" || !answer.Looked {
			b.Fatalf("parked names %q, looked up: %v; want mail, the only one of them with jobs", answer.Parked, answer.Looked)
		}
		mark := answer.ParkedMark
		answer = b.work("s2", protocol.WorkCall{Take: 5, Serve: answer.Parked})
		b.want("served", ids(answer.Taken), "a")
		if len(answer.Parked) != 0 || answer.ParkedMark != mark {
			b.Errorf("parked names %q, mark %d; want no more of mail, and the mark %d as before", answer.Parked, answer.ParkedMark, mark)
		}
		if s := b.stats(); s.Parked != 1 {
			b.Errorf("parked %d, want 1", s.Parked)
		}
	})
}

func TestAJobTakenAheadHasNotBegun(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("a"), job("b"), job("c"))
		answer := b.work("s", protocol.WorkCall{Take: 3, Ahead: 2})
		begun := []bool{answer.Taken[0].Begun, answer.Taken[1].Begun, answer.Taken[2].Begun}
		b.want("begun", boolsText(begun), "true false false")
		b.work("s", protocol.WorkCall{Begun: []protocol.BegunJob{{ID: "b", Fence: answer.Taken[1].Fence}}})
		held := b.client.HGetAll(b.Context(), b.keys().inflight("s")).Val()
		if held["b"][0] == '-' || held["c"][0] != '-' {
			b.Errorf("in flight %v, want b begun and c not", held)
		}
	})
}

func TestALapsedSessionIsReapedUnlessItWasExtended(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("a"), job("b"), job("c"))
		b.work("s", protocol.WorkCall{Take: 3, Ahead: 1, TTL: 50 * time.Millisecond})
		lapsed := b.untilLapsed()
		// extended since it was seen: left alone
		b.work("s", protocol.WorkCall{TTL: 50 * time.Millisecond})
		b.reap(lapsed, 1)
		if s := b.stats(); s.Running != 3 {
			b.Fatalf("in flight %d after an extension, want 3", s.Running)
		}
		lapsed = b.untilLapsed()
		b.reap(lapsed, 1)
		if s := b.stats(); s.Running != 0 || s.Waiting != 3 {
			b.Fatalf("stats %+v, want 3 waiting", s)
		}
		if answer := b.try("s", protocol.WorkCall{Take: 1}); !errors.Is(answer.Err, protocol.ErrSessionLost) {
			b.Errorf("a reaped session: error %v, want ErrSessionLost", answer.Err)
		}
		taken := b.take("s2", 3)
		b.want("taken again", ids(taken), "a b c")
		if taken[0].Crashes != 1 || taken[1].Crashes != 1 || taken[2].Crashes != 0 {
			b.Errorf("crashes %d %d %d, want 1 1 0: the third had not begun", taken[0].Crashes, taken[1].Crashes, taken[2].Crashes)
		}
	})
}

// untilLapsed polls until a session has lapsed, and returns it.
func (b *bench) untilLapsed() protocol.LapsedSession {
	b.Helper()
	started := time.Now()
	for time.Since(started) < 10*time.Second {
		poll := b.store.Poll(b.Context(), []protocol.PollCall{{Partition: defaultPartition, Worker: "poller"}})[0]
		if poll.Err != nil {
			b.Fatal(poll.Err)
		}
		if len(poll.Lapsed) > 0 {
			return poll.Lapsed[0]
		}
	}
	b.Fatal("no session lapsed")
	return protocol.LapsedSession{}
}

func (b *bench) reap(lapsed protocol.LapsedSession, seed int64) {
	b.Helper()
	done, err := b.reapStep(protocol.ReapCall{Partition: defaultPartition, Session: lapsed.Session, Seen: lapsed.Lapse, Seed: seed})
	if err != nil || !done {
		b.Fatalf("reap: done %v, error %v", done, err)
	}
}

func TestCrashesAreCountedAndTheSecondDelaysTheJob(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("a"))
		for crash := 1; crash <= 3; crash++ {
			session := []string{"", "s1", "s2", "s3"}[crash]
			taken := b.work(session, protocol.WorkCall{Take: 1, TTL: time.Millisecond}).Taken
			b.want("taken", ids(taken), "a")
			if taken[0].Crashes != crash-1 {
				b.Errorf("crashes %d, want %d", taken[0].Crashes, crash-1)
			}
			b.reap(b.untilLapsed(), 7)
			if crash == 2 {
				score := b.client.ZScore(b.Context(), b.keys().due, "a").Val()
				if wait := score - float64(time.Now().UnixMilli()); wait < 4500 || wait > 60500 {
					b.Errorf("second crash: due in %v ms, want 5 to 60 s", wait)
				}
				b.client.ZAdd(b.Context(), b.keys().due, redisZ(0, "a"))
			}
		}
		if taken := b.take("s4", 1); len(taken) != 1 || taken[0].Crashes != 3 {
			b.Errorf("third crash: %+v, want it at the front with 3 crashes, for the worker to settle as dead", taken)
		}
	})
}

func TestASessionThatHoldsJobsIsNotClosed(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("a"))
		a := b.take("s", 1)[0]
		if err := b.store.CloseSession(b.Context(), defaultPartition, "s", nil); err != nil {
			b.Fatal(err)
		}
		if !b.settle("s", protocol.Settlement{ID: "a", Fence: a.Fence, Kind: protocol.SettleDone}) {
			b.Error("the session was closed with a job in flight")
		}
		if err := b.store.CloseSession(b.Context(), defaultPartition, "s", nil); err != nil {
			b.Fatal(err)
		}
		if n := b.client.Exists(b.Context(), b.keys().inflight("s"), b.keys().sessions).Val(); n != 0 {
			b.Errorf("%d keys of a closed session are left", n)
		}
	})
}

func TestNothingIsTakenFromAPausedQueue(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("a"))
		if err := b.store.PauseQueue(b.Context(), "default", true, protocol.Note{}); err != nil {
			b.Fatal(err)
		}
		answer := b.work("s", protocol.WorkCall{Take: 1, Sleep: true, Lapses: true})
		if len(answer.Taken) != 0 || !answer.Paused || answer.More {
			b.Fatalf("answer %+v, want nothing and paused", answer)
		}
		if err := b.store.PauseQueue(b.Context(), "default", false, protocol.Note{}); err != nil {
			b.Fatal(err)
		}
		b.want("resumed", ids(b.take("s", 1)), "a")
	})
}

// One round trip works on several queues and partitions, each with a session and an answer of its own.
func TestOneCallWorksOnManyPartitions(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.store.options.Partitions = map[string]int{"hot": 3}
		if n, err := b.store.Partitions(b.Context(), "hot"); n != 3 || err != nil {
			b.Fatalf("%d partitions, %v; want 3", n, err)
		}
		var enqueue []protocol.EnqueueCall
		var work []protocol.WorkCall
		for _, p := range []protocol.Partition{{Queue: "hot"}, {Queue: "hot", Index: 1}, {Queue: "hot", Index: 2}, {Queue: "mail"}} {
			id := fmt.Sprintf("%s-%d", p.Queue, p.Index)
			enqueue = append(enqueue, protocol.EnqueueCall{Partition: p, Caller: "c", Number: 1, Items: []protocol.EnqueueItem{job(id)}})
			work = append(work, protocol.WorkCall{Partition: p, Worker: "w", Session: "s-" + id, Number: 1, TTL: time.Minute, Take: 5})
		}
		for i, answer := range b.store.Enqueue(b.Context(), enqueue) {
			if answer.Err != nil {
				b.Errorf("enqueue on %v: %v", enqueue[i].Partition, answer.Err)
			}
		}
		for i, answer := range b.store.Work(b.Context(), work) {
			if want := enqueue[i].Items[0].ID; answer.Err != nil || ids(answer.Taken) != want {
				b.Errorf("work on %v: %q, %v; want %s", work[i].Partition, ids(answer.Taken), answer.Err, want)
			}
		}
		b.store.options.Partitions = map[string]int{"hot": 4}
		b.store.queues.partitions = map[string]int{}
		if _, err := b.store.Partitions(b.Context(), "hot"); !errors.Is(err, protocol.ErrUnfit) {
			b.Errorf("another number of partitions: %v, want ErrUnfit", err)
		}
	})
}
