package action

import (
	"sync"
	"time"
)

// A gate limits the requests of a process. Its limits are the number of simultaneous requests to one host and port, and the share of an owner: a quarter of
// that number, and a quarter of the process's slots. So no owner keeps the others waiting, and four owners can use everything. Requests without an owner
// have only the first limit.
type gate struct {
	perHost int // to one host and port
	slots   int

	mu    sync.Mutex
	taken map[place]int
}

// A place is what requests have in common that count together. An empty field means all.
type place struct{ owner, host string }

// share is what one owner may have of n.
func share(n int) int { return max(1, n/4) }

// enter reports whether there is room for a request; if so, it takes one of each place until leave.
func (g *gate) enter(owner, host string) bool {
	return g.take(append(g.hostPlaces(owner, host), g.slotPlaces(owner)...))
}

func (g *gate) leave(owner, host string) {
	g.give(append(g.hostPlaces(owner, host), g.slotPlaces(owner)...))
}

// enterHost is enter for a further request to another host by a job that has a slot already.
func (g *gate) enterHost(owner, host string) bool { return g.take(g.hostPlaces(owner, host)) }

func (g *gate) leaveHost(owner, host string) { g.give(g.hostPlaces(owner, host)) }

// A limit is a place and how many may be in it.
type limit struct {
	place
	most int
}

func (g *gate) hostPlaces(owner, host string) []limit {
	limits := []limit{{place{host: host}, g.perHost}}
	if owner != "" {
		limits = append(limits, limit{place{owner, host}, share(g.perHost)})
	}
	return limits
}

func (g *gate) slotPlaces(owner string) []limit {
	if owner == "" {
		return nil
	}
	return []limit{{place{owner: owner}, share(g.slots)}}
}

// take takes all places or none.
func (g *gate) take(limits []limit) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range limits {
		if g.taken[l.place] >= l.most {
			return false
		}
	}
	if g.taken == nil {
		g.taken = map[place]int{}
	}
	for _, l := range limits {
		g.taken[l.place]++
	}
	return true
}

func (g *gate) give(limits []limit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range limits {
		if g.taken[l.place]--; g.taken[l.place] <= 0 {
			delete(g.taken, l.place)
		}
	}
}

// snooze is the wait of a job that found no room: half of its lateness, 5 to 60 seconds.
func snooze(lateness time.Duration) time.Duration {
	return min(max(lateness/2, 5*time.Second), time.Minute)
}
