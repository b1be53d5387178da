package action

import (
	"sync"
	"time"
)

// A gate lets so many requests through to one host and port at once.
type gate struct {
	max int

	mu    sync.Mutex
	taken map[string]int
}

// enter reports whether there is room, and takes it until leave.
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

// snooze is how long a job waits that found no room: half of its lateness, 5 to 60 seconds.
func snooze(lateness time.Duration) time.Duration {
	return min(max(lateness/2, 5*time.Second), time.Minute)
}
