package hookstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/redisstore/embedded"
)

var (
	a = protocol.Partition{Queue: "a"}
	b = protocol.Partition{Queue: "b"}
)

func start(t *testing.T, of testing.TB) *Store {
	server := embedded.StartInMemory()
	t.Cleanup(func() { server.Close() })
	return New(of, server.Store())
}

func enqueue(p protocol.Partition, number int64, ids ...string) protocol.EnqueueCall {
	envelope := wire.Envelope{Name: "work", MaxAttempts: 3}
	call := protocol.EnqueueCall{Partition: p, Caller: "enqueuer", Number: number}
	for _, id := range ids {
		call.Items = append(call.Items, protocol.EnqueueItem{ID: id, Body: envelope.Encode()})
	}
	return call
}

func work(p protocol.Partition, number int64, take int) protocol.WorkCall {
	return protocol.WorkCall{Partition: p, Worker: "worker", Session: "session of " + p.Queue, Number: number, TTL: 12 * time.Second, Take: take}
}

// A part that fails before it is sent changes nothing. A part that fails afterwards is executed. The other parts of the round trip are answered.
func TestAFaultFailsThePartsThatItIsFor(t *testing.T) {
	s := start(t, t)
	for _, answer := range s.Enqueue(t.Context(), []protocol.EnqueueCall{enqueue(a, 1, "1", "2"), enqueue(b, 1, "3")}) {
		if answer.Err != nil {
			t.Fatal(answer.Err)
		}
	}
	calls := []protocol.WorkCall{work(a, 1, 1), work(b, 1, 1)}
	s.SetFault(func(action string, p protocol.Partition) (before, after error) {
		if action == "work" && p == a {
			return ErrReset, nil
		}
		return nil, nil
	})
	answers := s.Work(t.Context(), calls)
	if !errors.Is(answers[0].Err, ErrReset) || answers[1].Err != nil || len(answers[1].Taken) != 1 || s.Taken() != 1 {
		t.Fatalf("answers %+v, %d taken; want the first part failed and not sent", answers, s.Taken())
	}
	s.SetFault(func(string, protocol.Partition) (before, after error) { return nil, ErrReset })
	if answers := s.Work(t.Context(), calls[:1]); !errors.Is(answers[0].Err, ErrReset) || s.Taken() != 2 {
		t.Fatalf("answers %+v, %d taken; want it executed and the answer lost", answers, s.Taken())
	}
	s.SetFault(nil)
	again := s.Work(t.Context(), calls[:1])
	if again[0].Err != nil || len(again[0].Taken) != 1 || s.Taken() != 2 || s.Count("work") != 4 || s.RoundTrips("work") != 3 {
		t.Errorf("again %+v, %d taken, %d parts in %d round trips; want the same job again, 4 in 3", again, s.Taken(), s.Count("work"), s.RoundTrips("work"))
	}
	settle := work(a, 2, 0)
	for _, taken := range again[0].Taken {
		settle.Settle = append(settle.Settle, protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone}, protocol.Settlement{ID: taken.ID, Fence: 99, Kind: protocol.SettleDone})
	}
	if answer := s.Work(t.Context(), []protocol.WorkCall{settle})[0]; answer.Err != nil || s.Kinds()[protocol.SettleDone] != 1 || s.Refused() != 1 {
		t.Errorf("answered %+v, settled %v, %d refused; want one each", answer, s.Kinds(), s.Refused())
	}
}

// A recorder counts the errors that would fail a test.
type recorder struct {
	testing.TB
	errors int
}

func (r *recorder) Errorf(string, ...any) { r.errors++ }

func TestAViolationOfTheProtocolFailsTheTest(t *testing.T) {
	lost := func(string, protocol.Partition) (before, after error) { return nil, ErrReset }
	for name, run := range map[string]func(ctx context.Context, s *Store){
		"a number is left out": func(ctx context.Context, s *Store) { s.Work(ctx, []protocol.WorkCall{work(a, 2, 1)}) },
		"too many are taken":   func(ctx context.Context, s *Store) { s.Work(ctx, []protocol.WorkCall{work(a, 1, 501)}) },
		"a call that continues to sleep and settles nothing": func(ctx context.Context, s *Store) {
			s.Work(ctx, []protocol.WorkCall{{Partition: a, Worker: "w", Session: "s", Number: 1, TTL: time.Second, SleepOn: true}})
		},
		"a lost call is changed": func(ctx context.Context, s *Store) {
			s.SetFault(lost)
			s.Work(ctx, []protocol.WorkCall{work(a, 1, 1)})
			s.Work(ctx, []protocol.WorkCall{work(a, 1, 2)})
		},
		"two calls of a session at once": func(ctx context.Context, s *Store) { s.Work(ctx, []protocol.WorkCall{work(a, 1, 1), work(a, 1, 1)}) },
		"no items":                       func(ctx context.Context, s *Store) { s.Enqueue(ctx, []protocol.EnqueueCall{enqueue(a, 1)}) },
		"two calls of an enqueuer at once": func(ctx context.Context, s *Store) {
			s.Enqueue(ctx, []protocol.EnqueueCall{enqueue(a, 1, "1"), enqueue(a, 2, "2")})
		},
		"an answered call is repeated": func(ctx context.Context, s *Store) {
			s.Enqueue(ctx, []protocol.EnqueueCall{enqueue(a, 1, "1")})
			s.Enqueue(ctx, []protocol.EnqueueCall{enqueue(a, 1, "1")})
		},
		"a lost call is repeated with other items": func(ctx context.Context, s *Store) {
			s.SetFault(lost)
			s.Enqueue(ctx, []protocol.EnqueueCall{enqueue(a, 1, "1")})
			s.Enqueue(ctx, []protocol.EnqueueCall{enqueue(a, 1, "2")})
		},
	} {
		r := &recorder{TB: t}
		if run(t.Context(), start(t, r)); r.errors != 1 {
			t.Errorf("%s: %d errors, want 1", name, r.errors)
		}
	}
}

func TestANodeThatIsDownFailsItsPartsOnly(t *testing.T) {
	s := start(t, t)
	s.QueuesAreNodes()
	s.FailNode("b", 0)
	polled := s.Poll(t.Context(), []protocol.PollCall{{Partition: a, Worker: "w", Sleep: true}, {Partition: b, Worker: "w", Sleep: true}})
	if polled[0].Err != nil || !errors.Is(polled[1].Err, ErrReset) || s.Node(a) == s.Node(b) {
		t.Errorf("polled %+v on %s and %s, want only b to fail", polled, s.Node(a), s.Node(b))
	}
	s.RepairNodes()
	if err := s.Leave(t.Context(), []protocol.LeaveCall{{Partition: a, Worker: "w"}, {Partition: b, Worker: "w"}}); err != nil {
		t.Error(err)
	}
}

func TestASubscriptionThatIsNotConfirmedStillDelivers(t *testing.T) {
	s := start(t, t)
	s.Unconfirmed = true
	l := s.Listen("w")
	for t.Context().Err() == nil { // until an election comes after the subscription
		if _, err := s.Lead(t.Context(), "leader", time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := s.Resign(t.Context(), "leader"); err != nil {
			t.Fatal(err)
		}
		select {
		case signal := <-l.Signals():
			if signal.Connected || !signal.Elect {
				t.Errorf("signal %+v, want an election", signal)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			return
		case <-time.After(10 * time.Millisecond): // real time: the next election
		}
	}
}

func TestAFaultOfEnqueueSeesTheCall(t *testing.T) {
	s := start(t, t)
	s.KeepEnqueue = true
	s.EnqueueFault = func(c *protocol.EnqueueCall) (before, after error) {
		if c.Items[0].ID == "1" {
			return nil, ErrReset
		}
		return nil, nil
	}
	calls := []protocol.EnqueueCall{enqueue(a, 1, "1"), enqueue(b, 1, "2")}
	answers := s.Enqueue(t.Context(), calls)
	if !errors.Is(answers[0].Err, ErrReset) || answers[1].Err != nil {
		t.Errorf("answers %+v, want only the first one lost", answers)
	}
	found, err := s.FindJobs(t.Context(), "a", []string{"1"})
	if err != nil || len(found) != 1 || found[0].ID != "1" || len(s.EnqueueCalls()) != 2 {
		t.Errorf("found %+v, %v, after %d calls; want the job enqueued", found, err, len(s.EnqueueCalls()))
	}
}
