package retry

import (
	"sync"
	"time"
)

// A LogLimiter allows each message once a minute. It remembers at most maxLimited messages and forgets those that are a minute old, so that names
// from the store cannot fill the memory. The zero value is ready for use; it is safe for concurrent use.
type LogLimiter struct {
	mu     sync.Mutex
	logged map[string]time.Time
}

const maxLimited = 1000

// Allow reports whether the message of this key may be logged now.
func (l *LogLimiter) Allow(key string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, ok := l.logged[key]; ok && now.Sub(at) < LogEvery {
		return false
	}
	if len(l.logged) >= maxLimited {
		for k, at := range l.logged {
			if now.Sub(at) >= LogEvery {
				delete(l.logged, k)
			}
		}
		if len(l.logged) >= maxLimited {
			return false
		}
	}
	if l.logged == nil {
		l.logged = make(map[string]time.Time)
	}
	l.logged[key] = now
	return true
}
