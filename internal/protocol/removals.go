package protocol

import (
	"maps"
	"slices"
	"sync"
)

// Removals passes on which jobs the calls of this process have cancelled or deleted through a store. An enqueuer that remembers the outcome of
// such a job forgets it, so that its ID can be enqueued again. The zero value is ready; it is safe for concurrent use.
type Removals struct {
	mu      sync.Mutex
	watches map[*func(Partition, string) bool]bool
}

// Watch calls removed for each job from now on, until it returns false. Calls may be concurrent.
func (r *Removals) Watch(removed func(partition Partition, id string) (more bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.watches == nil {
		r.watches = make(map[*func(Partition, string) bool]bool)
	}
	r.watches[&removed] = true
}

// Note passes on a job that was cancelled or deleted.
func (r *Removals) Note(partition Partition, id string) {
	r.mu.Lock()
	watches := slices.Collect(maps.Keys(r.watches))
	r.mu.Unlock()
	for _, removed := range watches {
		if !(*removed)(partition, id) {
			r.mu.Lock()
			delete(r.watches, removed)
			r.mu.Unlock()
		}
	}
}
