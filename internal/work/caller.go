package work

import (
	"context"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	// callTimeout bounds a call if the store does not bound it. A call that it ends is sent again.
	callTimeout = 30 * time.Second
	// A call is late after minLate, or after lateTimes the usual duration of its node's calls if that is longer.
	minLate   = 500 * time.Millisecond
	lateTimes = 4
)

// A request is one round trip to one node; exactly one of work, poll, leave and closed is set.
type request struct {
	lanes  []*lane // of work, poll and leave, in the order of the calls
	work   []protocol.WorkCall
	poll   []protocol.PollCall
	leave  []protocol.LeaveCall
	closed []closing
}

// A closing is a session to close, with what it has measured.
type closing struct {
	session  *session
	measured *protocol.Measured // nil: nothing
}

func (r *request) empty() bool { return len(r.lanes) == 0 && len(r.closed) == 0 }

// A reply is a request with its answers.
type reply struct {
	request
	caller *caller
	again  bool // a wake-up has come since the request was sent: the answers may be older
	took   time.Duration
	worked []protocol.WorkAnswer
	polled []protocol.PollAnswer
	err    error // of leave
}

// workAnswer and pollAnswer are the answers to a lane's call.
func (r *reply) workAnswer(i int) *protocol.WorkAnswer {
	if i < len(r.worked) {
		return &r.worked[i]
	}
	return &protocol.WorkAnswer{Err: errNoAnswer}
}

func (r *reply) pollAnswer(i int) *protocol.PollAnswer {
	if i < len(r.polled) {
		return &r.polled[i]
	}
	return &protocol.PollAnswer{Err: errNoAnswer}
}

// failed reports whether a work or poll call has no answer: then the duration of the request does not describe the node.
func (r *reply) failed() bool {
	for i := range r.lanes {
		if r.work != nil && r.workAnswer(i).Err != nil || r.poll != nil && r.pollAnswer(i).Err != nil {
			return true
		}
	}
	return r.err != nil
}

// A caller is the goroutine that makes the calls to one node, one at a time, so that neither the processor nor the calls to other
// nodes wait for them.
//
//	       send                late after a while            answered, or failed
//	idle ───────► calling ───────────────────────► late ─────────────────────────► idle
//	                 └──────────────────────────────────────────────────────────────┘
//
// What holds in every state:
//   - at most one request is under way, and no other request for the lanes of this node is sent meanwhile;
//   - while the caller is calling, slots are reserved for the jobs that its calls request for the first time. When it is late they are not
//     reserved any more, so that a node that hangs takes no slot from the queues of other nodes. If the jobs arrive after all, they wait for a
//     slot and are given back if they have waited too long;
//   - the calls that failed are sent again, unchanged, after a while. They request the same jobs, and no slot is reserved for these;
//   - outcomes remain in the call that failed and in the outboxes of the lanes. They are never more than the jobs that the node's sessions held
//     when it began to fail, because a lane whose call has failed requests no more.
type caller struct {
	node     string
	store    protocol.Store
	requests chan request

	// Used by the processor.
	draft   request // the next request, while it is put together
	polls   bool    // a lane of this node is to poll
	calling bool
	sentAt  time.Time
	again   bool          // a wake-up has come since
	usual   time.Duration // the average of the last answered calls; 0: not known
}

func newCaller(node string, store protocol.Store) *caller {
	return &caller{node: node, store: store, requests: make(chan request, 1)}
}

// busy reports whether a request is under way.
func (c *caller) busy() bool { return c.calling }

// lateAt returns when the request under way becomes late.
func (c *caller) lateAt() time.Time { return c.sentAt.Add(max(minLate, lateTimes*c.usual)) }

// reserves reports whether slots are reserved for the jobs of the request under way.
func (c *caller) reserves(now time.Time) bool { return c.calling && now.Before(c.lateAt()) }

// addWork, addPoll, addLeave and addClosed put a lane's call into the next request. lanes is about how many lanes will be in it.
func (c *caller) addWork(l *lane, call *protocol.WorkCall, lanes int) {
	if c.draft.work == nil {
		c.draft = request{lanes: make([]*lane, 0, lanes), work: make([]protocol.WorkCall, 0, lanes)}
	}
	c.draft.lanes, c.draft.work = append(c.draft.lanes, l), append(c.draft.work, *call)
}

func (c *caller) addPoll(l *lane, call protocol.PollCall) {
	c.draft.lanes, c.draft.poll = append(c.draft.lanes, l), append(c.draft.poll, call)
}

func (c *caller) addLeave(l *lane, call protocol.LeaveCall) {
	c.draft.lanes, c.draft.leave = append(c.draft.lanes, l), append(c.draft.leave, call)
}

func (c *caller) addClosed(s closing) { c.draft.closed = append(c.draft.closed, s) }

// wantPoll notes that a lane of this node is to poll; wantsPoll reports whether one has been noted since the last request.
func (c *caller) wantPoll()       { c.polls = true }
func (c *caller) wantsPoll() bool { return c.polls }

// send passes the next request to run, if there is one, and reports whether there was one. The caller must not be busy.
func (c *caller) send(now time.Time) bool {
	if c.draft.empty() {
		return false
	}
	c.calling, c.sentAt, c.again = true, now, false
	c.requests <- c.draft
	c.draft, c.polls = request{}, false
	return true
}

// noteWakeup notes that a wake-up has come, so that the answers under way may be older.
func (c *caller) noteWakeup() { c.again = c.calling }

// received notes that a reply has come; failed means that the node has not answered.
func (c *caller) received(r *reply, failed bool, now time.Time) {
	c.calling = false
	r.again = c.again
	r.took = now.Sub(c.sentAt)
	if failed {
		return
	}
	if c.usual == 0 {
		c.usual = r.took
	}
	c.usual += (r.took - c.usual) / 8
}

// stop ends run. run's ctx ends the request under way.
func (c *caller) stop() { close(c.requests) }

// run makes the requests, one after the other, until stop is called.
func (c *caller) run(ctx context.Context, replies chan<- reply) {
	for r := range c.requests {
		select {
		case replies <- c.roundTrip(ctx, r):
		case <-ctx.Done(): // the processor has ended
		}
	}
}

func (c *caller) roundTrip(ctx context.Context, r request) reply {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	done := reply{request: r, caller: c}
	switch {
	case r.work != nil:
		done.worked = c.store.Work(ctx, r.work)
	case r.poll != nil:
		done.polled = c.store.Poll(ctx, r.poll)
	case r.leave != nil:
		done.err = c.store.Leave(ctx, r.leave)
	case r.closed != nil:
		for _, closing := range r.closed {
			// If the outcome is unknown no retry is needed: the session is empty, and if it still exists it lapses and is reaped.
			_ = c.store.CloseSession(ctx, closing.session.partition(), closing.session.name(), closing.measured)
		}
	}
	return done
}
