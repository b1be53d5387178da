package chime

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

const maxStack = 4 << 10

// A flight is one job in this worker's hands, from the answer that brought it to the answer that settles it.
//
// It is in one of five states:
//   - taken: admitted in this pass of the taker; it leaves it at once, to ahead, running or outcome kept;
//   - ahead: waiting for a slot, not begun as far as the store knows (flight.ahead, not yet announced);
//   - running: in a slot, its handler has not returned;
//   - outcome kept: its settlement is in its lane's pending or in the unanswered call;
//   - settled: the call was answered, or the session is lost and there is nobody to tell.
//
// A flight whose time is up for longer than the grace, or that outlives the drain, is settled while it still runs: its slot
// stays taken until the handler returns, and what it returns is dropped.
type flight struct {
	job      Job
	message  envelope
	handler  *registration
	id       string
	fence    int64
	schedule string // of an occurrence; empty: an ordinary job
	session  *session
	cancels  bool // its schedule's overlap policy is cancel
	ahead    bool
	clock    storeClock

	ctx    *jobContext
	cancel context.CancelCauseFunc

	timeout  time.Duration
	slot     int       // index among the busy slots, while it is in one
	queued   time.Time // ahead since
	began    time.Time
	deadline time.Time // zero: none
	endedAt  time.Time
	settled  bool // its outcome is kept, or nobody wants it: the taker's
	ended    bool // its handler has returned: the taker's
	cutOff   bool // handed back because of the drain

	settlement Settlement // written by the slot, read by the taker after it has collected the flight
}

// begin marks a flight as running.
func (f *flight) begin(now time.Time) {
	f.began = now
	if f.timeout > 0 {
		f.deadline = now.Add(f.timeout)
	}
	f.job.Started = f.clock.at(now)
	f.ctx.deadline = f.deadline
}

// run calls the handler and works out how the job's flight ends. A panic and runtime.Goexit are failures.
func (f *flight) run() {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			f.finish(&PanicError{Value: v, Stack: stack()})
			return
		}
		f.finish(&PanicError{Value: errGoexit, Stack: stack()})
	}()
	err := f.handler.run(f.ctx, &f.job)
	returned = true
	f.finish(err)
}

var errGoexit = errors.New("the handler called runtime.Goexit")

// stack is where a handler panicked, cut to what is worth keeping.
func stack() []byte {
	s := debug.Stack()
	return s[:min(len(s), maxStack)]
}

// jobContext is a handler's context: it ends when its job's time is up, or for the reasons that context.Cause tells. The
// deadline is kept by the taker for all of them, not by a timer each.
type jobContext struct {
	context.Context
	deadline time.Time
}

func newJobContext(base context.Context) (*jobContext, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(base)
	return &jobContext{Context: ctx}, cancel
}

func (c *jobContext) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

// Err is context.DeadlineExceeded where the job's time was up.
func (c *jobContext) Err() error {
	err := c.Context.Err()
	if err != nil && errors.Is(context.Cause(c.Context), ErrTimeout) {
		return context.DeadlineExceeded
	}
	return err
}

func (c *jobContext) String() string { return fmt.Sprintf("chime job context until %v", c.deadline) }
