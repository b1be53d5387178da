package work

import "time"

// clockTrust is how long after an answer its estimate of the store's clock is accurate to a few milliseconds.
const clockTrust = 2 * time.Minute

// A storeClock estimates a store's clock from its last answer. The estimate is never ahead of the store's clock: a job that is late by the
// estimate is late by the store's clock.
type storeClock struct {
	store, local time.Time // at the last answer
}

func (c *storeClock) set(store, local time.Time) {
	if !store.IsZero() {
		c.store, c.local = store, local
	}
}

// answered returns the store's time at the last answer; zero: there was no answer yet.
func (c *storeClock) answered() time.Time { return c.store }

// trusted reports whether the estimate is accurate to a few milliseconds: the last answer was recent, and the wall clock and the monotonic clock
// agree on how recent. They disagree if the machine has slept meanwhile.
func (c *storeClock) trusted(now time.Time) bool {
	passed, shown := now.Sub(c.local), now.Round(0).Sub(c.local.Round(0))
	return !c.store.IsZero() && passed < clockTrust && (passed-shown).Abs() < time.Second
}

// at returns the store's time at a local instant; before any answer it is the local one.
func (c *storeClock) at(local time.Time) time.Time {
	if c.store.IsZero() {
		return local
	}
	return c.store.Add(local.Sub(c.local))
}

// until returns the local instant at which the store's clock shows the given one.
func (c *storeClock) until(store time.Time) time.Time {
	if c.store.IsZero() {
		return store
	}
	return c.local.Add(store.Sub(c.store))
}
