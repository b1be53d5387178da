package enqueue

import (
	"sync/atomic"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// A pending holds what one caller enqueues on one partition, until the store has received it.
type pending struct {
	items    []protocol.EnqueueItem
	existing []bool        // nil: no item existed before
	full     []error       // why items were refused: see EnqueueAnswer.Full; nil: none was
	done     chan struct{} // receives one value; has room for it
	fate     atomic.Uint32 // what came first: waiting, ended, or left
	// Set when done: the items from failed on were not enqueued, or possibly not.
	err    error
	failed int

	// Guarded by batcher.mu.
	queue      *partitionQueue // the queue in which it waits; nil: it waits in none
	to         *partitionQueue // the queue to which it was posted
	prev, next *pending
	sent       int // items handed to calls
	delivered  int // of these, the items of calls that have succeeded while others were left to send
	since      time.Time

	one   [1]protocol.EnqueueItem
	alone [1]*pending // itself, with a single item
	room  wire.Bodies // for the body of a single item
}

// The fates of a pending.
const (
	waiting uint32 = iota
	ended          // it is done
	left           // its caller does not wait for it any more
)

// end wakes the caller. It reports whether the caller still waits.
func (p *pending) end() bool {
	if !p.fate.CompareAndSwap(waiting, ended) {
		return false
	}
	p.done <- struct{}{}
	return true
}

// leave notes that the caller does not wait any more. It reports false if the pending has ended: then done receives at once.
func (p *pending) leave() bool { return p.fate.CompareAndSwap(waiting, left) }

func (p *pending) hasLeft() bool { return p.fate.Load() == left }

func newPending() *pending { return &pending{done: make(chan struct{}, 1)} }

// refuse notes which of the items from an index on were not added, and why: nil for the others.
func (p *pending) refuse(from int, full []error) {
	if p.full == nil {
		p.full = make([]error, len(p.items))
	}
	copy(p.full[from:], full)
}

// carriedOut returns the items from an index on up to another one, without those that were refused.
func (p *pending) carriedOut(from, to int) []protocol.EnqueueItem {
	if p.full == nil {
		return p.items[from:to]
	}
	var items []protocol.EnqueueItem
	for i := from; i < to; i++ {
		if p.full[i] == nil {
			items = append(items, p.items[i])
		}
	}
	return items
}

// exist notes which of the items from an index on existed before.
func (p *pending) exist(from int, existing []bool) {
	if p.existing == nil {
		p.existing = make([]bool, len(p.items))
	}
	copy(p.existing[from:], existing)
}
