package reap

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

const ttl = 12 * time.Second

// secondLookAfter is 1.1 heartbeat intervals: 4.4 s with a TTL of 12 s.
const secondLookAfter = 4400 * time.Millisecond

var partition = protocol.Partition{Queue: "default"}

// A fakeStore is the part of a JobStore that a Reaper uses. It changes nothing; answer answers each call.
type fakeStore struct {
	protocol.JobStore
	answer func(protocol.ReapCall) (done bool, err error)

	mu    sync.Mutex
	start time.Time
	calls []protocol.ReapCall
	after []time.Duration // since start, one for each call

	largest int                      // number of calls in a round trip
	lapsed  []protocol.LapsedSession // what Lapsed returns
	lists   int                      // calls of Lapsed
}

func (s *fakeStore) Reap(_ context.Context, calls []protocol.ReapCall) []protocol.ReapAnswer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.largest = max(s.largest, len(calls))
	answers := make([]protocol.ReapAnswer, len(calls))
	for i, call := range calls {
		s.calls = append(s.calls, call)
		s.after = append(s.after, time.Since(s.start))
		answers[i].Done, answers[i].Err = s.answer(call)
	}
	return answers
}

func (s *fakeStore) Lapsed(_ context.Context, p protocol.Partition) ([]protocol.LapsedSession, error) {
	s.lists++
	return s.lapsed, nil
}

// withReaper runs a test while a reaper runs, in a bubble.
func withReaper(t *testing.T, answer func(protocol.ReapCall) (bool, error), test func(t *testing.T, r *Reaper, s *fakeStore, log *strings.Builder)) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{answer: answer, start: time.Now()}
		log := new(strings.Builder)
		r := New(s, ttl, slog.New(slog.NewTextHandler(log, nil)))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.Run(ctx)
		}()
		test(t, r, s, log)
		cancel()
		<-ended
	})
}

func done(protocol.ReapCall) (bool, error) { return true, nil }

// pass lets time pass, and waits until everything that is due has happened.
func (s *fakeStore) pass(d time.Duration) {
	s.mu.Lock()
	//lint:ignore SA2001 it orders the test's reads before the writes that follow
	s.mu.Unlock()
	time.Sleep(d) // fake time
	synctest.Wait()
}

func lapsed(name string, lapse time.Time) []protocol.LapsedSession {
	return []protocol.LapsedSession{{Session: name, Lapse: lapse}}
}

func TestALapsedSessionIsReapedOnceAtTheSecondLook(t *testing.T) {
	withReaper(t, done, func(t *testing.T, r *Reaper, s *fakeStore, _ *strings.Builder) {
		lapse := time.Now().Add(-time.Second)
		for range 4 { // other polls find it too, which does not delay the second look
			r.Note(partition, lapsed("a", lapse), time.Now())
			s.pass(time.Second)
		}
		if len(s.calls) > 0 {
			t.Errorf("%d calls before the second look, want none", len(s.calls))
		}
		s.pass(time.Hour)
		if len(s.calls) != 1 || s.after[0] != secondLookAfter {
			t.Fatalf("calls after %v, want one after %v", s.after, secondLookAfter)
		}
		if c := s.calls[0]; c.Partition != partition || c.Session != "a" || !c.Seen.Equal(lapse) {
			t.Errorf("the call is %+v, want session a with its lapse %v", c, lapse)
		}
		if len(r.seen) != 0 {
			t.Errorf("%d sightings are remembered, want none", len(r.seen))
		}
	})
}

// A session that was extended has another lapse. The reaper sends the lapse that it has found last, and waits again.
func TestASessionThatWasExtendedGetsAnotherSecondLook(t *testing.T) {
	withReaper(t, done, func(t *testing.T, r *Reaper, s *fakeStore, _ *strings.Builder) {
		for range 20 {
			r.Note(partition, lapsed("slow", time.Now()), time.Now())
			s.pass(4 * time.Second)
		}
		if len(s.calls) > 0 {
			t.Errorf("a session that is extended every 4 s was reaped after %v", s.after)
		}
		last := time.Now().Add(-4 * time.Second)
		s.pass(time.Minute)
		if len(s.calls) != 1 || !s.calls[0].Seen.Equal(last) {
			t.Errorf("calls %+v, want one with the last lapse %v", s.calls, last)
		}
	})
}

func TestSessionsAreReapedInTheOrderOfTheirSecondLooks(t *testing.T) {
	withReaper(t, done, func(t *testing.T, r *Reaper, s *fakeStore, _ *strings.Builder) {
		for _, name := range []string{"a", "b", "c"} {
			r.Note(partition, lapsed(name, time.Now()), time.Now())
			s.pass(time.Second)
		}
		s.pass(time.Minute)
		if want := "[4.4s 5.4s 6.4s]"; fmt.Sprint(s.after) != want {
			t.Errorf("calls after %v, want %v", s.after, want)
		}
	})
}

func TestALargeSessionIsReapedInSteps(t *testing.T) {
	steps := 0
	answer := func(protocol.ReapCall) (bool, error) { steps++; return steps == 3, nil }
	withReaper(t, answer, func(t *testing.T, r *Reaper, s *fakeStore, _ *strings.Builder) {
		r.Note(partition, lapsed("large", time.Now()), time.Now())
		s.pass(secondLookAfter)
		if len(s.calls) != 3 {
			t.Errorf("%d calls, want 3 at once", len(s.calls))
		}
		s.pass(time.Hour)
		if len(s.calls) != 3 {
			t.Errorf("%d calls after it was reaped, want 3", len(s.calls))
		}
	})
}

func TestACallThatFailsIsRepeatedAndLoggedOnce(t *testing.T) {
	failures := 0
	answer := func(c protocol.ReapCall) (bool, error) {
		if c.Session == "a" && failures < 5 {
			failures++
			return false, errors.New("connection lost")
		}
		return true, nil
	}
	withReaper(t, answer, func(t *testing.T, r *Reaper, s *fakeStore, log *strings.Builder) {
		r.Note(partition, lapsed("a", time.Now()), time.Now())
		r.Note(partition, lapsed("b", time.Now()), time.Now())
		s.pass(secondLookAfter)
		if len(s.calls) != 2 {
			t.Errorf("%d calls at the second look, want one for each session although one fails", len(s.calls))
		}
		s.pass(10 * time.Second)
		if len(s.calls) != 7 || len(r.seen) != 0 {
			t.Errorf("calls after %v, and %d sightings are left; want six for session a, one for b, and none left", s.after, len(r.seen))
		}
		if n := strings.Count(log.String(), "event=session.reap_failed"); n != 1 {
			t.Errorf("the failure is logged %d times, want once: %s", n, log.String())
		}
	})
}

func TestSightingsAreBounded(t *testing.T) {
	r := New(&fakeStore{}, ttl, slog.New(slog.DiscardHandler))
	now := time.Now()
	for i := range maxSightings + 100 {
		r.Note(partition, lapsed(fmt.Sprint(i), now), now)
	}
	if len(r.seen) != maxSightings {
		t.Errorf("%d sightings are remembered, want %d", len(r.seen), maxSightings)
	}
}

// An answer contains at most 16 lapsed sessions. If it is full, the others are listed, so that all are reaped at the second look.
func TestAnyNumberOfSessionsIsReapedAtTheSecondLook(t *testing.T) {
	withReaper(t, done, func(t *testing.T, r *Reaper, s *fakeStore, _ *strings.Builder) {
		const n = 5000
		for i := range n {
			s.lapsed = append(s.lapsed, lapsed(fmt.Sprint(i), time.Now().Add(-time.Second))...)
		}
		for range 4 {
			r.Note(partition, s.lapsed[:protocol.MaxSeenLapsed], time.Now())
			s.pass(time.Second)
		}
		if s.lists != 4 {
			t.Errorf("listed %d times in 4 seconds, want once a second", s.lists)
		}
		s.pass(time.Second)
		if len(s.calls) != n || s.after[n-1] != secondLookAfter || s.largest > protocol.MaxReaped {
			t.Errorf("%d calls, up to %d in a round trip, the last after %v; want one for each of %d sessions, up to %d, after %v",
				len(s.calls), s.largest, s.after[len(s.after)-1], n, protocol.MaxReaped, secondLookAfter)
		}
	})
}

// The second look at a session comes after a heartbeat interval of that session and not after one of the reaper's worker.
func TestTheSecondLookGoesByTheSessionsOwnTTL(t *testing.T) {
	withReaper(t, done, func(t *testing.T, r *Reaper, s *fakeStore, _ *strings.Builder) {
		for _, ttl := range []time.Duration{3 * time.Second, 30 * time.Second} {
			r.Note(partition, lapsed(protocol.NewSession(ttl), time.Now()), time.Now())
		}
		s.pass(time.Minute)
		if want := "[1.1s 11s]"; fmt.Sprint(s.after) != want {
			t.Errorf("calls after %v, want %v", s.after, want)
		}
	})
}
