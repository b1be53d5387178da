package httpapi

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	burstSeconds = 10     // the requests of this many seconds may come at once after a pause
	maxLimiters  = 10_000 // principals beyond this number share one limiter
)

// limiters count the requests that each principal has left. A limiter that is full again equals a new one, so it is dropped. So there is one
// limiter for each principal that has sent something within the last ten seconds.
type limiters struct {
	limit rate.Limit

	mu     sync.Mutex
	of     map[string]*rate.Limiter
	others *rate.Limiter // of principals beyond maxLimiters
	swept  time.Time
}

// newLimiters returns limiters for a number of requests a second; nil, which limits nothing, if it is negative.
func newLimiters(second int) *limiters {
	if second < 0 {
		return nil
	}
	l := &limiters{limit: rate.Limit(second), of: map[string]*rate.Limiter{}}
	l.others = l.fresh()
	return l
}

func (l *limiters) fresh() *rate.Limiter { return rate.NewLimiter(l.limit, int(l.limit)*burstSeconds) }

// take uses one request of a principal. If none is left, it returns the time until the next one.
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
