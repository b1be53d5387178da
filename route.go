package chime

import (
	"errors"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

const (
	maxEnqueueItems = protocol.MaxItems
	maxEnqueueBytes = protocol.MaxBytes
)

// route is one partition's line to the store.
type route struct {
	// Guarded by coalescer.mu.
	busy       bool // a goroutine has it
	head, tail *parcel
	waiting    int // parcels in the line

	// The goroutine's that has it.
	call     protocol.EnqueueCall
	parts    []part
	unknown  bool                    // the call under way may have been carried out
	err      error                   // its last one
	troubled bool                    // it was told that the route is held up
	alone    [1]*route               // itself, where it goes without others
	sent     [1]protocol.EnqueueCall // call, as it was handed to the store then
}

// part is a parcel's share of a call: its items [from:to].
type part struct {
	parcel   *parcel
	from, to int
}

// parcel is what one caller wants carried to one partition.
type parcel struct {
	items    []protocol.EnqueueItem
	existing []bool        // nil: none
	done     chan struct{} // gets one value; has room for it
	// Set when done: the items from failed on were not carried, or may not have been.
	err    error
	failed int

	// Guarded by coalescer.mu.
	route      *route // whose list it is in; nil: in none
	prev, next *parcel
	sent       int // items handed to calls
	since      time.Time

	one  [1]protocol.EnqueueItem
	room wire.Bodies // of the one
}

func newParcel() *parcel { return &parcel{done: make(chan struct{}, 1)} }

// exist notes which of the items from one on were there before.
func (p *parcel) exist(from int, existing []bool) {
	if p.existing == nil {
		p.existing = make([]bool, len(p.items))
	}
	copy(p.existing[from:], existing)
}

// load takes up to 500 items and about 1 MiB out of the line. A parcel with items left goes to its end, so that a large one
// does not hold up the small.
func (r *route) load() {
	items, parts, size := r.call.Items[:0], r.parts[:0], 0
	for last := r.tail; r.head != nil && len(items) < maxEnqueueItems; {
		p := r.head
		from := p.sent
		for p.sent < len(p.items) && len(items) < maxEnqueueItems {
			body := len(p.items[p.sent].Body)
			if size+body > maxEnqueueBytes && len(items) > 0 {
				break
			}
			size += body
			items = append(items, p.items[p.sent])
			p.sent++
		}
		if p.sent == from {
			break
		}
		parts = append(parts, part{p, from, p.sent})
		r.remove(p)
		if p.sent < len(p.items) {
			r.push(p)
		}
		if p == last {
			break
		}
	}
	r.call.Items, r.parts = items, parts
	if len(parts) > 0 {
		r.call.Number++
		r.unknown, r.err = false, nil
	}
}

// refused tells whether the store has certainly not carried the call out and will not for waiting.
func (r *route) refused(err error) bool {
	return !r.unknown && (errors.Is(err, ErrStoreFull) || errors.Is(err, ErrUnfit))
}

// deliver tells those whose last item was in the call that it is done.
func (r *route) deliver(c *coalescer, existing []bool) {
	at := 0
	for _, part := range r.parts {
		n := part.to - part.from
		if at+n <= len(existing) && slices.Contains(existing[at:at+n], true) {
			part.parcel.exist(part.from, existing[at:at+n])
		}
		at += n
		if part.to == len(part.parcel.items) {
			part.parcel.done <- struct{}{}
			continue
		}
		c.mu.Lock()
		part.parcel.since = time.Now() // it moves on: its wait begins anew
		c.mu.Unlock()
	}
	r.clear()
}

// fail tells those who had items in the call that it failed. What they have left is not sent.
func (r *route) fail(c *coalescer, err error) {
	r.err = err
	for _, part := range r.parts {
		p := part.parcel
		if part.to < len(p.items) {
			c.mu.Lock()
			withdrawn := p.route == nil
			if !withdrawn {
				r.remove(p)
			}
			c.mu.Unlock()
			if withdrawn {
				continue
			}
		}
		p.err, p.failed = err, part.from
		p.done <- struct{}{}
	}
	r.clear()
}

// clear lets go of what the call held.
func (r *route) clear() {
	clear(r.call.Items)
	clear(r.parts)
}

func (r *route) push(p *parcel) {
	p.route, p.prev, p.next = r, r.tail, nil
	if r.tail == nil {
		r.head = p
	} else {
		r.tail.next = p
	}
	r.tail = p
	r.waiting++
}

func (r *route) remove(p *parcel) {
	if p.prev == nil {
		r.head = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		r.tail = p.prev
	} else {
		p.next.prev = p.prev
	}
	p.route, p.prev, p.next = nil, nil, nil
	r.waiting--
}
