package chimeotel

import (
	"sync"

	"github.com/chimejobs/chime"
)

// An attemptOf identifies an attempt. An attempt that was settled without its handler may still run when the next one begins.
type attemptOf struct {
	spanOf
	number int
}

// runningAttempts are the attempts whose handlers have not returned. If a handler runs long after its timeout, the worker settles the attempt without it:
// then the attempt is reported as ended first, and the handler's result does not count.
type runningAttempts struct {
	mu      sync.Mutex
	settled map[attemptOf]*chime.JobEvent // nil: not settled
}

func newRunningAttempts() *runningAttempts {
	return &runningAttempts{settled: make(map[attemptOf]*chime.JobEvent)}
}

func (r *runningAttempts) begin(of attemptOf) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settled[of] = nil
}

// end returns how the attempt was settled before its handler returned; nil: it was not.
func (r *runningAttempts) end(of attemptOf) *chime.JobEvent {
	r.mu.Lock()
	defer r.mu.Unlock()
	event := r.settled[of]
	delete(r.settled, of)
	return event
}

// ended receives attempts that were settled.
func (r *runningAttempts) ended(events []chime.JobEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range events {
		of := attemptOf{spanOf{events[i].Queue, events[i].ID}, events[i].Attempt}
		if _, runs := r.settled[of]; runs {
			event := events[i]
			r.settled[of] = &event
		}
	}
}
