// Package carry brings jobs that follow others in other queues from the partition in which the job before them ended, the source, to their own, the
// target. The store does each step once, however many carriers take it.
package carry

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
)

// A Store is what a carrier calls.
type Store interface {
	protocol.OutboxStore
	Partitions(ctx context.Context, queue string) (int, error)
	Node(partition protocol.Partition) string
}

const (
	maxActive     = 256                   // lines that are carried at one time
	maxActiveOn   = 16                    // of these, lines to the partitions of one node: a target that hangs leaves room for others of the same source
	maxActiveFrom = 128                   // of these, lines from the partitions of one node to other nodes: a source that hangs leaves room for other sources
	placesOfNode  = 4                     // calls to one node at one time
	maxDue        = 100_000               // lines that are remembered; a sweep finds the others
	readPause     = 10 * time.Millisecond // between two readings of one source: while a line fails, every answer names its source
)

// A Carrier carries the lines of the outboxes that are noted. Each line is carried by itself, so a target that is not reached delays no other one.
//
//	                                      failed: later again
//	          ┌──────────────────────────────────────────────────────────────────────────┐
//	noted     ▼                                                                          │
//	────────► due ──► active: read the source ──► carry to the target ──► note in the source
//	          ▲                          ▲               entries are left │              │ none is left
//	          │                          └────────────────────────────────┘              ▼
//	          └────────────────────────── a minute later: confirm ────────────────────── idle
//
// A line that is noted while it is active is carried once more. It is safe for concurrent use.
type Carrier struct {
	store  Store
	log    *slog.Logger
	logged retry.LogLimiter
	notify chan struct{} // due has changed, or a line has ended; capacity 1

	mu      sync.Mutex
	due     map[line]time.Time
	active  map[line]nodes                   // the nodes that it needs
	on      map[string]int                   // node → active lines to it
	from    map[string]int                   // node → active lines from it to other nodes
	failing map[line]failing                 // lines that failed last time
	reads   map[protocol.Partition]time.Time // when a source was read, in the last moment
	places  map[string]*places               // of the calls to a node
	idle    chan struct{}                    // closed when nothing is left to do now; nil: nobody waits
}

// A failing line.
type failing struct {
	since time.Time
	times int       // consecutive failures
	noted time.Time // when the store was given the reason; zero: it was not
}

// places limits the calls to a node.
type places struct {
	free  chan struct{}
	users int // calls that have a place or wait for one
}

// New returns a carrier that has nothing to do.
func New(store Store, log *slog.Logger) *Carrier {
	return &Carrier{
		store: store, log: log, notify: make(chan struct{}, 1),
		due: make(map[line]time.Time), active: make(map[line]nodes), on: make(map[string]int), from: make(map[string]int), failing: make(map[line]failing), reads: make(map[protocol.Partition]time.Time), places: make(map[string]*places),
	}
}

// Note records that a partition has something for other ones. It does not block.
func (c *Carrier) Note(source protocol.Partition) {
	at := time.Now()
	c.mu.Lock()
	if soonest := c.reads[source].Add(readPause); soonest.After(at) {
		at = soonest
	}
	c.mu.Unlock()
	c.add(line{source: source}, at)
}

// add makes a line due at an instant. A line that waits after a failure keeps its instant.
func (c *Carrier) add(l line, at time.Time) {
	c.mu.Lock()
	before, known := c.due[l]
	_, fails := c.failing[l]
	adds := !known && len(c.due) < maxDue || known && !fails && at.Before(before)
	if adds {
		c.due[l] = at
	}
	c.mu.Unlock()
	if adds {
		c.wake()
	}
}

func (c *Carrier) wake() {
	select {
	case c.notify <- struct{}{}:
	default:
	}
}

// Run carries until ctx ends.
func (c *Carrier) Run(ctx context.Context) {
	var lines sync.WaitGroup
	defer lines.Wait()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		begun, wait := c.begin(time.Now())
		for _, l := range begun {
			lines.Go(func() {
				began := time.Now()
				err := c.carry(ctx, l)
				c.note(ctx, l, err)
				c.ended(l, began, err, ctx.Err() != nil)
			})
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-c.notify:
		case <-timer.C:
		}
	}
}

// begin returns lines that are due, as many as may be active, and how long to wait for the next one.
func (c *Carrier) begin(now time.Time) (begun []line, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wait = time.Hour
	for l, at := range c.due {
		if left := at.Sub(now); left > 0 {
			wait = min(wait, left)
			continue
		}
		if _, active := c.active[l]; active || len(c.active) >= maxActive {
			continue // it begins when a line ends
		}
		n := l.nodes(c.store)
		if c.on[n.on] >= maxActiveOn || c.from[n.from] >= maxActiveFrom {
			continue
		}
		delete(c.due, l)
		c.active[l] = n
		c.on[n.on]++
		if n.from != "" {
			c.from[n.from]++
		}
		begun = append(begun, l)
	}
	c.settle(now)
	return begun, wait
}

// ended notes the result for a line that was active.
func (c *Carrier) ended(l line, began time.Time, err error, stops bool) {
	now := time.Now()
	c.mu.Lock()
	n := c.active[l]
	if c.on[n.on]--; c.on[n.on] <= 0 {
		delete(c.on, n.on)
	}
	if c.from[n.from]--; c.from[n.from] <= 0 {
		delete(c.from, n.from)
	}
	delete(c.active, l)
	f, failed := c.failing[l]
	switch {
	case err == nil:
		delete(c.failing, l)
		c.noteRead(l, now)
	case !stops:
		if !failed {
			f.since = began
		}
		f.times++
		c.failing[l], c.due[l] = f, retry.After(began, f.times, now)
	}
	c.settle(now)
	c.mu.Unlock()
	c.wake()
	switch {
	case stops:
	case err != nil && c.logged.Allow(l.source.Queue+"\t"+l.target.Queue, now):
		c.log.Warn("chime: jobs that follow others wait, because they cannot be brought to their queue: trying again", "event", "outbox.blocked",
			"queue", l.source.Queue, "partition", l.source.Index, "target", l.target.Queue, "after_ms", now.Sub(f.since).Milliseconds(), "error", err)
	case err == nil && failed:
		c.log.Info("chime: jobs that follow others are brought to their queue again", "event", "outbox.carried",
			"queue", l.source.Queue, "partition", l.source.Index, "target", l.target.Queue, "after_ms", now.Sub(f.since).Milliseconds())
	}
}

// noteRead notes that a source was read. The caller holds mu.
func (c *Carrier) noteRead(l line, now time.Time) {
	if l.kind != everyLine {
		return
	}
	if len(c.reads) > maxActive {
		maps.DeleteFunc(c.reads, func(_ protocol.Partition, at time.Time) bool { return now.Sub(at) > readPause })
	}
	c.reads[l.source] = now
}

// settle closes idle if nothing is left to do now, apart from lines that fail. The caller holds mu.
func (c *Carrier) settle(now time.Time) {
	if c.idle == nil || len(c.active) > 0 {
		return
	}
	for l, at := range c.due {
		if _, fails := c.failing[l]; !fails && !at.After(now.Add(readPause)) {
			return
		}
	}
	close(c.idle)
	c.idle = nil
}

// Finish waits until everything that was noted is carried, except lines that fail, or ctx ends.
func (c *Carrier) Finish(ctx context.Context) {
	c.mu.Lock()
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	idle := c.idle
	c.settle(time.Now())
	c.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// place waits for a place among the calls to the node of a partition, and returns the function that leaves it.
func (c *Carrier) place(ctx context.Context, p protocol.Partition) (leave func(), err error) {
	node := c.store.Node(p)
	c.mu.Lock()
	of := c.places[node]
	if of == nil {
		of = &places{free: make(chan struct{}, placesOfNode)}
		c.places[node] = of
	}
	of.users++
	c.mu.Unlock()
	left := func() {
		c.mu.Lock()
		if of.users--; of.users == 0 {
			delete(c.places, node)
		}
		c.mu.Unlock()
	}
	select {
	case of.free <- struct{}{}:
		return func() { <-of.free; left() }, nil
	case <-ctx.Done():
		left()
		return nil, ctx.Err()
	}
}
