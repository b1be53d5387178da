package chime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxCallItems = 500
	maxCallBytes = 1 << 20 // of bodies; one body may be larger
)

// coalescer carries jobs to the store. A partition has one call under way at a time; what arrives meanwhile gathers and
// goes together in the next. The first finds nothing under way and leaves at once. Nothing runs while nothing waits.
//
// A call whose outcome is unknown is sent again, unchanged and under its number, until it is answered or the time is up.
// The time is the call's own: whoever stops waiting takes back what has not been sent, and never what is another's.
type coalescer struct {
	store   Store
	caller  string
	timeout time.Duration
	logger  *slog.Logger

	// ahead is how far the store's clock was ahead of ours at its last answer, in ns: an estimate, for information only.
	ahead atomic.Int64

	mu    sync.Mutex
	lanes map[Partition]*lane
}

// lane is one partition's line to the store.
type lane struct {
	// Guarded by coalescer.mu.
	busy       bool // a goroutine has it
	head, tail *parcel

	// The goroutine's that has it.
	call    EnqueueCall
	parts   []part
	unknown bool  // the call under way may have been carried out
	err     error // its last one
}

// part is a parcel's share of a call: its items [from:to].
type part struct {
	parcel   *parcel
	from, to int
}

// parcel is what one caller wants carried to one partition.
type parcel struct {
	items    []EnqueueItem
	existing []bool
	done     chan struct{} // gets one value; has room for it
	// Set when done: the items from failed on were not carried, or may not have been.
	err    error
	failed int

	// Guarded by coalescer.mu.
	lane       *lane // whose list it is in; nil: in none
	prev, next *parcel
	sent       int // items handed to calls
	since      time.Time

	one    [1]EnqueueItem
	oneHas [1]bool
}

var parcels = sync.Pool{New: func() any { return &parcel{done: make(chan struct{}, 1)} }}

func newCoalescer(store Store, timeout time.Duration, logger *slog.Logger) *coalescer {
	return &coalescer{store: store, caller: newID(), timeout: timeout, logger: logger, lanes: make(map[Partition]*lane)}
}

// now estimates the store's clock.
func (c *coalescer) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// post hands parcels over, each to its partition.
func (c *coalescer) post(partitions []Partition, parcels []*parcel) {
	now := time.Now()
	var idle []*lane
	c.mu.Lock()
	for i, p := range parcels {
		l := c.lane(partitions[i])
		p.since = now
		l.push(p)
		if !l.busy {
			l.busy = true
			idle = append(idle, l)
		}
	}
	c.mu.Unlock()
	if len(idle) > 0 {
		go c.carry(idle)
	}
}

func (c *coalescer) lane(partition Partition) *lane {
	l := c.lanes[partition]
	if l == nil {
		l = &lane{call: EnqueueCall{Partition: partition, Caller: c.caller}}
		c.lanes[partition] = l
	}
	return l
}

// withdraw takes back what has not been sent of a parcel. It returns how many items have been, or may be under way.
func (c *coalescer) withdraw(p *parcel) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.lane != nil {
		p.lane.remove(p)
	}
	return p.sent
}

// carry sends what waits in lanes, which are its own, until nothing does.
func (c *coalescer) carry(lanes []*lane) {
	for {
		lanes = c.load(lanes)
		if len(lanes) == 0 {
			return
		}
		lanes = c.send(lanes)
	}
}

// load fills the next call of each lane and gives up those in which nothing waits.
func (c *coalescer) load(lanes []*lane) []*lane {
	now := time.Now()
	loaded := lanes[:0]
	var late []*parcel
	c.mu.Lock()
	for _, l := range lanes {
		for l.head != nil && now.Sub(l.head.since) > c.timeout {
			p := l.head
			l.remove(p)
			p.err, p.failed = notSent(now.Sub(p.since), l.err), p.sent
			late = append(late, p)
		}
		l.load()
		l.busy = len(l.parts) > 0
		if l.busy {
			loaded = append(loaded, l)
		}
	}
	c.mu.Unlock()
	for _, p := range late {
		p.done <- struct{}{}
	}
	return loaded
}

func notSent(waited time.Duration, last error) error {
	if last == nil {
		return fmt.Errorf("not sent: waited %v behind other calls", waited.Round(time.Millisecond))
	}
	return fmt.Errorf("not sent in %v: %w", waited.Round(time.Millisecond), last)
}

// load takes up to 500 items and about 1 MiB out of the line. A parcel with items left goes to its end, so that a large one
// does not hold up the small.
func (l *lane) load() {
	items, parts, size := l.call.Items[:0], l.parts[:0], 0
	for last := l.tail; l.head != nil && len(items) < maxCallItems; {
		p := l.head
		from := p.sent
		for p.sent < len(p.items) && len(items) < maxCallItems {
			body := len(p.items[p.sent].Body)
			if size+body > maxCallBytes && len(items) > 0 {
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
		l.remove(p)
		if p.sent < len(p.items) {
			l.push(p)
		}
		if p == last {
			break
		}
	}
	l.call.Items, l.parts = items, parts
	if len(parts) > 0 {
		l.call.Number++
		l.unknown, l.err = false, nil
	}
}

// send sends the calls of lanes in one round trip, and again those that failed, until each has its outcome. It returns the
// lanes that are still the caller's.
func (c *coalescer) send(lanes []*lane) []*lane {
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	start := time.Now()
	calls := make([]EnqueueCall, len(lanes))
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		for i, l := range lanes {
			calls[i] = l.call
		}
		answers := c.store.Enqueue(ctx, calls[:len(lanes)])
		var open, ended []*lane
		for i, l := range lanes {
			err := answerErr(answers, i)
			switch {
			case err == nil:
				c.noteClock(answers[i].Now)
				l.deliver(c, answers[i].Existing)
			case l.refused(err):
				l.fail(c, err)
			default:
				l.unknown, l.err = true, err
				open = append(open, l)
				continue
			}
			ended = append(ended, l)
		}
		if len(open) == 0 {
			if pause > firstPause {
				c.logger.Info("chime: enqueuing works again", "after", time.Since(start))
			}
			return lanes
		}
		if pause == firstPause {
			c.logger.Warn("chime: enqueuing is held up", "queue", open[0].call.Partition.Queue, "error", open[0].err)
		}
		if len(ended) > 0 { // they do not wait for the others
			go c.carry(ended)
		}
		lanes = open
		if !sleep(ctx, jitter(pause)) {
			break
		}
	}
	for _, l := range lanes {
		l.fail(c, fmt.Errorf("outcome unknown after %v: %w", c.timeout, l.err))
	}
	return lanes
}

func answerErr(answers []EnqueueAnswer, i int) error {
	if i >= len(answers) {
		return errors.New("store gave no answer")
	}
	return answers[i].Err
}

// refused tells whether the store has certainly not carried the call out and will not for waiting.
func (l *lane) refused(err error) bool {
	return !l.unknown && (errors.Is(err, ErrStoreFull) || errors.Is(err, ErrUnfit))
}

func (c *coalescer) noteClock(now time.Time) {
	if !now.IsZero() {
		c.ahead.Store(int64(time.Until(now)))
	}
}

// deliver tells those whose last item was in the call that it is done.
func (l *lane) deliver(c *coalescer, existing []bool) {
	at := 0
	for _, part := range l.parts {
		n := part.to - part.from
		if at+n <= len(existing) {
			copy(part.parcel.existing[part.from:part.to], existing[at:at+n])
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
	l.clear()
}

// fail tells those who had items in the call that it failed. What they have left is not sent.
func (l *lane) fail(c *coalescer, err error) {
	l.err = err
	for _, part := range l.parts {
		p := part.parcel
		if part.to < len(p.items) {
			c.mu.Lock()
			withdrawn := p.lane == nil
			if !withdrawn {
				l.remove(p)
			}
			c.mu.Unlock()
			if withdrawn {
				continue
			}
		}
		p.err, p.failed = err, part.from
		p.done <- struct{}{}
	}
	l.clear()
}

// clear lets go of what the call held.
func (l *lane) clear() {
	clear(l.call.Items)
	clear(l.parts)
}

func (l *lane) push(p *parcel) {
	p.lane, p.prev, p.next = l, l.tail, nil
	if l.tail == nil {
		l.head = p
	} else {
		l.tail.next = p
	}
	l.tail = p
}

func (l *lane) remove(p *parcel) {
	if p.prev == nil {
		l.head = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		l.tail = p.prev
	} else {
		p.next.prev = p.prev
	}
	p.lane, p.prev, p.next = nil, nil, nil
}
