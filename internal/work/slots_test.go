package work

import (
	"testing"
	"time"
)

func TestTheProcessorIsNotifiedOfTheFirstThatBeginsAndComesForTheOthersByItself(t *testing.T) {
	s := newSlots(10, true, true)
	var c collected
	now := time.Now()
	begin := func() (notified bool) {
		s.begin(&flight{claim: claim{clock: new(storeClock)}, Attempt: new(Attempt)}, now)
		select {
		case <-s.notified():
			return true
		default:
			return false
		}
	}
	collect := func(after time.Duration, started int) (again time.Duration) {
		t.Helper()
		now = now.Add(after)
		at := s.collect(&c, now)
		if len(c.started) != started {
			t.Errorf("%d have started, want %d", len(c.started), started)
		}
		if at.IsZero() {
			return 0
		}
		return at.Sub(now)
	}
	if !begin() {
		t.Error("the first flight that begins does not notify")
	}
	if again := collect(time.Millisecond, 1); again != 0 {
		t.Errorf("after a single flight the processor collects again in %v", again)
	}
	if !begin() {
		t.Error("a flight that begins while no collect is planned does not notify")
	}
	if again := collect(time.Millisecond, 1); again != reportWithin {
		t.Errorf("after two flights, one soon after the other, the processor collects again in %v, want %v", again, reportWithin)
	}
	if first, second := begin(), begin(); first || second {
		t.Error("a flight that begins notifies although the processor collects without that")
	}
	if again := collect(time.Millisecond, 2); again != reportWithin {
		t.Errorf("the processor collects again in %v, want %v", again, reportWithin)
	}
	if again := collect(time.Millisecond, 0); again != reportWithin-time.Millisecond {
		t.Errorf("a collect in between moves the next one to %v from now", again)
	}
	if again := collect(reportWithin-time.Millisecond, 0); again != 0 {
		t.Errorf("after a while without flights the processor collects again in %v", again)
	}
	if !begin() {
		t.Error("the first flight that begins after a while does not notify")
	}
}

func TestNobodyIsNotifiedOfWhatBeginsIfNobodyHears(t *testing.T) {
	s := newSlots(10, false, false)
	var c collected
	now := time.Now()
	for range 2 {
		s.begin(&flight{claim: claim{clock: new(storeClock)}, Attempt: new(Attempt)}, now)
		if again := s.collect(&c, now); len(c.started) > 0 || len(s.notified()) > 0 || !again.IsZero() {
			t.Errorf("%d are kept, notified %d times, again at %v", len(c.started), len(s.notified()), again)
		}
	}
}
