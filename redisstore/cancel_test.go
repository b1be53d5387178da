package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// cancel cancels a job and returns what that has done; "none": there is no such job.
func (b *bench) cancel(id string) string {
	b.Helper()
	result, err := b.store.CancelJob(b.Context(), "default", id, nil)
	switch {
	case errors.Is(err, protocol.ErrNotFound):
		return "none"
	case err != nil:
		b.Fatalf("cancel %s: %v", id, err)
	}
	return map[protocol.CancelResult]string{protocol.CancelDone: "done", protocol.CancelAsked: "asked", protocol.CancelTooLate: "too late"}[result]
}

// stateField is a field of …:state; empty: it is not there.
func (b *bench) stateField(field string) string {
	return b.client.HGet(b.Context(), b.keys().state, field).Val()
}

func (b *bench) cancelled() string {
	return b.client.HGet(b.Context(), b.keys().counters, "/cancelled").Val()
}

func TestACancelledWaitingJobIsNeverTaken(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("a"), job("b"), job("c"))
		b.want("cancelled", b.cancel("b"), "done")
		b.want("cancelled again", b.cancel("b"), "done")
		b.want("counted", b.cancelled(), "1")
		if b.client.HExists(b.Context(), b.keys().jobs, "b").Val() {
			b.Error("its body is left")
		}
		b.want("taken", ids(b.take("s", 5)), "a c")
		b.want("ready", fmt.Sprint(b.client.LRange(b.Context(), b.keys().ready, 0, -1).Val()), "[]")
		b.want("the flag, once it is popped", b.stateField("stale"), "")
		b.want("once it is gone", b.cancel("b"), "none")
	})
}

// What is void in ready holds nothing up: a take passes over as many as it wants and 500 more, and says that there is more.
func TestATakePassesOverWhatIsVoid(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		var all []string
		for from := range 3 {
			var items []protocol.EnqueueItem
			for i := range 400 {
				all = append(all, fmt.Sprintf("j%04d", 400*from+i))
				items = append(items, job(all[len(all)-1]))
			}
			b.enqueue(items...)
		}
		b.enqueue(job("last"))
		for from := 0; from < len(all); from += 400 {
			if _, err := b.store.DeleteJobs(b.Context(), "default", all[from:from+400]); err != nil {
				b.Fatal(err)
			}
		}
		for calls := 1; ; calls++ {
			answer := b.work("s", protocol.WorkCall{Take: 1})
			if len(answer.Taken) == 0 && answer.More && calls < 4 {
				continue
			}
			b.want("taken", ids(answer.Taken), "last")
			if calls != 3 {
				b.Errorf("behind 1200 that are void it came in call %d, want 3", calls)
			}
			break
		}
	})
}

// A job that is cancelled in ready and enqueued again has its old place: its ID is in ready once.
func TestACancelledIDThatIsEnqueuedAgainHasItsOldPlace(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(own("again"), own("later"), job("last"))
		b.want("cancelled", b.cancel("again")+b.cancel("later"), "donedone")
		delayed := own("later")
		delayed.In = time.Hour
		b.want("existing", boolsText(b.enqueue(own("again"), delayed)), "false false")
		b.want("ready", fmt.Sprint(b.client.LRange(b.Context(), b.keys().ready, 0, -1).Val()), "[again later last]")
		taken := b.take("s", 10)
		b.want("taken", ids(taken), "again last")
		b.want("body", string(taken[0].Body), "\x01again")
		b.want("body of the delayed one", b.client.HGet(b.Context(), b.keys().jobs, "later").Val(), "\x01later")
		b.client.ZAdd(b.Context(), b.keys().due, redisZ(1, "later"))
		b.want("when it is due", ids(b.take("s", 10)), "later")
	})
}

// An ID that is void in ready and due as well goes on at its place in ready: a give-back would else have it there twice.
func TestAnIDThatIsVoidInReadyAndDueIsTakenOnce(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("y"), job("z"), own("x"))
		b.want("cancelled", b.cancel("x"), "done")
		again := own("x")
		again.At = time.Now().Add(-time.Second)
		b.want("existing", boolsText(b.enqueue(again)), "false")
		first := b.take("s", 1)
		b.want("taken", ids(first), "y")
		b.settle("s", protocol.Settlement{ID: "y", Fence: first[0].Fence, Kind: protocol.SettleBack})
		taken := b.take("s", 5)
		b.want("then", ids(taken), "y z x")
		b.settle("s", protocol.Settlement{ID: "x", Fence: taken[2].Fence, Kind: protocol.SettleBack})
		b.want("given back", ids(b.take("s", 5)), "x")
		b.want("the flag", b.stateField("stale"), "")
	})
}

// A job that is cancelled in flight ends with its settlement, whatever that says, and with its session.
func TestAJobCancelledInFlightEndsWhateverItsSettlementSays(t *testing.T) {
	kinds := []protocol.SettleKind{
		protocol.SettleDone, protocol.SettleLater, protocol.SettleDead, protocol.SettleBack, protocol.SettlePark, protocol.SettleCancelled,
	}
	onEveryServer(t, func(b *bench) {
		for i, kind := range kinds {
			id := fmt.Sprintf("j-%c", kind)
			b.enqueue(job(id))
			taken := b.take("s", 1)
			b.want("cancelled", b.cancel(id), "asked")
			b.want("cancelled again", b.cancel(id), "asked")
			b.want("asked", b.stateField("asked"), "1")
			if b.settle("s", protocol.Settlement{ID: id, Fence: taken[0].Fence - 1, Kind: kind, Name: "mail"}) {
				b.Errorf("%c: settled with another fence", kind)
			}
			if !b.settle("s", protocol.Settlement{ID: id, Fence: taken[0].Fence, Kind: kind, Name: "mail", Body: []byte("\x01new"), Failed: true}) {
				b.Errorf("%c: refused", kind)
			}
			if n := b.client.Exists(b.Context(), b.keys().jobs, b.keys().ready, b.keys().due, b.keys().dead, b.keys().parked("mail")).Val(); n != 0 {
				b.Errorf("%c: %d of jobs, ready, due, dead, parked are left, want none", kind, n)
			}
			b.want("counted", b.cancelled(), fmt.Sprint(i+1))
			b.want("asked", b.stateField("asked"), "")
			b.want("ended", b.cancel(id), "none")
		}
		if s := b.stats(); s.Done != 0 || s.Failed != 0 || s.Died != 0 || s.Running != 0 {
			b.Errorf("stats %+v, want none done, failed, dead or in flight", s)
		}
	})
}

func TestAJobCancelledInFlightEndsWhenItsSessionIsReaped(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("a"), job("b"), job("c"))
		b.work("gone", protocol.WorkCall{Take: 3, Ahead: 1, TTL: time.Millisecond})
		b.want("cancelled", b.cancel("a")+b.cancel("c"), "askedasked")
		b.reap(b.untilLapsed(), 1)
		b.want("taken", ids(b.take("s", 5)), "b")
		b.want("counted", b.cancelled(), "2")
		b.want("asked", b.stateField("asked"), "")
	})
}

// A call that took a job is sent again after the job was cancelled: the answer is the same, so that its worker settles it.
func TestARepeatedTakeStillHasWhatWasCancelledSince(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("a"), job("b"), job("c"))
		first := b.work("s", protocol.WorkCall{Take: 3, Ahead: 1})
		b.want("cancelled", b.cancel("b"), "asked")
		again := b.repeat("s", protocol.WorkCall{Take: 3, Ahead: 1})
		b.want("taken again", fmt.Sprint(again.Taken), fmt.Sprint(first.Taken))
	})
}

// The holder hears of it at once, and in the answer to each heartbeat until it has settled the job.
func TestTheHolderOfACancelledJobIsToldAlsoByHeartbeats(t *testing.T) {
	onServersWith(t, listening, func(b *bench) {
		listener := b.store.Listen("w-s")
		defer listener.Close()
		b.awaitSignal(listener, func(s protocol.Signal) bool { return s.Connected })
		b.enqueue(job("a"), job("b"))
		taken := b.take("s", 2)
		beat := func() string {
			answer := listener.Extend(b.Context(), []protocol.ExtendCall{{Partition: defaultPartition, Session: "s", TTL: time.Minute}})[0]
			if answer.Err != nil {
				b.Fatal(answer.Err)
			}
			return fmt.Sprint(answer.Cancelled)
		}
		b.want("told before", beat(), "[]")
		b.want("cancelled", b.cancel("b"), "asked")
		want := protocol.HeldJob{ID: "b", Fence: taken[1].Fence}
		b.awaitSignal(listener, func(s protocol.Signal) bool { return s.Cancelled == want })
		b.want("told by heartbeats", beat()+beat(), strings.Repeat(fmt.Sprint([]protocol.HeldJob{want}), 2))
		b.settle("s", protocol.Settlement{ID: "b", Fence: want.Fence, Kind: protocol.SettleDone})
		b.want("told once it is settled", beat(), "[]")
	})
}

func TestCancelFindsAJobWhereverItWaits(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		later := job("later")
		later.In = time.Hour
		b.enqueue(later, job("parked"), job("dead"))
		taken := b.take("s", 2)
		b.settle("s", protocol.Settlement{ID: "parked", Fence: taken[0].Fence, Kind: protocol.SettlePark, Name: "mail"})
		b.settle("s", protocol.Settlement{ID: "dead", Fence: taken[1].Fence, Kind: protocol.SettleDead})
		b.want("delayed, parked, dead, unknown", fmt.Sprintf("%s %s %s %s", b.cancel("later"), b.cancel("parked"), b.cancel("dead"), b.cancel("nobody")), "done done too late none")
		b.want("again", fmt.Sprintf("%s %s %s", b.cancel("later"), b.cancel("parked"), b.cancel("dead")), "none none too late")
		b.want("parked", b.stateField("parked"), "")
		if n := b.client.Exists(b.Context(), b.keys().due, b.keys().parked("mail"), b.keys().unhandled).Val(); n != 0 {
			b.Errorf("%d of due, parked, unhandled are left, want none", n)
		}
		b.want("layout, for none of this is misread", b.stateField("layout"), "2")
	})
}

// A queue in which something was cancelled is refused by programs that do not know what that leaves there; other queues are not.
func TestCancellingRaisesTheLayoutOfItsPartitionOnly(t *testing.T) {
	for _, take := range []int{0, 1} { // it waits, or is in flight
		onEveryServer(t, func(b *bench) {
			b.enqueue(job("a"))
			b.work("s", protocol.WorkCall{Take: take})
			b.want("layout before", b.stateField("layout"), "2")
			b.cancel("a")
			b.want("layout after", b.stateField("layout"), "3")
			b.enqueue(job("b"))
			b.take("s", 1)
			b.want("layout for ever", b.stateField("layout"), "3")
		})
	}
}

// An occurrence that is cancelled before its instant stays there until then: its taking owes the schedule its next one.
func TestAnOccurrenceCancelledBeforeItsInstantOwesTheNext(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		declared := b.declare("s", "skip", `{"job":"j"}`)
		at := time.Now().Add(time.Hour).Truncate(time.Second)
		b.place(*declared.Owed, declared.Revision, 0, at)
		id := occurrenceID("s", at)
		b.want("cancelled", b.cancel(id)+b.cancel(id), "donedone")
		b.want("owed before its instant", b.owedNames(), "[]")
		b.client.ZAdd(b.Context(), b.keys().due, redisZ(1, id))
		answer := b.work("w", protocol.WorkCall{Take: 5})
		b.want("taken", ids(answer.Taken), "")
		if len(answer.Owed) != 1 || answer.Owed[0].Name != "s" || !answer.Owed[0].Cursor.At.Equal(at) || answer.Owed[0].Cursor.Used != 1 {
			b.Errorf("owed %+v, want the next one of s after %v, with one run used", answer.Owed, at)
		}
		found, err := b.store.Find(b.Context(), []string{"s"})
		if err != nil || found[0].Cancelled != 1 || found[0].Started != 0 || found[0].Skipped != 0 {
			b.Errorf("counters %+v, %v; want one cancelled", found[0].Counters, err)
		}
		if n := b.client.Exists(b.Context(), b.keys().due, b.keys().jobs).Val(); n != 0 {
			b.Errorf("%d of due, jobs are left, want none", n)
		}
		if runs := b.client.XRange(b.Context(), b.keys().runs, "-", "+").Val(); len(runs) != 1 || runs[0].Values["outcome"] != "cancelled" {
			b.Errorf("record of runs %v, want one cancelled", runs)
		}
	})
}

// Cancelling the occurrence that holds its schedule lets the one behind it go on.
func TestACancelledOccurrenceLetsTheOneBehindItGoOn(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		first, second := ago(2*time.Minute), ago(time.Minute)
		b.scheduled("s", "wait", first, second)
		taken := b.take("w", 5)
		b.want("taken", ids(taken), occurrenceID("s", first))
		b.want("cancelled", b.cancel(taken[0].ID), "asked")
		b.want("taken while it runs", ids(b.take("w", 5)), "")
		b.settle("w", protocol.Settlement{ID: taken[0].ID, Fence: taken[0].Fence, Kind: protocol.SettleBack})
		b.want("taken next", ids(b.take("w", 5)), occurrenceID("s", second))
	})
}

// The answer to a cancellation is lost and the client sends it again: the answer is the same.
func TestACancellationThatIsSentTwiceHasTheSameAnswer(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		later := job("later")
		later.In = time.Hour
		b.enqueue(later, job("a"))
		twice := &sentTwice{}
		b.client.AddHook(twice)
		b.want("cancelled", b.cancel("later")+b.cancel("a"), "donedone")
		if twice.sent != 2 && selectedServer().lacks&hookedCalls == 0 { // a user who may not cancel has another client do it
			b.Fatalf("%d scripts were sent twice, want 2", twice.sent)
		}
		b.want("counted", b.cancelled(), "2")
	})
}

// A sentTwice is a hook of a client that sends every script twice and returns the second answer, as if the first one had been lost.
type sentTwice struct{ sent int }

func (s *sentTwice) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *sentTwice) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *sentTwice) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if name := cmd.Name(); name == "evalsha" || name == "eval" {
			lost := redis.NewCmd(ctx, cmd.Args()...)
			lost.SetFirstKeyPos(3)
			if next(ctx, lost) == nil {
				s.sent++
			}
		}
		return next(ctx, cmd)
	}
}

// awaitSignal receives until a signal is the wanted one.
func (b *bench) awaitSignal(listener protocol.Listener, wanted func(protocol.Signal) bool) {
	b.Helper()
	timeout := time.After(20 * time.Second)
	for {
		select {
		case s := <-listener.Signals():
			if wanted(s) {
				return
			}
		case <-timeout:
			b.Fatal("the signal did not come")
		}
	}
}

// bulk calls DeleteJobs or RequeueJobs and returns the letters of the answer.
func (b *bench) bulk(became []protocol.Changed, err error) string {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	text := ""
	for _, how := range became {
		text += string(rune(how))
	}
	return text
}

func (b *bench) requeue(jobs ...protocol.RequeuedJob) string {
	b.Helper()
	return b.bulk(b.store.RequeueJobs(b.Context(), "default", jobs))
}

// everywhere puts a job into each place: waiting, delayed, parked, parked in the shared list, dead, running.
func (b *bench) everywhere() (running protocol.TakenJob) {
	b.Helper()
	later := job("delayed")
	later.In = time.Hour
	b.enqueue(job("parked"), job("shared"), job("dead"), job("running"), job("waiting"), later)
	taken := b.take("s", 4)
	b.settle("s", protocol.Settlement{ID: "parked", Fence: taken[0].Fence, Kind: protocol.SettlePark, Name: "mail"})
	var many []redis.Z
	for i := range 1000 {
		many = append(many, redisZ(float64(time.Now().UnixMilli()), fmt.Sprint("name", i)))
	}
	b.client.ZAdd(b.Context(), b.keys().unhandled, many...)
	b.settle("s", protocol.Settlement{ID: "shared", Fence: taken[1].Fence, Kind: protocol.SettlePark, Name: "one-too-many"})
	b.settle("s", protocol.Settlement{ID: "dead", Fence: taken[2].Fence, Kind: protocol.SettleDead})
	if n := b.client.ZCard(b.Context(), b.keys().parked(sharedParked)).Val(); n != 1 {
		b.Fatalf("%d jobs in the shared list, want 1", n)
	}
	return taken[3]
}

var placesOfJobs = []string{"waiting", "delayed", "parked", "shared", "dead", "running", "nobody"}

func TestDeleteRemovesJobsWhereverTheyAreButInFlight(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		running := b.everywhere()
		b.want("became", b.bulk(b.store.DeleteJobs(b.Context(), "default", placesOfJobs)), "eeeeern")
		b.want("again", b.bulk(b.store.DeleteJobs(b.Context(), "default", placesOfJobs)), "nnnnnrn")
		b.want("bodies left", fmt.Sprint(b.client.HKeys(b.Context(), b.keys().jobs).Val()), "[running]")
		b.want("taken", ids(b.take("s", 5)), "")
		if s := b.stats(); s.Waiting+s.Delayed+s.Parked+s.Dead != 0 || s.Running != 1 || s.Cancelled != 0 {
			b.Errorf("stats %+v, want one running and nothing else", s)
		}
		if !b.settle("s", protocol.Settlement{ID: "running", Fence: running.Fence, Kind: protocol.SettleDone}) {
			b.Error("what runs cannot be settled any more")
		}
	})
}

func TestCancelFindsAJobInTheSharedListOfParkedOnes(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.everywhere()
		b.want("cancelled", b.cancel("shared"), "done")
		b.want("again", b.cancel("shared"), "none")
		b.want("stale", b.stateField("stale"), "")
		if n := b.client.Exists(b.Context(), b.keys().parked(sharedParked)).Val(); n != 0 {
			b.Error("it is in the list still")
		}
	})
}

func TestRequeuePutsJobsToTheFrontInTheirOrder(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.everywhere()
		var jobs []protocol.RequeuedJob
		for _, id := range placesOfJobs {
			jobs = append(jobs, protocol.RequeuedJob{ID: id})
		}
		jobs[4].Read, jobs[4].Body = []byte("\x01dead"), []byte("\x01anew")
		b.want("became", b.requeue(jobs...), "neeeenn")
		b.want("again", b.requeue(jobs...), "nnnnnnn")
		taken := b.take("other", 10)
		b.want("taken", ids(taken), "delayed parked shared dead waiting")
		b.want("body of what was dead", string(taken[3].Body), "\x01anew")
	})
}

// An ID that is given twice in one call counts once, wherever its job is: it is in ready once, and its schedule counts it off once.
func TestAnIDThatIsGivenTwiceInACallCountsOnce(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.everywhere()
		for i, want := range []string{"nn", "en", "en", "en", "en", "nn", "nn"} {
			id := placesOfJobs[i]
			job := protocol.RequeuedJob{ID: id}
			if id == "dead" {
				job.Read, job.Body = []byte("\x01dead"), []byte("\x01anew")
			}
			b.want(id, b.requeue(job, job), want)
		}
		b.want("ready", fmt.Sprint(b.client.LRange(b.Context(), b.keys().ready, 0, -1).Val()), "[dead shared parked delayed waiting]")
	})
	onEveryServer(t, func(b *bench) {
		b.everywhere()
		for i, want := range []string{"en", "en", "en", "en", "en", "rn", "nn"} {
			id := placesOfJobs[i]
			b.want(id, b.bulk(b.store.DeleteJobs(b.Context(), "default", []string{id, id})), want)
		}
	})
	onEveryServer(t, func(b *bench) {
		b.longKnown("s", "allow", ago(time.Minute), ago(time.Second))
		for _, job := range b.take("w", 2) {
			b.settle("w", protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleLater, Delay: time.Hour, Body: []byte("\x01again"), Failed: true, Run: ran(job.ID, "failed")})
		}
		id := b.client.ZRange(b.Context(), b.keys().due, 0, 0).Val()[0]
		b.want("unfinished", b.unfinished("s"), "2")
		b.want("deleted", b.bulk(b.store.DeleteJobs(b.Context(), "default", []string{id, id})), "en")
		b.want("unfinished then", b.unfinished("s"), "1")
	})
}

// A job that is not as the caller has read it stays as it is.
func TestRequeueLeavesADeadJobThatHasChanged(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.everywhere()
		b.want("read with another body", b.requeue(protocol.RequeuedJob{ID: "dead", Read: []byte("\x01old"), Body: []byte("\x01anew")}), "n")
		b.want("read when it was not dead", b.requeue(protocol.RequeuedJob{ID: "dead"}), "n")
		b.want("read when it was dead", b.requeue(protocol.RequeuedJob{ID: "delayed", Read: []byte("\x01delayed"), Body: []byte("\x01anew")}), "n")
		if s := b.stats(); s.Dead != 1 || s.Delayed != 1 || s.Waiting != 1 {
			b.Errorf("stats %+v, want one dead, one delayed, one waiting", s)
		}
	})
}

// A job whose ID stands in ready, void, has that place when it is requeued: its ID is in ready once.
func TestRequeueOfAnIDThatIsVoidInReadyUsesItsPlace(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("first"), own("x"), job("last"))
		b.cancel("x")
		later := own("x")
		later.In = time.Hour
		b.enqueue(later)
		b.want("became", b.requeue(protocol.RequeuedJob{ID: "x"}), "e")
		b.want("taken", ids(b.take("s", 5)), "first x last")
		b.want("left", fmt.Sprint(b.client.LRange(b.Context(), b.keys().ready, 0, -1).Val(), b.client.ZCard(b.Context(), b.keys().stale).Val()), "[] 0")
	})
}

// The next occurrence of a schedule stays where it is: deleting what is delayed stops no schedule, and requeuing runs nothing early.
func TestBulkChangesLeaveAnOccurrenceThatNobodyHasTaken(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		at := time.Now().Add(time.Hour).Truncate(time.Second)
		b.scheduled("s", "skip", at)
		id := occurrenceID("s", at)
		b.want("deleted", b.bulk(b.store.DeleteJobs(b.Context(), "default", []string{id})), "u")
		b.want("requeued", b.requeue(protocol.RequeuedJob{ID: id}), "u")
		b.want("cancelled", b.cancel(id), "done")
		b.want("deleted then", b.bulk(b.store.DeleteJobs(b.Context(), "default", []string{id})), "n")
		b.want("requeued then", b.requeue(protocol.RequeuedJob{ID: id}), "n")
		b.want("due", fmt.Sprint(b.client.ZRange(b.Context(), b.keys().due, 0, -1).Val()), "["+id+"]")
	})
}

// An occurrence that was given back without an envelope is found in ready, also one whose schedule nobody holds.
func TestCancelFindsAnOccurrenceThatWasGivenBack(t *testing.T) {
	for _, overlap := range []string{"allow", "skip", "wait", "cancel"} {
		t.Run(overlap, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.scheduled("s", overlap, ago(time.Minute))
				taken := b.take("w", 1)
				b.settle("w", protocol.Settlement{ID: taken[0].ID, Fence: taken[0].Fence, Kind: protocol.SettleBack})
				b.want("cancelled", b.cancel(taken[0].ID), "done")
				b.want("taken", ids(b.take("w", 5)), "")
				if n := b.client.Exists(b.Context(), b.keys().open, b.keys().stale, b.keys().ready, b.keys().crashes).Val(); n != 0 {
					b.Errorf("%d of open, stale, ready, crashes are left, want none", n)
				}
			})
		})
	}
}

// The answer to a bulk change is lost and the client sends it again: what it has changed is counted as changed, and only once.
func TestABulkChangeThatIsSentTwiceHasTheSameCount(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.everywhere()
		b.client.AddHook(&sentTwice{})
		b.want("requeued", fmt.Sprint(strings.Count(b.requeue(protocol.RequeuedJob{ID: "delayed"}, protocol.RequeuedJob{ID: "nobody"}), "e")), "1")
		b.want("deleted", fmt.Sprint(strings.Count(b.bulk(b.store.DeleteJobs(b.Context(), "default", placesOfJobs)), "e")), "5")
	})
}
