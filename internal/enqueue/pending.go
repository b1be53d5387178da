package enqueue

import (
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// A pending holds what one caller enqueues on one partition, until the store has received it.
type pending struct {
	items    []protocol.EnqueueItem
	existing []bool        // nil: no item existed before
	done     chan struct{} // receives one value; has room for it
	// Set when done: the items from failed on were not enqueued, or possibly not.
	err    error
	failed int

	// Guarded by batcher.mu.
	queue      *partitionQueue // the queue in which it waits; nil: it waits in none
	to         *partitionQueue // the queue to which it was posted
	prev, next *pending
	sent       int // items handed to calls
	since      time.Time

	one  [1]protocol.EnqueueItem
	room wire.Bodies // for the body of a single item
}

func newPending() *pending { return &pending{done: make(chan struct{}, 1)} }

// exist notes which of the items from an index on existed before.
func (p *pending) exist(from int, existing []bool) {
	if p.existing == nil {
		p.existing = make([]bool, len(p.items))
	}
	copy(p.existing[from:], existing)
}
