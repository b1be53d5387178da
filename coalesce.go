package chime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// coalescer carries jobs to the store. A partition has one call under way at a time; what arrives meanwhile gathers and
// goes together in the next. The first finds nothing under way and leaves at once. Nothing runs while nothing waits.
//
// A call whose outcome is unknown is sent again, unchanged and under its number, until it is answered or the time is up.
// The time is the call's own: whoever stops waiting takes back what has not been sent, and never what is another's.
type coalescer struct {
	store   protocol.Store
	caller  string
	timeout time.Duration

	telling sync.Mutex
	trouble trouble

	// ahead is how far the store's clock was ahead of ours at its last answer, in ns: an estimate, for information only.
	ahead atomic.Int64

	first atomic.Pointer[patience] // of first attempts now

	mu     sync.Mutex
	routes map[protocol.Partition]*route

	spare sync.Pool // *parcel; not shared with other enqueuers, for the sake of tests in bubbles of fake time
}

// patience is a ctx that first attempts share: a timer for each would cost more than it is worth.
type patience struct {
	ctx   context.Context
	end   context.CancelFunc // never called: it ends by its deadline, and who shares it is not known
	began time.Time
}

func newCoalescer(store protocol.Store, timeout time.Duration, logger *slog.Logger) *coalescer {
	return &coalescer{store: store, caller: newID(), timeout: timeout, trouble: trouble{log: logger}, routes: make(map[protocol.Partition]*route)}
}

// single returns a parcel for one item, whose body goes into its room.
func (c *coalescer) single() *parcel {
	p, _ := c.spare.Get().(*parcel)
	if p == nil {
		p = newParcel()
		p.items = p.one[:]
	}
	return p
}

// reuse takes back a single parcel that is in no call: it is done, or was not posted.
func (c *coalescer) reuse(p *parcel) {
	if p.err != nil { // its call may still be read by whoever has not answered it
		p.room = wire.Bodies{}
	}
	p.room.Reset(maxSpareBody)
	p.one[0], p.existing, p.sent, p.err = protocol.EnqueueItem{}, nil, 0, nil
	c.spare.Put(p)
}

// maxSpareBody is how much memory for a body is kept with a spare parcel: there are as many as there are callers at once.
const maxSpareBody = 4 << 10

// now estimates the store's clock.
func (c *coalescer) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// post hands parcels over, each to its partition. A caller who waits for nothing else (its ctx never ends) makes the first call
// itself: two switches between goroutines cost more than all else on the way of a single job.
func (c *coalescer) post(partitions []protocol.Partition, parcels []*parcel, waits bool) {
	now := time.Now()
	var idle []*route
	c.mu.Lock()
	for i, p := range parcels {
		r := c.route(partitions[i])
		p.since = now
		r.push(p)
		switch {
		case r.busy:
		case len(idle) == 0:
			r.busy, idle = true, r.alone[:]
		default:
			r.busy, idle = true, append(idle[:len(idle):len(idle)], r)
		}
	}
	c.mu.Unlock()
	switch {
	case len(idle) == 0:
	case waits:
		c.carryOnce(idle, now)
	default:
		go c.carry(idle)
	}
}

func (c *coalescer) route(partition protocol.Partition) *route {
	r := c.routes[partition]
	if r == nil {
		r = &route{call: protocol.EnqueueCall{Partition: partition, Caller: c.caller}}
		r.alone[0] = r
		c.routes[partition] = r
	}
	return r
}

// withdraw takes back what has not been sent of a parcel. It returns how many items have been, or may be under way.
func (c *coalescer) withdraw(p *parcel) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.route != nil {
		p.route.remove(p)
	}
	return p.sent
}

// carry sends what waits in routes, which are its own, until nothing does.
func (c *coalescer) carry(routes []*route) {
	for {
		now := time.Now()
		routes = c.load(routes, now)
		if len(routes) == 0 {
			return
		}
		routes = c.send(routes, now)
		if c.quiet(routes) {
			// Those who have just got their answers are about to come back with their next jobs: one turn for them makes a
			// full call of two half ones.
			runtime.Gosched()
		}
	}
}

// quiet reports whether less waits on these routes than makes a good call.
func (c *coalescer) quiet(routes []*route) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range routes {
		if r.waiting >= maxEnqueueItems/2 {
			return false
		}
	}
	return true
}

// carryOnce makes the next call of routes that are its own, and leaves what has gathered meanwhile to a goroutine.
func (c *coalescer) carryOnce(routes []*route, now time.Time) {
	if routes = c.load(routes, now); len(routes) > 0 {
		routes = c.send(routes, now)
	}
	var more []*route
	c.mu.Lock()
	for _, r := range routes {
		if r.busy = r.head != nil; r.busy {
			more = append(more, r)
		}
	}
	c.mu.Unlock()
	if len(more) > 0 {
		go c.carry(more)
	}
}

// load fills the next call of each route and gives up those in which nothing waits.
func (c *coalescer) load(routes []*route, now time.Time) []*route {
	loaded := routes[:0]
	var late []*parcel
	c.mu.Lock()
	for _, r := range routes {
		for r.head != nil && now.Sub(r.head.since) > c.timeout {
			p := r.head
			r.remove(p)
			p.err, p.failed = notSent(now.Sub(p.since), r.err), p.sent
			late = append(late, p)
		}
		r.load()
		r.busy = len(r.parts) > 0
		if r.busy {
			loaded = append(loaded, r)
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

// send sends the calls of routes in one round trip, and again those that failed, until each has its outcome. It returns the
// routes that are still the caller's.
func (c *coalescer) send(routes []*route, began time.Time) []*route {
	open := c.attempt(c.patience(began), routes)
	if len(open) == 0 {
		return routes
	}
	ctx, cancel := context.WithDeadline(context.Background(), began.Add(c.timeout))
	defer cancel()
	for failures := 1; ; failures++ {
		if len(open) < len(routes) { // the others do not wait for these
			go c.carry(without(routes, open))
		}
		if routes = open; !sleep(ctx, troubleDelay(failures)) {
			break
		}
		if open = c.attempt(ctx, routes); len(open) == 0 {
			return routes
		}
	}
	for _, r := range routes {
		r.fail(c, fmt.Errorf("outcome unknown after %v: %w", c.timeout, r.err))
	}
	return routes
}

// patience returns the ctx of a first attempt that begins now: it ends after SendTimeout, or up to an eighth earlier.
func (c *coalescer) patience(now time.Time) context.Context {
	p := c.first.Load()
	if p == nil || now.Sub(p.began) > c.timeout/8 {
		p = &patience{began: now} // others may still use the old one
		p.ctx, p.end = context.WithDeadline(context.Background(), now.Add(c.timeout))
		c.first.Store(p)
	}
	return p.ctx
}

// attempt sends the calls of routes once. It returns the routes whose calls still have no outcome.
func (c *coalescer) attempt(ctx context.Context, routes []*route) (open []*route) {
	calls := routes[0].sent[:1]
	if len(routes) > 1 {
		calls = make([]protocol.EnqueueCall, len(routes))
	}
	for i, r := range routes {
		calls[i] = r.call
	}
	answers := c.store.Enqueue(ctx, calls)
	for i, r := range routes {
		err := answerErr(answers, i)
		switch {
		case err == nil:
			c.noteClock(answers[i].Now)
			c.over(r)
			r.deliver(c, answers[i].Existing)
		case r.refused(err):
			r.fail(c, err)
		default:
			r.unknown, r.err = true, err
			c.tell(r)
			open = append(open, r)
		}
	}
	return open
}

func without(routes, open []*route) []*route {
	var rest []*route
	for _, r := range routes {
		if !slices.Contains(open, r) {
			rest = append(rest, r)
		}
	}
	return rest
}

// tell says that a route is held up, over that none is any more.
func (c *coalescer) tell(r *route) {
	c.telling.Lock()
	defer c.telling.Unlock()
	r.troubled = true
	c.trouble.begin(r, "enqueue", r.err, time.Now())
}

func (c *coalescer) over(r *route) {
	if !r.troubled {
		return
	}
	c.telling.Lock()
	defer c.telling.Unlock()
	r.troubled = false
	c.trouble.end(r, time.Now())
}

func answerErr(answers []protocol.EnqueueAnswer, i int) error {
	if i >= len(answers) {
		return errors.New("store gave no answer")
	}
	return answers[i].Err
}

func (c *coalescer) noteClock(now time.Time) {
	if !now.IsZero() {
		c.ahead.Store(int64(time.Until(now)))
	}
}
