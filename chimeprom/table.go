package chimeprom

import "sync"

// A table finds the metrics for the key of an event. A key with names that labels may not have is found by its labels.
type table[K comparable, M any] struct {
	made func(labels K) M

	mu    sync.RWMutex
	found map[K]M // by labels
}

func newTable[K comparable, M any](made func(K) M) *table[K, M] {
	return &table[K, M]{made: made, found: make(map[K]M)}
}

// at returns the metrics of a key. labels converts the key to its labels.
func (t *table[K, M]) at(key K, labels func(K) K) M {
	t.mu.RLock()
	m, ok := t.found[key]
	t.mu.RUnlock()
	if ok {
		return m
	}
	key = labels(key)
	t.mu.Lock()
	defer t.mu.Unlock()
	if m, ok = t.found[key]; !ok {
		m = t.made(key)
		t.found[key] = m
	}
	return m
}
