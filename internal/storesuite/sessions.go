package storesuite

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func (s *Suite) TestALapsedSessionIsReapedUnlessItWasExtended(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		b.Enqueue(Job("a"), Job("b"), Job("c"))
		b.Work("s", protocol.WorkCall{Take: 3, Ahead: 1, TTL: 50 * time.Millisecond})
		lapsed := b.UntilLapsed()
		// extended since it was read: not reaped
		b.Work("s", protocol.WorkCall{TTL: 50 * time.Millisecond})
		b.Reap(lapsed, 1)
		if s := b.Stats(); s.InFlight() != 3 {
			b.Fatalf("in flight %d after an extension, want 3", s.InFlight())
		}
		lapsed = b.UntilLapsed()
		b.Reap(lapsed, 1)
		if s := b.Stats(); s.InFlight() != 0 || s.Waiting != 3 {
			b.Fatalf("stats %+v, want 3 waiting", s)
		}
		if answer := b.Try("s", protocol.WorkCall{Take: 1}); !errors.Is(answer.Err, protocol.ErrSessionLost) {
			b.Errorf("a reaped session: error %v, want ErrSessionLost", answer.Err)
		}
		taken := b.Take("s2", 3)
		b.Want("taken again", IDs(taken), "a b c")
		if taken[0].Crashes != 1 || taken[1].Crashes != 1 || taken[2].Crashes != 0 {
			b.Errorf("crashes %d %d %d, want 1 1 0: the third had not begun", taken[0].Crashes, taken[1].Crashes, taken[2].Crashes)
		}
	})
}

// A session that was extended after it was read and has lapsed again is not reaped for the old lapse.
func (s *Suite) TestReapingNeedsTheLapseThatWasSeen(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		b.Enqueue(Job("a"))
		b.Work("s", protocol.WorkCall{Take: 1, TTL: time.Millisecond})
		seen := b.UntilLapsed()
		latest := seen
		for latest.Lapse.Equal(seen.Lapse) {
			b.Work("s", protocol.WorkCall{TTL: time.Millisecond})
			latest = b.UntilLapsed()
		}
		b.Reap(seen, 1)
		if s := b.Stats(); s.InFlight() != 1 {
			b.Errorf("in flight %d, want 1: it was extended since it was read", s.InFlight())
		}
	})
}

// A session with more jobs than one call reaps gets errors from the first call on.
func (s *Suite) TestAHalfReapedSessionIsRefused(t *testing.T) {
	s.onServersWith(t, Listening, func(b *Bench) {
		const jobs = 700
		for range jobs / 100 {
			var items []protocol.EnqueueItem
			for range 100 {
				items = append(items, Job(fmt.Sprintf("j%d-%d", b.Callers, len(items))))
			}
			b.Enqueue(items...)
		}
		b.Work("s", protocol.WorkCall{Take: 400, TTL: 50 * time.Millisecond})
		b.Work("s", protocol.WorkCall{Take: 400, TTL: 50 * time.Millisecond})
		lapsed := b.UntilLapsed()
		call := protocol.ReapCall{Partition: DefaultPartition, Session: lapsed.Session, Seen: lapsed.Lapse}
		if done, err := b.ReapStep(call); done || err != nil {
			b.Fatalf("first call: done %v, %v; want more to do", done, err)
		}
		if answer := b.Try("s", protocol.WorkCall{Take: 1}); !errors.Is(answer.Err, protocol.ErrSessionLost) {
			b.Errorf("its own call: %v, want ErrSessionLost", answer.Err)
		}
		listener := b.Store.Listen("w")
		defer listener.Close()
		extended := listener.Extend(b.Context(), []protocol.ExtendCall{{Partition: DefaultPartition, Session: "s", TTL: time.Minute}})[0]
		if !errors.Is(extended.Err, protocol.ErrSessionLost) {
			b.Errorf("its heartbeat: %v, want ErrSessionLost", extended.Err)
		}
		if done, err := b.ReapStep(call); !done || err != nil {
			b.Fatalf("second call: done %v, %v; want done", done, err)
		}
		if s := b.Stats(); s.InFlight() != 0 || s.Waiting != jobs {
			b.Errorf("stats %+v, want all %d waiting", s, jobs)
		}
	})
}

func (s *Suite) TestASessionBeingReapedCannotStartAgain(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		items := make([]protocol.EnqueueItem, 600)
		for i := range items {
			items[i] = Job(fmt.Sprint("j", i))
		}
		b.Enqueue(items[:300]...)
		b.Enqueue(items[300:]...)
		b.Work("s", protocol.WorkCall{Take: 300, TTL: time.Millisecond})
		b.Work("s", protocol.WorkCall{Take: 300, TTL: time.Millisecond})
		lapsed := b.UntilLapsed()
		call := protocol.ReapCall{Partition: DefaultPartition, Session: "s", Seen: lapsed.Lapse}
		if done, err := b.ReapStep(call); done || err != nil {
			b.Fatalf("first step: done %v, error %v; want more to do", done, err)
		}
		b.Numbers["s"] = 0 // its first call arrives again, late
		if answer := b.Try("s", protocol.WorkCall{Take: 1}); answer.Err == nil {
			b.Errorf("a session that is being reaped took %s", IDs(answer.Taken))
		}
		b.Reap(lapsed, 1)
		if s := b.Stats(); s.InFlight() != 0 || s.Waiting != 600 {
			b.Errorf("stats %+v, want all 600 waiting", s)
		}
	})
}

// A session with thousands of jobs is reaped in several calls, none of which reads all of them.
func (s *Suite) TestALargeSessionIsReapedInSteps(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		const n = 5200
		for first := 0; first < n; first += 400 {
			var items []protocol.EnqueueItem
			for i := first; i < first+400; i++ {
				items = append(items, Job(fmt.Sprintf("j%05d", i)))
			}
			b.Enqueue(items...)
			b.Work("s", protocol.WorkCall{Take: 400, TTL: time.Millisecond})
		}
		lapsed := b.UntilLapsed()
		steps := 0
		for done := false; !done; steps++ {
			var err error
			if done, err = b.ReapStep(protocol.ReapCall{Partition: DefaultPartition, Session: lapsed.Session, Seen: lapsed.Lapse}); err != nil {
				b.Fatal(err)
			}
		}
		if s := b.Stats(); s.Waiting != n || s.InFlight() != 0 || steps < n/500 {
			b.Errorf("%d calls, %d wait, %d in flight; want all of %d returned, 500 a call", steps, s.Waiting, s.InFlight(), n)
		}
		seen := map[string]bool{}
		for len(seen) < n {
			taken := b.Take("t", 500)
			if len(taken) == 0 {
				b.Fatalf("%d returned, want %d", len(seen), n)
			}
			for _, job := range taken {
				if seen[job.ID] || job.Crashes != 1 {
					b.Fatalf("%s returned with %d crashes, or twice", job.ID, job.Crashes)
				}
				seen[job.ID] = true
			}
		}
	})
}

func (s *Suite) TestNoJobIDEndsASession(t *testing.T) {
	for _, id := range []string{"#", "-", "s", "fence", "reaped"} {
		s.onEveryServer(t, func(b *Bench) {
			b.Enqueue(Job("first"), Job(id), Job("last"))
			first := b.Take("s", 1)
			taken := b.Take("s", 5)
			b.Want("taken", IDs(taken), id+" last")
			if !b.Settle("s", protocol.Settlement{ID: id, Fence: taken[0].Fence, Kind: protocol.SettleDone}) {
				b.Errorf("settling %q was refused", id)
			}
			if !b.Settle("s", protocol.Settlement{ID: "first", Fence: first[0].Fence, Kind: protocol.SettleDone}) {
				b.Error("settling another job was refused")
			}
			if s := b.Stats(); s.InFlight() != 1 || s.Done != 2 {
				b.Errorf("stats %+v, want 1 running, 2 done", s)
			}
		})
	}
}

// The first call of an ended session, arriving late, takes nothing: no worker would run its jobs.
func (s *Suite) TestALateCopyOfTheFirstCallTakesNothing(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		for _, ended := range []string{"closed", "reaped"} {
			b.Enqueue(Job("one"))
			first := protocol.WorkCall{Take: 5, TTL: time.Millisecond}
			taken := b.Work(ended, first).Taken
			b.Want("taken", IDs(taken), "one")
			if ended == "closed" {
				b.Settle(ended, protocol.Settlement{ID: "one", Fence: taken[0].Fence, Kind: protocol.SettleDone})
				if err := b.Store.CloseSession(b.Context(), DefaultPartition, ended, nil); err != nil {
					b.Fatal(err)
				}
			} else {
				b.Reap(b.UntilLapsed(), 1)
			}
			b.Enqueue(Job("two"))
			b.Numbers[ended] = 1
			if answer := b.Repeat(ended, first); !errors.Is(answer.Err, protocol.ErrSessionLost) {
				b.Errorf("%s: the late copy took %q, error %v; want ErrSessionLost", ended, IDs(answer.Taken), answer.Err)
			}
			for _, taken := range b.Take("rest", 5) {
				b.Settle("rest", protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleDone})
			}
		}
	})
}

// Jobs that were taken ahead have not begun, and nobody runs the jobs of a session that has lapsed.
func (s *Suite) TestJobsThatHaveNotBegunAreCountedApart(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		b.Enqueue(Job("a"), Job("b"), Job("c"), Job("d"), Job("e"), Job("f"))
		b.Work("live", protocol.WorkCall{Take: 3, Ahead: 2})
		b.Work("gone", protocol.WorkCall{Take: 2, Ahead: 1, TTL: time.Millisecond})
		b.UntilLapsed()
		if s := b.Stats(); s.Running != 1 || s.Ahead != 2 || s.AheadUnknown || s.Vanished != 2 || s.InFlight() != 5 || s.Waiting != 1 || s.Sessions != 1 {
			b.Errorf("stats %+v, want 1 running, 2 ahead, 2 vanished, 1 waiting, 1 session", s)
		}
		held, err := b.Store.Held(b.Context(), []string{DefaultPartition.Queue})
		if err != nil || len(held) != 1 || held["w-live"] != 3 {
			b.Errorf("held %v, %v; want 3 of w-live", held, err)
		}
	})
}
