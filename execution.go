package chime

import (
	"errors"
	"runtime/debug"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

const maxStack = 4 << 10

// A flight is one job in this worker's hands, from the answer that brought it to the answer that settles it.
//
// It is in one of six states:
//   - arrived: its answer has been read, the taker has not looked at it yet (it is counted in taker.arriving);
//   - taken: admitted in this pass of the taker; it leaves it at once, to waiting or outcome kept;
//   - waiting: for a slot, behind others. One with flight.ahead has not begun as far as the store knows;
//   - running: in a slot, its handler has not returned;
//   - outcome kept: its settlement is in its lane's pending or in the unanswered call;
//   - settled: the call was answered, or the session is lost and there is nobody to tell.
//
// A flight whose time is up for longer than the grace, or that outlives the drain, is settled while it still runs: its slot
// stays taken until the handler returns, and what it returns is dropped.
type flight struct {
	*attempt
	message  wire.Envelope
	handler  *registration
	id       string
	fence    int64
	schedule string // of an occurrence; empty: an ordinary job
	session  *session
	clock    *storeClock // of the answer that brought it
	timeout  time.Duration

	queued   time.Time // waiting since
	began    time.Time
	deadline time.Time // zero: none
	endedAt  time.Time
	slot     int // index among the busy slots, while it is in one

	cancels bool // its schedule's overlap policy is cancel
	ahead   bool
	settled bool // its outcome is kept, or nobody wants it: the taker's
	ended   bool // its handler has returned: the taker's
	cutOff  bool // handed back because of the drain
	listed  bool // among its lane's begun

	// settlement is written by the slot and read by the taker after it has collected the flight. Nil: done, and nothing more
	// is to be said, as of nearly every job.
	settlement *protocol.Settlement
}

// An attempt is what a handler sees of a flight. It may keep both, so an attempt is never used again, as flights are.
type attempt struct {
	job Job
	ctx jobContext
}

// Attempts are allocated attemptsTogether at a time, so one handler that runs for long keeps the memory of its neighbours.
// Jobs with bodies larger than attemptBody are alone, so that this is never more than a few KiB.
const (
	attemptsTogether = 16
	attemptBody      = 1 << 10
	flightsKept      = maxAhead
)

// A hangar is where flights come from and go to. It belongs to the taker's goroutine.
type hangar struct {
	flights  []*flight
	attempts []attempt
}

// flight returns a new one for a job with a body of so many bytes, with so many others behind it.
func (h *hangar) flight(body, others int) *flight {
	var f *flight
	if n := len(h.flights); n > 0 {
		f, h.flights = h.flights[n-1], h.flights[:n-1]
	} else {
		f = new(flight)
	}
	if body > attemptBody {
		f.attempt = new(attempt)
		return f
	}
	if len(h.attempts) == 0 {
		h.attempts = make([]attempt, min(1+others, attemptsTogether))
	}
	f.attempt, h.attempts = &h.attempts[0], h.attempts[1:]
	return f
}

// land takes a flight back that has ended and is settled, or wanted by nobody.
func (h *hangar) land(f *flight) {
	if !f.listed && len(h.flights) < flightsKept {
		*f = flight{}
		h.flights = append(h.flights, f)
	}
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
	err := f.handler.run(&f.ctx, &f.job)
	returned = true
	f.finish(err)
}

var errGoexit = errors.New("the handler called runtime.Goexit")

// stack is where a handler panicked, cut to what is worth keeping.
func stack() []byte {
	s := debug.Stack()
	return s[:min(len(s), maxStack)]
}

// outcome is the settlement of a flight whose handler has returned.
func (f *flight) outcome() protocol.Settlement {
	if f.settlement == nil {
		return protocol.Settlement{ID: f.id, Fence: f.fence, Kind: protocol.SettleDone}
	}
	return *f.settlement
}
