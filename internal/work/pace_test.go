package work

import (
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// measured is the pace after handlers of this duration have ended one after the other in one slot.
func measured(d time.Duration, handlers int) *pace {
	p := new(pace)
	now := time.Now()
	for range handlers {
		now = now.Add(d)
		p.ended(d, 1, now)
	}
	return p
}

func TestTheTargetIsFourMillisecondsOfWork(t *testing.T) {
	for _, test := range []struct {
		handler  time.Duration
		handlers int // that were measured
		slots    int
		want     int
	}{
		{0, 0, 10, 0}, // nothing is known
		{time.Millisecond, 1, 1, 4},
		{time.Millisecond, 1, 10, 40},
		{100 * time.Microsecond, 1, 2, 80},
		{time.Microsecond, 1, 10, maxAhead},
		{0, 1, 1, maxAhead},
		{4 * time.Millisecond, 1, 10, 10},
		{50 * time.Millisecond, 1, 100, 8}, // two slots become free each millisecond
		{time.Second, 1, 100, 0},           // one in ten
		{time.Hour, 1, 100, 0},
		// After paceJobs ends the cost of a job for the whole worker is known: ten slots of which one is used do not do ten times the work.
		{100 * time.Microsecond, paceJobs + 1, 10, 40},
	} {
		p := measured(test.handler, test.handlers)
		if got := p.target(test.slots); got != test.want {
			t.Errorf("%d handlers of %v were measured: target for %d slots is %d, want %d", test.handlers, test.handler, test.slots, got, test.want)
		}
	}
}

// Jobs taken ahead last until the next jobs arrive, however slow the store is; but each must begin before it is given back.
func TestTheTargetLastsForFourCalls(t *testing.T) {
	for _, test := range []struct {
		call, handler time.Duration
		slots         int
		want          int
	}{
		{time.Millisecond, 10 * time.Millisecond, 100, 40},      // four milliseconds are longer than four calls
		{2 * time.Millisecond, 10 * time.Millisecond, 100, 80},  // four calls
		{20 * time.Millisecond, 50 * time.Millisecond, 100, 20}, // half of what a job may wait
		{time.Minute, 50 * time.Millisecond, 100, 20},
	} {
		p := measured(test.handler, 1)
		p.call = test.call
		if got := p.target(test.slots); got != test.want {
			t.Errorf("calls of %v, handlers of %v: target for %d slots is %d, want %d", test.call, test.handler, test.slots, got, test.want)
		}
	}
}

func TestAGrainIsATenthOfAMillisecondsWork(t *testing.T) {
	for _, test := range []struct {
		each time.Duration
		want int
	}{
		{0, 1}, // not known
		{time.Second, 1},
		{100 * time.Microsecond, 1},
		{50 * time.Microsecond, 2},
		{10 * time.Microsecond, 10},
		{time.Nanosecond, 250}, // half of what a call may bring
	} {
		p := pace{each: test.each}
		if got := p.grain(); got != test.want {
			t.Errorf("%v a job: a grain is %d, want %d", test.each, got, test.want)
		}
	}
}

func TestOneSlowHandlerDoesNotEndTakingAhead(t *testing.T) {
	p := measured(10*time.Microsecond, 100)
	p.ended(50*time.Millisecond, 1, time.Now())
	if p.target(1) == 0 {
		t.Error("after one handler of 50 ms among a hundred of 10 µs the target is 0")
	}
	for range 100 {
		p.ended(50*time.Millisecond, 1, time.Now())
	}
	if got := p.target(1); got != 0 {
		t.Errorf("after a hundred handlers of 50 ms the target is %d, want 0", got)
	}
}

func TestAfterAStallNothingIsTakenAheadUntilHandlersHaveEnded(t *testing.T) {
	p := measured(10*time.Microsecond, 100)
	p.stalled()
	for n := range aheadStall {
		if p.target(10) != 0 {
			t.Fatalf("jobs are taken ahead %d handlers after a stall, want none before %d", n, aheadStall)
		}
		p.ended(10*time.Microsecond, 1, time.Now())
	}
	if p.target(10) == 0 {
		t.Errorf("%d handlers after a stall the target is still 0", aheadStall)
	}
}

func TestGapsWithoutWaitingFlightsAreNoPace(t *testing.T) {
	p := new(pace)
	now := time.Now()
	for range 10 * paceJobs {
		now = now.Add(500 * time.Microsecond)
		p.ended(10*time.Microsecond, 1, now)
		p.paused() // nothing waited, so the gap does not show the cost of a job
	}
	if p.each != 0 {
		t.Errorf("a job costs %v by gaps in which nothing waited, want an unknown cost", p.each)
	}
	p = measured(time.Hour, paceJobs+1)
	if p.each != paceGap {
		t.Errorf("a job costs %v by gaps of an hour, want at most %v", p.each, paceGap)
	}
}

func TestTheLowMarkLeavesTimeForTwoCalls(t *testing.T) {
	for _, test := range []struct {
		each, call time.Duration
		target     int
		want       int
	}{
		{0, time.Millisecond, 400, 200},                     // the pace is not known
		{10 * time.Microsecond, 0, 400, 200},                // how long a call takes is not known
		{10 * time.Microsecond, time.Millisecond, 400, 200}, // two calls take 200 jobs
		{10 * time.Microsecond, time.Millisecond, 300, 150}, // and at most half
		{10 * time.Microsecond, 100 * time.Microsecond, 400, 20},
		{10 * time.Microsecond, time.Microsecond, 400, 1},                        // never 0: the store works while the last one runs
		{time.Microsecond, 10 * time.Microsecond, 1000, 1000 - protocol.MaxTake}, // one call brings no more
	} {
		p := pace{each: test.each, call: test.call}
		if got := p.lowMark(test.target); got != test.want {
			t.Errorf("%v a job, %v a call: low mark of %d is %d, want %d", test.each, test.call, test.target, got, test.want)
		}
	}
}

func TestARoundTripIsAnAverage(t *testing.T) {
	var p pace
	p.roundTrip(time.Millisecond)
	if p.call != time.Millisecond {
		t.Errorf("after one round trip of 1ms the average is %v", p.call)
	}
	p.roundTrip(9 * time.Millisecond)
	if p.call != 2*time.Millisecond {
		t.Errorf("after another one of 9ms the average is %v, want 2ms: the last counts an eighth", p.call)
	}
}
