package work

import (
	"context"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// callTimeout bounds a call if the store does not. A call that it ends is sent again.
const callTimeout = 30 * time.Second

// A request is one round trip; exactly one of work, poll, leave and closed is set.
type request struct {
	lanes  []*lane // of work and poll, in the order of the calls
	work   []protocol.WorkCall
	poll   []protocol.PollCall
	leave  []protocol.LeaveCall
	closed []*session
}

// A reply is a request with its answers.
type reply struct {
	request
	took   time.Duration
	worked []protocol.WorkAnswer
	polled []protocol.PollAnswer
	err    error // of leave
}

// A caller is the goroutine that makes the calls to the store, one at a time, so that the processor does not wait for them.
type caller struct {
	store    protocol.Store
	requests chan request
	replies  chan reply

	calling bool      // the processor's: a request is under way
	sentAt  time.Time // the processor's
}

func newCaller(store protocol.Store) *caller {
	return &caller{store: store, requests: make(chan request, 1), replies: make(chan reply, 1)}
}

// busy reports whether a request is under way. Only one is.
func (c *caller) busy() bool { return c.calling }

// send has a request made. It must not be busy.
func (c *caller) send(r request, now time.Time) {
	c.calling, c.sentAt = true, now
	c.requests <- r
}

// answers delivers the replies; each is to be passed to received.
func (c *caller) answers() <-chan reply { return c.replies }

// received notes that a reply has come.
func (c *caller) received(r *reply, now time.Time) {
	c.calling = false
	r.took = now.Sub(c.sentAt)
}

// stop ends run. What is under way is ended by run's ctx.
func (c *caller) stop() { close(c.requests) }

// run makes the requests, one after the other, until stop is called.
func (c *caller) run(ctx context.Context) {
	for r := range c.requests {
		c.replies <- c.roundTrip(ctx, r)
	}
}

func (c *caller) roundTrip(ctx context.Context, r request) reply {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	done := reply{request: r}
	switch {
	case r.work != nil:
		done.worked = c.store.Work(ctx, r.work)
	case r.poll != nil:
		done.polled = c.store.Poll(ctx, r.poll)
	case r.leave != nil:
		done.err = c.store.Leave(ctx, r.leave)
	case r.closed != nil:
		for _, s := range r.closed {
			// An unknown outcome needs no second try: the session is empty, and if it still exists it lapses and is reaped.
			_ = c.store.CloseSession(ctx, s.partition(), s.name())
		}
	}
	return done
}
