package chimeprom

import "sync"

// maxPairs is how many queues and jobs are told together, besides other and other.
const maxPairs = 200

// pairs are the queues and jobs that are told together, as labels: the first that come. Each by itself has few names, but the product of both is
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

// add adds a pair, unless others were faster to take the last place.
func (p *pairs) add(pair jobKey) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) < maxPairs {
		p.known[pair] = true
	}
	return p.known[pair]
}
