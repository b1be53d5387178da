package work

import (
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

const testTTL = 12 * time.Second

// holding returns a session that has taken jobs by its first call, at the returned instant.
func holding(jobs int) (s *session, now time.Time) {
	s, now = newSession(protocol.Partition{Queue: "default"}, 12*time.Second), time.Now()
	s.answered(1, now, jobs, 0, now)
	return s, now
}

func TestASessionExistsAndCountsOnceACallWasAnswered(t *testing.T) {
	s, now := newSession(protocol.Partition{Queue: "default"}, 12*time.Second), time.Now()
	if s.exists() || s.nextNumber() != 1 || !s.closeAt(testTTL).IsZero() {
		t.Errorf("a new session: exists %v, next call %d, closed at %v; want no, 1, never", s.exists(), s.nextNumber(), s.closeAt(testTTL))
	}
	if became, until := s.checkSilence(now.Add(time.Hour), testTTL); became || !until.IsZero() {
		t.Error("a session that the store does not know became silent")
	}
	s.answered(1, now, 2, 0, now)
	if !s.exists() || s.nextNumber() != 2 {
		t.Errorf("after call 1: exists %v, next call %d; want yes, 2", s.exists(), s.nextNumber())
	}
	if other := newSession(s.partition(), 12*time.Second); other.name() == s.name() {
		t.Errorf("two sessions are called %q", s.name())
	}
}

func TestASessionIsClosedASecondAfterItsLastJob(t *testing.T) {
	s, now := holding(2)
	if at := s.closeAt(testTTL); !at.IsZero() {
		t.Errorf("with two jobs it is closed at %v, want never", at)
	}
	now = now.Add(time.Minute)
	if empty := s.answered(2, now, 1, 2, now); empty || !s.closeAt(testTTL).IsZero() {
		t.Error("with one job it is empty or closed")
	}
	sent, now := now.Add(time.Minute), now.Add(time.Minute+time.Second)
	if empty := s.answered(3, sent, 0, 1, now); !empty {
		t.Error("without a job it is not empty")
	}
	if got, want := s.closeAt(testTTL), now.Add(time.Second); !got.Equal(want) {
		t.Errorf("it is closed at %v, want %v: a second after the answer", got, want)
	}
	if got, want := s.closeAt(1500*time.Millisecond), now.Add(500*time.Millisecond); !got.Equal(want) {
		t.Errorf("with a short TTL it is closed at %v, want %v: before it lapses", got, want)
	}
	s.answered(4, now, 1, 0, now)
	if at := s.closeAt(testTTL); !at.IsZero() {
		t.Errorf("with a new job it is closed at %v, want never", at)
	}
}

func TestASessionIsSilentOnceItWasNotExtendedForItsTTL(t *testing.T) {
	s, now := holding(1)
	if became, until := s.checkSilence(now.Add(testTTL-1), testTTL); became || s.isSilent() || !until.Equal(now.Add(testTTL)) {
		t.Errorf("before the TTL is over: silent %v, next check at %v; want no, at its end", s.isSilent(), until)
	}
	// The instant at which a heartbeat was sent counts: the store may have handled it as early as that.
	s.extended(now.Add(4*time.Second), now.Add(9*time.Second), testTTL)
	if _, until := s.checkSilence(now.Add(testTTL), testTTL); !until.Equal(now.Add(4*time.Second + testTTL)) {
		t.Errorf("after a heartbeat the next check is at %v, want a TTL after it was sent", until)
	}
	s.extended(now.Add(time.Second), now.Add(10*time.Second), testTTL) // an older one, answered later
	at := now.Add(4*time.Second + testTTL)
	if became, _ := s.checkSilence(at.Add(-1), testTTL); became {
		t.Error("an older heartbeat shortened the time")
	}
	if became, _ := s.checkSilence(at, testTTL); !became || !s.isSilent() {
		t.Error("it is not silent once the TTL is over")
	}
	if became, until := s.checkSilence(at.Add(time.Second), testTTL); became || !until.IsZero() {
		t.Error("it became silent twice, or is checked again")
	}
}

func TestAnExtensionEndsASilence(t *testing.T) {
	silent := func() (*session, time.Time) {
		s, now := holding(1)
		now = now.Add(testTTL)
		s.checkSilence(now, testTTL)
		return s, now
	}
	s, now := silent()
	if s.extended(now.Add(-testTTL), now, testTTL); !s.isSilent() {
		t.Error("a heartbeat that was sent a TTL ago ended the silence")
	}
	if s.extended(now, now.Add(time.Second), testTTL); s.isSilent() {
		t.Error("a heartbeat did not end the silence")
	}
	s, now = silent()
	if s.answered(2, now, 0, 0, now); s.isSilent() {
		t.Error("an answered call did not end the silence")
	}
}

func TestAnEmptySessionIsNeverSilent(t *testing.T) {
	s, now := holding(1)
	s.answered(2, now, 0, 1, now)
	if became, until := s.checkSilence(now.Add(time.Hour), testTTL); became || s.isSilent() || !until.IsZero() {
		t.Error("a session that holds no job became silent")
	}
}

func TestASessionIsLostOnce(t *testing.T) {
	s, _ := holding(3)
	if s.isLost() {
		t.Error("a session that was not reaped is lost")
	}
	if held, first := s.lose(); held != 3 || !first || !s.isLost() {
		t.Errorf("lost with %d jobs, first %v, lost %v; want 3, yes, yes", held, first, s.isLost())
	}
	if _, first := s.lose(); first {
		t.Error("it was lost a second time")
	}
}
