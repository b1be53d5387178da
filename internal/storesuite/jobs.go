package storesuite

import (
	"errors"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func (s *Suite) TestJobsAreTakenInOrderWithGrowingFences(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		b.Enqueue(Job("a"), Job("b"), Job("c"))
		taken := b.Take("s", 2)
		b.Want("taken", IDs(taken), "a b")
		b.Want("body", string(taken[0].Body), "\x01a")
		if taken[0].Fence >= taken[1].Fence || !taken[0].Begun {
			b.Errorf("fences %d, %d, begun %v: want growing ones and begun", taken[0].Fence, taken[1].Fence, taken[0].Begun)
		}
		more := b.Take("s", 2)
		b.Want("taken next", IDs(more), "c")
		if more[0].Fence <= taken[1].Fence {
			b.Errorf("fence %d after %d: want a larger one", more[0].Fence, taken[1].Fence)
		}
		if s := b.Stats(); s.InFlight() != 3 || s.Waiting != 0 || s.Enqueued != 3 {
			b.Errorf("stats %+v, want 3 in flight, none waiting", s)
		}
	})
}

func (s *Suite) TestARepeatedWorkCallGetsTheSameAnswerAndWritesNothing(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		b.Enqueue(Job("a"), Job("b"), Job("c"), Job("d"))
		first := b.Take("s", 1)
		second := b.Work("s", protocol.WorkCall{Take: 2, Settle: []protocol.Settlement{{ID: "a", Fence: first[0].Fence, Kind: protocol.SettleDone}}})
		again := b.Repeat("s", protocol.WorkCall{Take: 2, Settle: []protocol.Settlement{{ID: "a", Fence: first[0].Fence, Kind: protocol.SettleDone}}})
		if again.Err != nil {
			b.Fatal(again.Err)
		}
		b.Want("taken", IDs(second.Taken), "b c")
		b.Want("taken again", IDs(again.Taken), "b c")
		if again.Taken[0].Fence != second.Taken[0].Fence || string(again.Taken[1].Body) != "\x01c" || len(again.Refused) != 0 {
			b.Errorf("again %+v, want the same fences and bodies, nothing refused", again)
		}
		if s := b.Stats(); s.Done != 1 || s.InFlight() != 2 || s.Waiting != 1 {
			b.Errorf("stats %+v, want 1 done, 2 in flight, 1 waiting", s)
		}
		b.Numbers["s"] = 0
		if answer := b.Try("s", protocol.WorkCall{Take: 1}); !errors.Is(answer.Err, protocol.ErrSessionLost) {
			b.Errorf("an earlier number: error %v, want ErrSessionLost", answer.Err)
		}
	})
}

func (s *Suite) TestASettlementNeedsTheFence(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		b.Enqueue(Job("a"))
		a := b.Take("s", 1)[0]
		for _, kind := range []protocol.SettleKind{protocol.SettleDone, protocol.SettleLater, protocol.SettleDead, protocol.SettleBack} {
			if b.Settle("s", protocol.Settlement{ID: "a", Fence: a.Fence - 1, Kind: kind}) {
				b.Errorf("kind %c with another fence was accepted", kind)
			}
		}
		if b.Settle("s", protocol.Settlement{ID: "never taken", Fence: a.Fence, Kind: protocol.SettleDone}) {
			b.Error("a job that was not taken was settled")
		}
		if s := b.Stats(); s.InFlight() != 1 {
			b.Errorf("in flight %d, want 1", s.InFlight())
		}
	})
}

func (s *Suite) TestARepeatedEnqueueCallAddsNothing(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		b.Want("existing", BoolsText(b.Enqueue(Own("a"), Job("b"))), "false false")
		b.Callers--
		b.Want("the same call again", BoolsText(b.Enqueue(Own("a"), Job("b"))), "true false")
		if s := b.Stats(); s.Waiting != 2 || s.Enqueued != 2 {
			b.Errorf("stats %+v, want 2 waiting", s)
		}
		for _, taken := range b.Take("s", 5) {
			b.Settle("s", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone})
		}
		b.Callers--
		b.Enqueue(Own("a"), Job("b"))
		if s := b.Stats(); s.Waiting != 0 {
			b.Errorf("the same call after the jobs were done: %d waiting, want 0", s.Waiting)
		}
		b.Callers -= 2
		answer := b.Store.Enqueue(b.Context(), []protocol.EnqueueCall{{Partition: DefaultPartition, Caller: "caller", Number: b.Callers, Items: []protocol.EnqueueItem{Job("c")}}})[0]
		if answer.Err == nil {
			b.Error("a call older than the last one was accepted")
		}
	})
}

func (s *Suite) TestAnOwnIDIsUniqueAsLongAsTheJobExists(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		b.Want("first and twice in one call", BoolsText(b.Enqueue(Own("x"), Own("x"))), "false true")
		b.Want("waiting", BoolsText(b.Enqueue(Own("x"))), "true")
		x := b.Take("s", 5)
		b.Want("taken", IDs(x), "x")
		b.Want("in flight", BoolsText(b.Enqueue(Own("x"))), "true")
		b.Settle("s", protocol.Settlement{ID: "x", Fence: x[0].Fence, Kind: protocol.SettleDone})
		b.Want("done", BoolsText(b.Enqueue(Own("x"))), "false")
	})
}

func (s *Suite) TestADelayedJobIsNotTakenEarly(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		later, soon := Job("later"), Job("soon")
		later.In = time.Hour
		soon.In = 100 * time.Millisecond
		b.Callers++
		enqueued := b.Store.Enqueue(b.Context(), []protocol.EnqueueCall{{
			Partition: DefaultPartition, Caller: "caller", Number: b.Callers, Items: []protocol.EnqueueItem{later, soon},
		}})[0]
		if enqueued.Err != nil {
			b.Fatal(enqueued.Err)
		}
		due := enqueued.Now.Add(soon.In)
		for taken := ""; taken == ""; {
			answer := b.Work("s", protocol.WorkCall{Take: 5, Sleep: true, Lapses: true})
			switch taken = IDs(answer.Taken); {
			case taken == "" && !answer.Now.Before(due.Add(time.Millisecond)): // instants are rounded up to a millisecond
				b.Fatalf("at %v nothing is taken, want the job of %v", answer.Now, due)
			case taken == "" && (answer.Next <= 0 || answer.Now.Add(answer.Next).Sub(due).Abs() > time.Millisecond):
				b.Fatalf("at %v Next is %v, want the instant of the job, %v", answer.Now, answer.Next, due)
			case taken != "" && answer.Now.Before(due):
				b.Fatalf("at %v %s is taken, want nothing before %v", answer.Now, taken, due)
			case taken != "":
				b.Want("taken later", taken, "soon")
			}
		}
	})
}

func (s *Suite) TestDueAndReadyJobsShareATake(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		past := time.Now().Add(-time.Hour)
		for _, id := range []string{"d1", "d2", "d3"} {
			item := Job(id)
			item.At = past
			past = past.Add(time.Second)
			b.Enqueue(item)
		}
		b.Enqueue(Job("r1"), Job("r2"), Job("r3"))
		b.Want("two and two", IDs(b.Take("s", 4)), "r1 r2 d1 d2")
		b.Want("the rest", IDs(b.Take("s", 4)), "r3 d3")
	})
}

func (s *Suite) TestParkedJobsGoToAWorkerThatAsks(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		b.Enqueue(Job("a"), Job("b"))
		taken := b.Take("s", 2)
		answer := b.Work("s", protocol.WorkCall{Settle: []protocol.Settlement{
			{ID: "a", Fence: taken[0].Fence, Kind: protocol.SettlePark, Name: "mail"},
			{ID: "b", Fence: taken[1].Fence, Kind: protocol.SettlePark, Name: "report"},
		}})
		if answer.ParkedMark == 0 || answer.More {
			b.Fatalf("mark %d, more %v; want one, and nothing more", answer.ParkedMark, answer.More)
		}
		look := protocol.ParkedLook{Handled: []string{"mail", "sms"}}
		answer = b.Work("s2", protocol.WorkCall{Take: 1, ParkedLook: look})
		if len(answer.Parked) != 1 || answer.Parked[0] != "mail" || !answer.Looked {
			b.Fatalf("parked names %q, looked up: %v; want mail, the only one of them with jobs", answer.Parked, answer.Looked)
		}
		mark := answer.ParkedMark
		answer = b.Work("s2", protocol.WorkCall{Take: 5, Serve: answer.Parked})
		b.Want("served", IDs(answer.Taken), "a")
		if len(answer.Parked) != 0 || answer.ParkedMark != mark {
			b.Errorf("parked names %q, mark %d; want no more of mail, and the mark %d as before", answer.Parked, answer.ParkedMark, mark)
		}
		if s := b.Stats(); s.Parked != 1 {
			b.Errorf("parked %d, want 1", s.Parked)
		}
	})
}

func (s *Suite) TestNothingIsTakenFromAPausedQueue(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		b.Enqueue(Job("a"))
		if err := b.Store.PauseQueue(b.Context(), "default", true, protocol.Note{}); err != nil {
			b.Fatal(err)
		}
		answer := b.Work("s", protocol.WorkCall{Take: 1, Sleep: true, Lapses: true})
		if len(answer.Taken) != 0 || !answer.Paused || answer.More {
			b.Fatalf("answer %+v, want nothing and paused", answer)
		}
		if err := b.Store.PauseQueue(b.Context(), "default", false, protocol.Note{}); err != nil {
			b.Fatal(err)
		}
		b.Want("resumed", IDs(b.Take("s", 1)), "a")
	})
}

func (s *Suite) TestEveryEndOfAJobKeepsItsResult(t *testing.T) {
	result := &protocol.Result{Keep: time.Hour, Body: []byte("r|1")}
	for name, c := range map[string]struct {
		kind   protocol.SettleKind
		cancel bool
		want   string
	}{
		"done": {protocol.SettleDone, false, "d r|1"}, "failed": {protocol.SettleLater, false, "delayed"}, "dead": {protocol.SettleDead, false, "dead"},
		"back": {protocol.SettleBack, false, "waiting"}, "done, but it was cancelled": {protocol.SettleDone, true, "c r|1"},
		"failed, and it was cancelled": {protocol.SettleLater, true, "c r|1"}, "dead, and it was cancelled": {protocol.SettleDead, true, "c r|1"},
		"cancelled": {protocol.SettleCancelled, true, "c r|1"},
	} {
		t.Run(name, func(t *testing.T) {
			s.onEveryServer(t, func(b *Bench) {
				b.Enqueue(Job("a"))
				held := b.Take("w", 1)[0]
				if c.cancel {
					b.Want("cancelled", b.Cancel("a"), "asked")
				}
				s := protocol.Settlement{ID: "a", Fence: held.Fence, Kind: c.kind, Delay: time.Hour, Body: []byte("\x01b"), Result: result}
				if c.kind == protocol.SettleDone || c.kind == protocol.SettleBack || c.kind == protocol.SettleCancelled {
					s.Body = nil
				}
				if !b.Settle("w", s) {
					b.Fatal("the settlement was refused")
				}
				b.Want("left", b.Result("a"), c.want)
			})
		})
	}
}

// The job that follows a death comes before the waiting ones.
func (s *Suite) TestADeathsJobIsTakenNext(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		b.Enqueue(Job("a"), Job("b"))
		held := b.Take("w", 1)[0]
		answer := b.Work("w", protocol.WorkCall{Take: 2, Settle: []protocol.Settlement{{
			ID: "a", Fence: held.Fence, Kind: protocol.SettleDead, Body: []byte("\x01dead"), Follower: &protocol.Follower{Body: []byte("\x01alert")},
		}}})
		b.Want("taken with the call that settles", IDs(answer.Taken), "b")
		b.Want("taken then", IDs(b.Take("w", 2)), protocol.FollowerID("a", protocol.EndDead, held.Fence, ""))
	})
}
