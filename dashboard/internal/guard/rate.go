package guard

import (
	"sync"
	"time"
)

const maxViewers = 10_000 // those beyond share one allowance

// A Rate lets each viewer send so many requests a second, all of a second at once or spread over it.
type Rate struct {
	perSecond float64

	mu     sync.Mutex
	of     map[string]*allowance
	others allowance
	swept  time.Time
}

// An allowance is how many requests a viewer had left at an instant; it grows to perSecond.
type allowance struct {
	left float64
	at   time.Time
}

// NewRate returns a rate of so many requests a second.
func NewRate(perSecond int) *Rate {
	return &Rate{perSecond: float64(perSecond), of: map[string]*allowance{}, others: allowance{left: float64(perSecond)}}
}

// Take uses up one request of a viewer. If there is none left it returns how long it takes until there is.
func (r *Rate) Take(viewer string, now time.Time) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.swept) >= time.Second {
		r.sweep(now)
	}
	a := r.of[viewer]
	if a == nil {
		if a = &r.others; len(r.of) < maxViewers {
			a = &allowance{left: r.perSecond, at: now}
			r.of[viewer] = a
		}
	}
	if passed := now.Sub(a.at); passed > 0 {
		a.left, a.at = min(r.perSecond, a.left+passed.Seconds()*r.perSecond), now
	}
	if a.left < 1 {
		return time.Duration((1 - a.left) / r.perSecond * float64(time.Second))
	}
	a.left--
	return 0
}

// sweep drops the allowances that are full again: they are the same as new ones.
func (r *Rate) sweep(now time.Time) {
	r.swept = now
	for viewer, a := range r.of {
		if a.left+now.Sub(a.at).Seconds()*r.perSecond >= r.perSecond {
			delete(r.of, viewer)
		}
	}
}
