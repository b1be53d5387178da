package chime

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/chimejobs/chime/internal/observe"
)

// Pulses returns the time of the last iteration of each loop of the worker, by this process's clock. time.Since of such a time is correct even if
// the clock was set meanwhile. The loops are "processor", which takes and settles jobs, "heartbeat", which renews the sessions, and "watch", which
// places and returns what others have left behind if no scheduler runs. A loop that does not run is not in the map: before Run, while Run waits for
// a store that cannot be reached, and after Run.
//
// A loop has an iteration at least every 5 s, with or without work, and also if Redis does not answer. While "watch" waits for an answer, for at
// most 30 s, Pulses returns the current time for it. So a loop whose last iteration is more than 10 s ago is stuck, or the process gets no
// processor time. Handlers are not loops: a handler that hangs keeps its slot, see [Timeout]. Pulses does no I/O.
func (w *Worker) Pulses() map[string]time.Time {
	return pulsesOf(map[string]*observe.Pulse{"processor": w.processor, "heartbeat": w.heartbeat, "watch": w.watch})
}

// Pulses returns the time of the last iteration of the scheduler's only loop, "ticker"; see [Worker.Pulses]. The loop has an iteration at least
// every 5 s, also if the scheduler does not lead. While the loop waits for an answer, for at most 30 s, Pulses returns the current time for it.
// Pulses does no I/O.
func (s *Scheduler) Pulses() map[string]time.Time {
	return pulsesOf(map[string]*observe.Pulse{"ticker": s.ticker})
}

// Draining reports whether the worker is ending: the ctx of Run has ended, or Run has returned. Jobs may still run. It does no I/O.
func (w *Worker) Draining() bool { return w.draining.Load() }

// Draining reports whether the scheduler is ending: the ctx of Run has ended, or Run has returned. It does no I/O.
func (s *Scheduler) Draining() bool { return s.draining.Load() }

// drains sets draining when ctx ends, and when end is called.
func drains(ctx context.Context, draining *atomic.Bool) (end func()) {
	noted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(noted)
		draining.Store(true)
	})
	return func() {
		if !stop() {
			<-noted // nothing of a role continues after its Run has returned
		}
		draining.Store(true)
	}
}

func pulsesOf(loops map[string]*observe.Pulse) map[string]time.Time {
	turned := make(map[string]time.Time, len(loops))
	for loop, pulse := range loops {
		if at, runs := pulse.Last(); runs {
			turned[loop] = at
		}
	}
	return turned
}
