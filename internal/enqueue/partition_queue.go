package enqueue

import (
	"errors"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A partitionQueue is the jobs that wait to be sent to one partition, and the call under way to it.
type partitionQueue struct {
	// Guarded by batcher.mu.
	busy       bool // a goroutine sends for this queue
	head, tail *pending
	waiting    int   // of pending in the list
	trouble    error // of the last attempt; nil: it succeeded

	// Used by the goroutine that sends for this queue.
	call    protocol.EnqueueCall
	parts   []part
	began   time.Time     // when the call was filled
	unknown bool          // the store may have carried out the call under way
	err     error         // of the last attempt
	logged  bool          // its outage was logged
	took    time.Duration // of the last attempt
	// Memory for a round trip with only this queue.
	alone [1]*partitionQueue
	sent  [1]protocol.EnqueueCall
}

// soon is the longest duration of the last attempt with which the next call may be a brief one.
const soon = protocol.BriefCall / 10

// answersSoon reports whether the next call may be a brief one.
func (q *partitionQueue) answersSoon() bool { return q.call.Ticket.Brief && q.took < soon }

// A part is the items [from:to] of one pending in a call. known has the indexes of items that the store has carried out before: they are not sent.
type part struct {
	pending  *pending
	from, to int
	known    []int
}

// answersOf returns an answer for each item of the part. sent has the answers for those that were sent; the answer for the others is known.
func answersOf[A any](p *part, sent []A, known A) []A {
	if len(p.known) == 0 {
		return sent
	}
	all := make([]A, 0, p.to-p.from)
	for _, i := range p.known {
		n := i - p.from - len(all)
		all = append(append(all, sent[:n]...), known)
		sent = sent[n:]
	}
	return append(all, sent...)
}

// load fills the next call with up to MaxItems items and about MaxBytes of bodies. A pending with items left moves to the end of the list, so
// that a large one does not delay small ones.
func (q *partitionQueue) load(now time.Time) {
	items, parts, size := q.call.Items[:0], q.parts[:0], 0
	for last := q.tail; q.head != nil && len(items) < protocol.MaxItems; {
		p := q.head
		from := p.sent
		for p.sent < len(p.items) && len(items) < protocol.MaxItems {
			body := len(p.items[p.sent].Body)
			if size+body > protocol.MaxBytes && len(items) > 0 {
				break
			}
			size += body
			items = append(items, p.items[p.sent])
			p.sent++
		}
		if p.sent == from {
			break
		}
		parts = append(parts, part{pending: p, from: from, to: p.sent})
		q.remove(p)
		if p.sent < len(p.items) {
			q.push(p)
		}
		if p == last {
			break
		}
	}
	q.call.Items, q.parts = items, parts
	if len(parts) > 0 {
		q.call.Number++
		q.began, q.unknown, q.err = now, false, nil
	}
}

// takeOut removes from the call the items that are known to be carried out.
func (q *partitionQueue) takeOut(known func(*protocol.EnqueueItem) bool) {
	left, at := q.call.Items[:0], 0
	for p := range q.parts {
		part := &q.parts[p]
		for i := part.from; i < part.to; i++ {
			item := q.call.Items[at]
			if at++; known(&item) {
				part.known = append(part.known, i)
			} else {
				left = append(left, item)
			}
		}
	}
	clear(q.call.Items[len(left):at])
	q.call.Items = left
}

// refused reports whether the store has certainly not carried out the call, and will not carry it out if it is sent again.
func (q *partitionQueue) refused(err error) bool {
	return !q.unknown && (errors.Is(err, protocol.ErrStoreFull) || errors.Is(err, protocol.ErrUnfit))
}

// deliver wakes the callers whose last item was in the call.
func (q *partitionQueue) deliver(b *batcher, existing []bool, full []error) {
	at := 0
	for i := range q.parts {
		part := &q.parts[i]
		p, n := part.pending, part.to-part.from-len(part.known)
		if at+n <= len(full) {
			if answers := answersOf(part, full[at:at+n], nil); slices.ContainsFunc(answers, func(err error) bool { return err != nil }) {
				p.refuse(part.from, answers)
			}
		}
		items := p.carriedOut(part.from, part.to)
		if len(existing) > 0 || len(part.known) > 0 { // else none existed
			if at+n > len(existing) {
				existing = make([]bool, at+n)
			}
			if answers := answersOf(part, existing[at:at+n], true); slices.Contains(answers, true) {
				p.exist(part.from, answers)
			}
		}
		at += n
		if part.to == len(p.items) {
			if !p.end() {
				b.outcomes.add(q.call.Partition, items)
			}
			continue
		}
		b.mu.Lock()
		p.since = time.Now() // it moves on: its wait begins again
		p.delivered = part.to
		left := p.hasLeft()
		b.mu.Unlock()
		if left {
			b.outcomes.add(q.call.Partition, items)
		}
	}
	q.clear()
}

// fail wakes the callers that had items in the call, with an error. Their other items are not sent. It first remembers the items that the store
// has, or may have.
func (q *partitionQueue) fail(b *batcher, err error) {
	q.err = err
	q.call.Ticket = protocol.EnqueueTicket{}
	if q.unknown {
		b.outcomes.addUnknown(&q.call, q.began)
	}
	for _, part := range q.parts {
		p := part.pending
		b.outcomes.add(q.call.Partition, p.carriedOut(0, part.from))
		for _, i := range part.known {
			b.outcomes.add(q.call.Partition, p.items[i:i+1])
		}
		if part.to < len(p.items) {
			b.mu.Lock()
			withdrawn := p.queue == nil
			if !withdrawn {
				q.remove(p)
			}
			b.mu.Unlock()
			if withdrawn {
				continue
			}
		}
		p.err, p.failed = err, part.from
		p.end()
	}
	q.clear()
}

// clear releases the items of the call.
func (q *partitionQueue) clear() {
	clear(q.call.Items)
	clear(q.parts)
}

func (q *partitionQueue) push(p *pending) {
	p.queue, p.prev, p.next = q, q.tail, nil
	if q.tail == nil {
		q.head = p
	} else {
		q.tail.next = p
	}
	q.tail = p
	q.waiting++
}

func (q *partitionQueue) remove(p *pending) {
	if p.prev == nil {
		q.head = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		q.tail = p.prev
	} else {
		p.next.prev = p.prev
	}
	p.queue, p.prev, p.next = nil, nil, nil
	q.waiting--
}
