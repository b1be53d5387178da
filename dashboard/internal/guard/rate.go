package guard

import (
	"sync"
	"time"
)

const maxViewers = 10_000 // further viewers share one allowance

// A Rate limits the requests of each viewer within a second. They may come all at once or spread over the second.
type Rate struct {
	perSecond float64

	mu     sync.Mutex
	of     map[string]*allowance
	others allowance
	swept  time.Time
}

// An allowance is the number of requests that a viewer had left at an instant. It grows up to perSecond.
type allowance struct {
	left float64
	at   time.Time
}

// NewRate returns a rate of perSecond requests a second.
func NewRate(perSecond int) *Rate {
	return &Rate{perSecond: float64(perSecond), of: map[string]*allowance{}, others: allowance{left: float64(perSecond)}}
}

// Take uses one request of a viewer. If none is left, it returns the time until the next one is allowed.
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

// sweep removes the allowances that are full again, because they equal new ones.
func (r *Rate) sweep(now time.Time) {
	r.swept = now
	for viewer, a := range r.of {
		if a.left+now.Sub(a.at).Seconds()*r.perSecond >= r.perSecond {
			delete(r.of, viewer)
		}
	}
}
