package action

import (
	"sync"
	"time"
)

// A gate limits the number of simultaneous requests to one host and port.
type gate struct {
	max int

	mu    sync.Mutex
	taken map[string]int
}

// enter reports whether there is room; if so, it takes one place until leave.
func (g *gate) enter(host string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.taken[host] >= g.max {
		return false
	}
	if g.taken == nil {
		g.taken = map[string]int{}
	}
	g.taken[host]++
	return true
}

func (g *gate) leave(host string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.taken[host]--; g.taken[host] <= 0 {
		delete(g.taken, host)
	}
}

// snooze is the wait of a job that found no room: half of its lateness, 5 to 60 seconds.
func snooze(lateness time.Duration) time.Duration {
	return min(max(lateness/2, 5*time.Second), time.Minute)
}
