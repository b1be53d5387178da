package work

import (
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A call is the flights whose jobs one invocation of a ManyHandler gets. It passes the slots as a single flight does: only its first flight, the lead,
// waits or is in a slot.
//
//	gathered ──► waiting ──► running ──► returned
//
// What holds:
//   - all flights have the same handler, session and timeout;
//   - while it waits, a flight may leave it; the first of the others leads then. From its beginning on its flights do not change;
//   - each flight has its own outcome and is settled alone. If its session is lost, all of them are dropped;
//   - its ctx ends at the timeout, at the shutdown, when the session is lost or silent, and when no job is left that was not cancelled or replaced.
//
// Until it begins, it belongs to the slots' mutex; open belongs to the processor's goroutine.
type call struct {
	many    *Many
	flights []*flight
	ctx     *jobContext // not an Attempt: it has no job
	open    int         // jobs that were not cancelled or replaced
}

// newCall returns a call of one or more flights.
func newCall(flights []*flight, base *handlerContext) *call {
	c := &call{many: flights[0].claimed().handler.Many, flights: flights, ctx: new(jobContext)}
	c.ctx.begin(base)
	for _, f := range flights {
		f.join(c)
	}
	c.count()
	if flights[0].holder().isSilent() {
		c.ctx.end(protocol.ErrSessionLost)
	}
	return c
}

// count counts the jobs that were not cancelled or replaced. If none is left the ctx ends: all of them may have left before they were in a call, or the
// others may have left the call.
func (c *call) count() {
	c.open = 0
	for _, f := range c.flights {
		if !f.left() {
			c.open++
		}
	}
	if c.open == 0 {
		c.ctx.end(c.lead().reason())
	}
}

// lead returns the flight that waits, or is in a slot, for all.
func (c *call) lead() *flight { return c.flights[0] }

// len returns how many jobs the call has.
func (c *call) len() int { return len(c.flights) }

// each calls visit for each flight.
func (c *call) each(visit func(*flight)) {
	for _, f := range c.flights {
		visit(f)
	}
}

// drop removes the flights for which keep returns false from a waiting call, and appends them to dropped. It returns the lead of the others; nil: none
// is left.
func (c *call) drop(keep func(*flight) bool, dropped []*flight) (*flight, []*flight) {
	kept := c.flights[:0]
	for _, f := range c.flights {
		if keep(f) {
			kept = append(kept, f)
		} else {
			f.join(nil)
			dropped = append(dropped, f)
		}
	}
	clear(c.flights[len(kept):])
	if c.flights = kept; len(kept) == 0 {
		return nil, dropped
	}
	c.count()
	return c.lead(), dropped
}

// begin marks all flights as running in a slot.
func (c *call) begin(slot int, now time.Time) {
	for _, f := range c.flights {
		f.begin(slot, now)
	}
	c.ctx.setDeadline(c.lead().expires())
}

// leave notes that a job was cancelled or replaced.
func (c *call) leave(cause error) {
	if c.open--; c.open <= 0 {
		c.ctx.end(cause)
	}
}

// endContext ends the ctx of the handler. reason returns the cause with which it has ended; nil: it has not, or the handler has returned.
func (c *call) endContext(cause error) { c.ctx.end(cause) }
func (c *call) reason() error          { return c.ctx.reason() }

// splits reports whether each of the jobs is handled alone after the call has failed as a whole: one of them may be the cause.
func (c *call) splits() bool { return len(c.flights) > 1 && !c.many.Together }

// run calls the handler and computes the settlement of each flight. A panic and runtime.Goexit are failures of all.
func (c *call) run() {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil {
			v = errGoexit
		}
		where := stack()
		lead := c.lead()
		err := lead.claimed().config.Panic(v, where)
		lead.logPanic(err, where)
		c.finish(nil, err)
	}()
	jobs := make([]Job, len(c.flights))
	for i, f := range c.flights {
		f.prepare(&jobs[i])
	}
	each, all := c.many.Run(c.ctx, jobs)
	returned = true
	c.finish(each, all)
}

// finish computes the settlements from the errors of single jobs, and from the error of the others.
func (c *call) finish(each map[string]error, all error) {
	for _, f := range c.flights {
		err, named := each[f.claimed().id]
		switch {
		case named:
			f.finish(err, ofOne)
		case all == nil && each != nil:
			f.finish(nil, ofOthers)
		default:
			f.finish(all, ofAll)
		}
	}
}
