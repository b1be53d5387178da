package work

import (
	"context"
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// callers has a caller for each node that has a partition of this worker's queues. It belongs to the processor's goroutine. The run of each
// caller is a goroutine of its own; stop ends it.
type callers struct {
	store   protocol.Store
	ctx     context.Context // of the calls
	replies chan reply
	nodes   map[string]*caller
	loops   sync.WaitGroup
}

func newCallers(ctx context.Context, store protocol.Store) *callers {
	return &callers{store: store, ctx: ctx, replies: make(chan reply, 1), nodes: make(map[string]*caller)}
}

// of returns the caller of the node on which a partition lives now.
func (cs *callers) of(p protocol.Partition) *caller {
	node := cs.store.Node(p)
	c := cs.nodes[node]
	if c == nil {
		c = newCaller(node, cs.store)
		cs.nodes[node] = c
		cs.loops.Go(func() { c.run(cs.ctx, cs.replies) })
	}
	return c
}

// keep stops the callers of nodes that no lane uses any more.
func (cs *callers) keep(needed map[*caller]bool) {
	for node, c := range cs.nodes {
		if !needed[c] && !c.busy() {
			c.stop()
			delete(cs.nodes, node)
		}
	}
}

// allBusy reports whether no request can be sent now; idle reports whether no request is under way.
func (cs *callers) allBusy() bool {
	for _, c := range cs.nodes {
		if !c.busy() {
			return false
		}
	}
	return len(cs.nodes) > 0
}

func (cs *callers) idle() bool {
	for _, c := range cs.nodes {
		if c.busy() {
			return false
		}
	}
	return true
}

// lateAt returns when the first of the requests under way becomes late. Zero: it makes no difference, because there is one node, or all requests
// are late already.
func (cs *callers) lateAt(now time.Time) (until time.Time) {
	if len(cs.nodes) < 2 {
		return time.Time{}
	}
	for _, c := range cs.nodes {
		if c.reserves(now) {
			until = earlier(until, c.lateAt())
		}
	}
	return until
}

// send sends the requests that were put together, and reports whether there were any.
func (cs *callers) send(now time.Time) (sent bool) {
	for _, c := range cs.nodes {
		if !c.busy() {
			sent = c.send(now) || sent
		}
	}
	return sent
}

// answers delivers the replies; each is to be passed to its caller's received.
func (cs *callers) answers() <-chan reply { return cs.replies }

// stop ends the goroutines of all callers; wait waits for them.
func (cs *callers) stop() {
	for _, c := range cs.nodes {
		c.stop()
	}
}

func (cs *callers) wait() { cs.loops.Wait() }
