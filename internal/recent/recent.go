// Package recent has a map that forgets entries that are no longer used.
package recent

import (
	"sync"
	"time"
)

// Period is the minimum time for which an unused entry remains. After two periods it is gone.
const Period = 30 * time.Minute

// A Map holds the entries that were used within the last two periods. It has no goroutine and no timer: it forgets entries while others are read or
// added, so it never holds more than were used in two consecutive periods, and never returns one that was not used for two periods. The zero value
// is ready; it is safe for concurrent use. Its methods take the present time, which a caller often needs for more than one of them.
//
// It consists of two generations. Each used or new entry is in current. If a period has passed when one is read or added, current becomes earlier,
// and the entries of earlier are forgotten; after two periods, those of both are. So reading an entry of the current generation needs no write.
type Map[K comparable, V any] struct {
	mu               sync.RWMutex
	current, earlier map[K]V
	since            time.Time // when current began
}

// Get returns the entry of a key, and uses it.
func (m *Map[K, V]) Get(key K, now time.Time) (V, bool) {
	m.mu.RLock()
	value, ok := m.current[key]
	ok = ok && now.Sub(m.since) < Period
	m.mu.RUnlock()
	if ok {
		return value, true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn(now)
	if value, ok = m.current[key]; ok { // set meanwhile
		return value, true
	}
	if value, ok = m.earlier[key]; ok {
		m.put(key, value)
	}
	return value, ok
}

// Set stores the entry of a key.
func (m *Map[K, V]) Set(key K, value V, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn(now)
	m.put(key, value)
}

// Add returns the entry of a key. If it has none, make creates it, which must not use the map.
func (m *Map[K, V]) Add(key K, now time.Time, make func() V) V {
	if value, ok := m.Get(key, now); ok {
		return value
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.current[key]
	if !ok {
		value = make()
		m.turn(now)
		m.put(key, value)
	}
	return value
}

// Len returns how many entries the map holds.
func (m *Map[K, V]) Len() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.current) + len(m.earlier)
}

// turn begins a new generation if the current one is a period old.
func (m *Map[K, V]) turn(now time.Time) {
	switch age := now.Sub(m.since); {
	case m.current == nil, age >= 2*Period:
		m.current, m.earlier, m.since = make(map[K]V), nil, now
	case age >= Period:
		m.current, m.earlier, m.since = make(map[K]V), m.current, now
	}
}

func (m *Map[K, V]) put(key K, value V) {
	delete(m.earlier, key)
	m.current[key] = value
}
