package observe

import (
	"sync/atomic"
	"time"
)

// LongestNap is the longest sleep of a loop with a Pulse that has nothing to do: a loop that has not turned for longer is stuck.
const LongestNap = 5 * time.Second

// A Pulse records when a loop turned last. NewPulse makes one; a nil Pulse records nothing. It is safe for concurrent use.
type Pulse struct {
	made time.Time
	at   atomic.Int64 // ns since made; 0: the loop does not run. A future instant: until then it waits for an action that will have ended
}

// NewPulse returns the pulse of a loop that does not run yet.
func NewPulse() *Pulse { return &Pulse{made: time.Now()} }

// Turn notes that the loop turns now.
func (p *Pulse) Turn(now time.Time) {
	if p != nil {
		p.at.Store(max(int64(now.Sub(p.made)), 1))
	}
}

// Wait notes that the loop takes an action that ends without help within d. Until then it counts as turning.
func (p *Pulse) Wait(d time.Duration) { p.Turn(time.Now().Add(d)) }

// End notes that the loop has ended.
func (p *Pulse) End() {
	if p != nil {
		p.at.Store(0)
	}
}

// Last returns when the loop turned last; false: it does not run. The instant has a reading of the monotonic clock.
func (p *Pulse) Last() (at time.Time, runs bool) {
	ns := p.at.Load()
	if ns == 0 {
		return time.Time{}, false
	}
	now := time.Now()
	if at = p.made.Add(time.Duration(ns)); at.After(now) {
		at = now
	}
	return at, true
}
