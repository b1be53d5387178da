package httpapi

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	burstSeconds = 10     // how many seconds' requests may come at once after a rest
	maxLimiters  = 10_000 // of principals; those beyond share one
)

// limiters hold how many requests each principal has left. A limiter that is full again is the same as a new one, so it is dropped: there
// are as many as principals that have sent something within the last ten seconds.
type limiters struct {
	limit rate.Limit

	mu     sync.Mutex
	of     map[string]*rate.Limiter
	others *rate.Limiter // of principals beyond maxLimiters
	swept  time.Time
}

// newLimiters makes limiters of so many requests a second; of a negative number there are none.
func newLimiters(second int) *limiters {
	if second < 0 {
		return nil
	}
	l := &limiters{limit: rate.Limit(second), of: map[string]*rate.Limiter{}}
	l.others = l.fresh()
	return l
}

func (l *limiters) fresh() *rate.Limiter { return rate.NewLimiter(l.limit, int(l.limit)*burstSeconds) }

// take uses one request of a principal up. If there is none left it returns how long it takes until there is.
func (l *limiters) take(name string, now time.Time) time.Duration {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.swept) >= time.Second {
		l.sweep(now)
	}
	limiter := l.of[name]
	if limiter == nil {
		if limiter = l.others; len(l.of) < maxLimiters {
			limiter = l.fresh()
			l.of[name] = limiter
		}
	}
	reserved := limiter.ReserveN(now, 1)
	wait := reserved.DelayFrom(now)
	if wait > 0 {
		reserved.CancelAt(now)
	}
	return wait
}

// sweep drops the limiters that are full.
func (l *limiters) sweep(now time.Time) {
	l.swept = now
	for name, limiter := range l.of {
		if limiter.TokensAt(now) >= float64(limiter.Burst()) {
			delete(l.of, name)
		}
	}
}
