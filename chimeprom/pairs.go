package chimeprom

import "sync"

// maxPairs is the maximum number of pairs of queue and job with their own labels, in addition to other and other.
const maxPairs = 200

// pairs are the first pairs of queue and job that occur, for labels. Each of the two has few names, but all combinations would be
// 40,401, and each of them has a histogram.
type pairs struct {
	mu    sync.RWMutex
	known map[jobKey]bool
}

func newPairs() *pairs { return &pairs{known: make(map[jobKey]bool)} }

// label is the pair, or other and other.
func (p *pairs) label(pair jobKey) jobKey {
	p.mu.RLock()
	known, full := p.known[pair], len(p.known) == maxPairs
	p.mu.RUnlock()
	if known || !full && p.add(pair) {
		return pair
	}
	return jobKey{other, other}
}

// add adds a pair, unless other goroutines were faster to take the last place.
func (p *pairs) add(pair jobKey) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) < maxPairs {
		p.known[pair] = true
	}
	return p.known[pair]
}
