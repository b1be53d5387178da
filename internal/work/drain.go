package work

import "time"

const (
	handBackWait = 2 * time.Second // for handlers to return once their ctx has ended
	settleAtEnd  = 2 * time.Second // for a store that does not answer to accept the last outcomes
)

// A drain is the end of a worker. The worker takes no more jobs, gives back those that have not begun, waits for its handlers, ends their ctx,
// and hands back the jobs whose handlers have not returned; no attempt is used up. A drain ends in bounded time even if handlers or the store
// hang.
type drain struct {
	started   bool
	startedAt time.Time
	deadline  time.Time // when the handlers' ctx end
	handBack  time.Time // when the jobs of handlers that have not returned are handed back
	giveUp    time.Time // when the worker stops trying to send outcomes to the store
	ended     bool      // the handlers' ctx were ended
	abandoned bool      // the jobs of handlers that had not returned were handed back
}

// begin begins the drain. The handlers' ctx end after the timeout.
func (d *drain) begin(timeout time.Duration, now time.Time) {
	d.started, d.startedAt = true, now
	d.deadline = now.Add(timeout)
	d.handBack = d.deadline.Add(handBackWait)
	d.giveUp = d.handBack.Add(settleAtEnd)
}

// begun reports whether the worker drains.
func (d *drain) begun() bool { return d.started }

// step returns what the drain has to do now, each action once, and when it has something to do again.
func (d *drain) step(now time.Time) (shutDown, abandon bool, until time.Time) {
	if now.Before(d.deadline) {
		return false, false, d.deadline
	}
	shutDown, d.ended = !d.ended, true
	if now.Before(d.handBack) {
		return shutDown, false, d.handBack
	}
	abandon, d.abandoned = !d.abandoned, true
	return shutDown, abandon, d.giveUp
}

// over reports whether the drain's time is up.
func (d *drain) over(now time.Time) bool { return !now.Before(d.giveUp) }

// took is how long the drain has lasted.
func (d *drain) took(now time.Time) time.Duration { return now.Sub(d.startedAt) }
