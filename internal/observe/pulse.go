package observe

import (
	"sync/atomic"
	"time"
)

// LongestNap is how long a loop with a Pulse sleeps, at most, though it has nothing to do: so one that has not turned for long is stuck.
const LongestNap = 5 * time.Second

// A Pulse says when a loop turned last. NewPulse makes one; nil tells nobody. It is safe for concurrent use.
type Pulse struct {
	made time.Time
	at   atomic.Int64 // ns since made; 0: the loop does not run. An instant to come: until then it waits for something that ends by then
}

// NewPulse returns the pulse of a loop that does not run yet.
func NewPulse() *Pulse { return &Pulse{made: time.Now()} }

// Turn notes that the loop turns now.
func (p *Pulse) Turn(now time.Time) {
	if p != nil {
		p.at.Store(max(int64(now.Sub(p.made)), 1))
	}
}

// Wait notes that the loop does something that ends by itself within d. Until then it counts as turning.
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
