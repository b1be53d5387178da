// Package recent has a map that forgets entries that are no longer used.
package recent

import (
	"sync"
	"time"
)

// Period is the minimum time for which an unused entry remains. If others are added, it is gone after two periods.
const Period = 30 * time.Minute

// A Map holds the entries that were used within the last two periods. It has no goroutine and no timer: it forgets entries while others are added,
// so it never holds more than were used in two consecutive periods. The zero value is ready; it is safe for concurrent use.
//
// It consists of two generations. Each used or new entry is in current. If a period has passed when one is added, current becomes earlier, and
// the entries of earlier are forgotten. So reading an entry of the current generation needs neither a clock nor a write.
type Map[K comparable, V any] struct {
	mu               sync.RWMutex
	current, earlier map[K]V
	since            time.Time // when current began
}

// Get returns the entry of a key, and uses it.
func (m *Map[K, V]) Get(key K) (V, bool) {
	m.mu.RLock()
	value, ok := m.current[key]
	m.mu.RUnlock()
	if ok {
		return value, true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if value, ok = m.current[key]; ok { // set meanwhile
		return value, true
	}
	if value, ok = m.earlier[key]; ok {
		m.set(key, value)
	}
	return value, ok
}

// Set stores the entry of a key.
func (m *Map[K, V]) Set(key K, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(key, value)
}

// Add returns the entry of a key. If it has none, make creates it, which must not use the map.
func (m *Map[K, V]) Add(key K, make func() V) V {
	if value, ok := m.Get(key); ok {
		return value
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.current[key]
	if !ok {
		value = make()
		m.set(key, value)
	}
	return value
}

// Len returns how many entries the map holds.
func (m *Map[K, V]) Len() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.current) + len(m.earlier)
}

func (m *Map[K, V]) set(key K, value V) {
	now := time.Now()
	if m.current == nil || now.Sub(m.since) >= Period {
		m.current, m.earlier, m.since = make(map[K]V), m.current, now
	}
	delete(m.earlier, key)
	m.current[key] = value
}
