package storesuite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// Void IDs in ready delay no job: a take skips as many as it wants and 500 more, and reports that there is more.
func (s *Suite) TestATakePassesOverWhatIsVoid(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		var all []string
		for from := range 3 {
			var items []protocol.EnqueueItem
			for i := range 400 {
				all = append(all, fmt.Sprintf("j%04d", 400*from+i))
				items = append(items, Job(all[len(all)-1]))
			}
			b.Enqueue(items...)
		}
		b.Enqueue(Job("last"))
		for from := 0; from < len(all); from += 400 {
			if _, err := b.Store.DeleteJobs(b.Context(), "default", all[from:from+400]); err != nil {
				b.Fatal(err)
			}
		}
		for calls := 1; ; calls++ {
			answer := b.Work("s", protocol.WorkCall{Take: 1})
			if len(answer.Taken) == 0 && answer.More && calls < 4 {
				continue
			}
			b.Want("taken", IDs(answer.Taken), "last")
			if calls != 3 {
				b.Errorf("behind 1200 that are void it came in call %d, want 3", calls)
			}
			break
		}
	})
}

// A call that took a job is repeated after the job was cancelled: the answer is the same, so that its worker settles it.
func (s *Suite) TestARepeatedTakeStillHasWhatWasCancelledSince(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		b.Enqueue(Job("a"), Job("b"), Job("c"))
		first := b.Work("s", protocol.WorkCall{Take: 3, Ahead: 1})
		b.Want("cancelled", b.Cancel("b"), "asked")
		again := b.Repeat("s", protocol.WorkCall{Take: 3, Ahead: 1})
		b.Want("taken again", fmt.Sprint(again.Taken), fmt.Sprint(first.Taken))
	})
}

// The holder is notified at once, and in the answer to each heartbeat until it has settled the job.
func (s *Suite) TestTheHolderOfACancelledJobIsNotifiedByHeartbeatsToo(t *testing.T) {
	s.onServersWith(t, Listening, func(b *Bench) {
		listener := b.Store.Listen("w-s")
		defer listener.Close()
		b.awaitSignal(listener, func(s protocol.Signal) bool { return s.Connected })
		b.Enqueue(Job("a"), Job("b"))
		taken := b.Take("s", 2)
		beat := func() string {
			answer := listener.Extend(b.Context(), []protocol.ExtendCall{{Partition: DefaultPartition, Session: "s", TTL: time.Minute}})[0]
			if answer.Err != nil {
				b.Fatal(answer.Err)
			}
			return fmt.Sprint(answer.Cancelled)
		}
		b.Want("notified before", beat(), "[]")
		b.Want("cancelled", b.Cancel("b"), "asked")
		want := protocol.HeldJob{ID: "b", Fence: taken[1].Fence}
		b.awaitSignal(listener, func(s protocol.Signal) bool { return s.Cancelled == want })
		b.Want("notified by heartbeats", beat()+beat(), strings.Repeat(fmt.Sprint([]protocol.HeldJob{want}), 2))
		b.Settle("s", protocol.Settlement{ID: "b", Fence: want.Fence, Kind: protocol.SettleDone})
		b.Want("notified once it is settled", beat(), "[]")
	})
}

// If the occurrence that holds its schedule is cancelled, the one behind it continues.
func (s *Suite) TestACancelledOccurrenceReleasesTheOneBehindIt(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		first, second := Ago(2*time.Minute), Ago(time.Minute)
		b.Scheduled("s", "wait", first, second)
		taken := b.Take("w", 5)
		b.Want("taken", IDs(taken), OccurrenceID("s", first))
		b.Want("cancelled", b.Cancel(taken[0].ID), "asked")
		b.Want("taken while it runs", IDs(b.Take("w", 5)), "")
		b.Settle("w", protocol.Settlement{ID: taken[0].ID, Fence: taken[0].Fence, Kind: protocol.SettleBack})
		b.Want("taken next", IDs(b.Take("w", 5)), OccurrenceID("s", second))
	})
}

// awaitSignal receives until a signal is the wanted one.
func (b *Bench) awaitSignal(listener protocol.Listener, wanted func(protocol.Signal) bool) {
	b.Helper()
	timeout := time.After(time.Minute) // real time: a signal that does not come fails the test
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

// A caller that waits for a cancelled job is notified of its end even if reaping ends it.
func (s *Suite) TestTheEndOfACancelledJobIsReportedWhenItsSessionIsReaped(t *testing.T) {
	s.onServersWith(t, Listening, func(b *Bench) {
		b.Enqueue(Job("a"))
		b.Work("gone", protocol.WorkCall{Take: 1, TTL: time.Millisecond})
		b.Want("cancelled", b.Cancel("a"), "asked")
		changed, stop := b.Store.Await(b.Context(), "default", "a")
		defer stop()
		b.awaitChange(changed, "the connection")
		b.Reap(b.UntilLapsed(), 1)
		b.awaitChange(changed, "the end")
	})
}

func (b *Bench) awaitChange(changed <-chan struct{}, of string) {
	b.Helper()
	select {
	case <-changed:
	case <-time.After(time.Minute): // real time: an end that is not reported fails the test
		b.Fatalf("no end of %s was reported", of)
	}
}
