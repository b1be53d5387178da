package redisstore

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// stateField is a field of …:state; empty: it is not there.
func (b *bench) stateField(field string) string {
	return b.client.HGet(b.Context(), b.keys().state, field).Val()
}

func (b *bench) cancelled() string {
	return b.client.HGet(b.Context(), b.keys().counters, "/cancelled").Val()
}

func TestACancelledWaitingJobIsNeverTaken(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"), storesuite.Job("c"))
		b.Want("cancelled", b.Cancel("b"), "done")
		b.Want("cancelled again", b.Cancel("b"), "done")
		b.Want("counted", b.cancelled(), "1")
		if b.client.HExists(b.Context(), b.keys().jobs, "b").Val() {
			b.Error("its body is left")
		}
		b.Want("taken", storesuite.IDs(b.Take("s", 5)), "a c")
		b.Want("ready", fmt.Sprint(b.client.LRange(b.Context(), b.keys().ready, 0, -1).Val()), "[]")
		b.Want("the flag, once it is popped", b.stateField("stale"), "")
		b.Want("once it is gone", b.Cancel("b"), "none")
	})
}

// A job that is cancelled in ready and enqueued again gets its old place: its ID is in ready once.
// The ID of a deleted job is in ready until it is reached, like that of a cancelled one. But there is nothing to cancel.
func TestADeletedWaitingJobCannotBeCancelled(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("deleted"), storesuite.Job("cancelled"))
		if became, err := b.store.DeleteJobs(b.Context(), "default", []string{"deleted"}); err != nil || became[0] != protocol.ChangeDone {
			b.Fatal(became, err)
		}
		b.Cancel("cancelled")
		if how, err := b.store.CancelJob(b.Context(), "default", "deleted", nil); !errors.Is(err, protocol.ErrNotFound) {
			b.Errorf("the deleted job: %c, %v; want ErrNotFound", how, err)
		}
		if how, err := b.store.CancelJob(b.Context(), "default", "cancelled", nil); err != nil || how != protocol.CancelDone {
			b.Errorf("the cancelled job: %c, %v; want that it is cancelled", how, err)
		}
		b.Want("taken", storesuite.IDs(b.Take("s", 5)), "")
	})
}

func TestACancelledIDThatIsEnqueuedAgainHasItsOldPlace(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Own("again"), storesuite.Own("later"), storesuite.Job("last"))
		b.Want("cancelled", b.Cancel("again")+b.Cancel("later"), "donedone")
		delayed := storesuite.Own("later")
		delayed.In = time.Hour
		b.Want("existing", storesuite.BoolsText(b.Enqueue(storesuite.Own("again"), delayed)), "false false")
		b.Want("ready", fmt.Sprint(b.client.LRange(b.Context(), b.keys().ready, 0, -1).Val()), "[again later last]")
		taken := b.Take("s", 10)
		b.Want("taken", storesuite.IDs(taken), "again last")
		b.Want("body", string(taken[0].Body), "\x01again")
		b.Want("body of the delayed one", b.client.HGet(b.Context(), b.keys().jobs, "later").Val(), "\x01later")
		b.client.ZAdd(b.Context(), b.keys().due, redisZ(1, "later"))
		b.Want("when it is due", storesuite.IDs(b.Take("s", 10)), "later")
	})
}

// An ID that is void in ready and also due continues at its place in ready: otherwise it would be there twice after it is given back.
func TestAnIDThatIsVoidInReadyAndDueIsTakenOnce(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("y"), storesuite.Job("z"), storesuite.Own("x"))
		b.Want("cancelled", b.Cancel("x"), "done")
		again := storesuite.Own("x")
		again.At = time.Now().Add(-time.Second)
		b.Want("existing", storesuite.BoolsText(b.Enqueue(again)), "false")
		first := b.Take("s", 1)
		b.Want("taken", storesuite.IDs(first), "y")
		b.Settle("s", protocol.Settlement{ID: "y", Fence: first[0].Fence, Kind: protocol.SettleBack})
		taken := b.Take("s", 5)
		b.Want("then", storesuite.IDs(taken), "y z x")
		b.Settle("s", protocol.Settlement{ID: "x", Fence: taken[2].Fence, Kind: protocol.SettleBack})
		b.Want("given back", storesuite.IDs(b.Take("s", 5)), "x")
		b.Want("the flag", b.stateField("stale"), "")
	})
}

// A job that is cancelled in flight ends with its settlement, of any kind, or with its session.
func TestAJobCancelledInFlightEndsWithAnySettlement(t *testing.T) {
	kinds := []protocol.SettleKind{
		protocol.SettleDone, protocol.SettleLater, protocol.SettleDead, protocol.SettleBack, protocol.SettlePark, protocol.SettleCancelled,
	}
	onEveryServer(t, func(b *bench) {
		for i, kind := range kinds {
			id := fmt.Sprintf("j-%c", kind)
			b.Enqueue(storesuite.Job(id))
			taken := b.Take("s", 1)
			b.Want("cancelled", b.Cancel(id), "asked")
			b.Want("cancelled again", b.Cancel(id), "asked")
			b.Want("asked", b.stateField("asked"), "1")
			if b.Settle("s", protocol.Settlement{ID: id, Fence: taken[0].Fence - 1, Kind: kind, Name: "mail"}) {
				b.Errorf("%c: settled with another fence", kind)
			}
			if !b.Settle("s", protocol.Settlement{ID: id, Fence: taken[0].Fence, Kind: kind, Name: "mail", Body: []byte("\x01new"), Failed: true}) {
				b.Errorf("%c: refused", kind)
			}
			if n := b.client.Exists(b.Context(), b.keys().jobs, b.keys().ready, b.keys().due, b.keys().dead, b.keys().parked("mail")).Val(); n != 0 {
				b.Errorf("%c: %d of jobs, ready, due, dead, parked are left, want none", kind, n)
			}
			b.Want("counted", b.cancelled(), fmt.Sprint(i+1))
			b.Want("asked", b.stateField("asked"), "")
			b.Want("ended", b.Cancel(id), "none")
		}
		if s := b.Stats(); s.Done != 0 || s.Failed != 0 || s.Died != 0 || s.InFlight() != 0 {
			b.Errorf("stats %+v, want none done, failed, dead or in flight", s)
		}
	})
}

func TestAJobCancelledInFlightEndsWhenItsSessionIsReaped(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"), storesuite.Job("c"))
		b.Work("gone", protocol.WorkCall{Take: 3, Ahead: 1, TTL: time.Millisecond})
		b.Want("cancelled", b.Cancel("a")+b.Cancel("c"), "askedasked")
		b.Reap(b.UntilLapsed(), 1)
		b.Want("taken", storesuite.IDs(b.Take("s", 5)), "b")
		b.Want("counted", b.cancelled(), "2")
		b.Want("asked", b.stateField("asked"), "")
	})
}

func TestCancelFindsAJobWhereverItWaits(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		later := storesuite.Job("later")
		later.In = time.Hour
		b.Enqueue(later, storesuite.Job("parked"), storesuite.Job("dead"))
		taken := b.Take("s", 2)
		b.Settle("s", protocol.Settlement{ID: "parked", Fence: taken[0].Fence, Kind: protocol.SettlePark, Name: "mail"})
		b.Settle("s", protocol.Settlement{ID: "dead", Fence: taken[1].Fence, Kind: protocol.SettleDead})
		b.Want("delayed, parked, dead, unknown", fmt.Sprintf("%s %s %s %s", b.Cancel("later"), b.Cancel("parked"), b.Cancel("dead"), b.Cancel("nobody")), "done done too late none")
		b.Want("again", fmt.Sprintf("%s %s %s", b.Cancel("later"), b.Cancel("parked"), b.Cancel("dead")), "none none too late")
		b.Want("parked", b.stateField("parked"), "")
		if n := b.client.Exists(b.Context(), b.keys().due, b.keys().parked("mail"), b.keys().unhandled).Val(); n != 0 {
			b.Errorf("%d of due, parked, unhandled are left, want none", n)
		}
	})
}

// An older program must not touch what it would misread: the first write to a partition raises its layout, whatever the write is.
func TestEveryWriteRaisesAnOlderLayout(t *testing.T) {
	for act, do := range map[string]func(*bench){
		"enqueue":      func(b *bench) { b.Enqueue(storesuite.Job("b")) },
		"take":         func(b *bench) { b.Take("s", 1) },
		"cancel":       func(b *bench) { b.Cancel("a") },
		"cancel later": func(b *bench) { b.Cancel("later") },
		"sweep":        func(b *bench) { b.store.Sweep(b.Context(), []protocol.Partition{storesuite.DefaultPartition}, 0) },
		"limit":        func(b *bench) { b.Limit(storesuite.OneAtOnce) },
		"cancel flight": func(b *bench) {
			b.Take("s", 1)
			b.client.HSet(b.Context(), b.keys().state, "layout", "3")
			b.Cancel("a")
		},
	} {
		t.Run(act, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				later := storesuite.Job("later")
				later.In = time.Hour
				b.Enqueue(storesuite.Job("a"), later)
				b.client.HSet(b.Context(), b.keys().state, "layout", "3")
				do(b)
				b.Want("layout", b.stateField("layout"), layout)
			})
		})
	}
}

// An occurrence that is cancelled before its instant remains there until then: its take makes the schedule's next one owed.
func TestAnOccurrenceCancelledBeforeItsInstantOwesTheNext(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		declared := b.Declare("s", "skip", `{"job":"j"}`)
		at := time.Now().Add(time.Hour).Truncate(time.Second)
		b.Place(*declared.Owed, declared.Revision, 0, at)
		id := storesuite.OccurrenceID("s", at)
		b.Want("cancelled", b.Cancel(id)+b.Cancel(id), "donedone")
		b.Want("owed before its instant", b.owedNames(), "[]")
		b.client.ZAdd(b.Context(), b.keys().due, redisZ(1, id))
		answer := b.Work("w", protocol.WorkCall{Take: 5})
		b.Want("taken", storesuite.IDs(answer.Taken), "")
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

// The answer to a cancellation is lost and the client sends it again: the answer is the same.
func TestACancellationThatIsSentTwiceHasTheSameAnswer(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		later := storesuite.Job("later")
		later.In = time.Hour
		b.Enqueue(later, storesuite.Job("a"))
		twice := &sentTwice{}
		b.client.AddHook(twice)
		b.Want("cancelled", b.Cancel("later")+b.Cancel("a"), "donedone")
		if twice.sent != 2 && selectedServer().lacks&hookedCalls == 0 { // a user who may not cancel uses another client for this
			b.Fatalf("%d scripts were sent twice, want 2", twice.sent)
		}
		b.Want("counted", b.cancelled(), "2")
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

var placesOfJobs = []string{"waiting", "delayed", "parked", "shared", "dead", "running", "nobody"}

func TestCancelFindsAJobInTheSharedListOfParkedOnes(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.everywhere()
		b.Want("cancelled", b.Cancel("shared"), "done")
		b.Want("again", b.Cancel("shared"), "none")
		b.Want("stale", b.stateField("stale"), "")
		if n := b.client.Exists(b.Context(), b.keys().parked(sharedParked)).Val(); n != 0 {
			b.Error("it is still in the list")
		}
	})
}

// An occurrence that was given back without an envelope is found in ready, even if its schedule is not held.
func TestCancelFindsAnOccurrenceThatWasGivenBack(t *testing.T) {
	for _, overlap := range []string{"allow", "skip", "wait", "cancel"} {
		t.Run(overlap, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.Scheduled("s", overlap, storesuite.Ago(time.Minute))
				taken := b.Take("w", 1)
				b.Settle("w", protocol.Settlement{ID: taken[0].ID, Fence: taken[0].Fence, Kind: protocol.SettleBack})
				b.Want("cancelled", b.Cancel(taken[0].ID), "done")
				b.Want("taken", storesuite.IDs(b.Take("w", 5)), "")
				if n := b.client.Exists(b.Context(), b.keys().open, b.keys().stale, b.keys().ready, b.keys().crashes).Val(); n != 0 {
					b.Errorf("%d of open, stale, ready, crashes are left, want none", n)
				}
			})
		})
	}
}
