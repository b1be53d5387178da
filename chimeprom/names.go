package chimeprom

import (
	"maps"
	"slices"
	"sync"
)

// maxNames is the maximum number of names of a label, in addition to other.
const (
	maxNames = 200
	other    = "other"
)

// names are the names that a label may have.
type names struct {
	learns bool // the first names that occur are added

	mu    sync.RWMutex
	known map[string]bool
}

func newNames(known ...string) *names {
	n := &names{known: make(map[string]bool)}
	n.add(known...)
	return n
}

// learning returns names that learn the first ones that occur.
func learning() *names {
	n := newNames()
	n.learns = true
	return n
}

// add adds names, as long as there are fewer than maxNames.
func (n *names) add(all ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range all {
		if len(n.known) < maxNames && name != "" {
			n.known[name] = true
		}
	}
}

// all are the names that are known.
func (n *names) all() []string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return slices.Collect(maps.Keys(n.known))
}

// label returns the name, or other.
func (n *names) label(name string) string {
	n.mu.RLock()
	known, room := n.known[name], len(n.known) < maxNames
	n.mu.RUnlock()
	if known {
		return name
	}
	if n.learns && room && name != "" {
		n.add(name)
		return n.label(name) // another goroutine may have been faster
	}
	return other
}
