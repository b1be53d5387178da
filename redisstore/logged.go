package redisstore

import "sync"

// logged remembers what was logged, so that each thing is logged once in the life of the process, however often it is met. It
// remembers at most maxLogged things, so that names from the server cannot fill the memory; further ones are not logged. The zero
// value is ready; it is safe for concurrent use.
type logged struct {
	mu    sync.Mutex
	names map[string]bool
}

const (
	maxLogged     = 1000
	maxLoggedName = 200 // bytes of a name that are remembered
)

// first reports whether this is the first time that name is logged.
func (l *logged) first(name string) bool {
	name = name[:min(len(name), maxLoggedName)]
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.names[name] || len(l.names) >= maxLogged {
		return false
	}
	if l.names == nil {
		l.names = make(map[string]bool)
	}
	l.names[name] = true
	return true
}
