package chime

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/chimejobs/chime/internal/observe"
)

// Pulses says when each loop of the worker turned last, by this process's clock: time.Since of it is right also where the clock was set
// meanwhile. The loops are "processor", which takes jobs and settles them, "heartbeat", which keeps them, and "watch", which places and
// returns what others have left where no scheduler runs. One that does not run is not in the map: before Run, while Run waits for a store
// that cannot be reached, and after it.
//
// A loop turns at least every 5 s, whether it has work or not and whether Redis answers or not. While "watch" waits for an answer, which it does
// for 30 s at most, it counts as turning. So a loop that has not turned for 10 s is stuck, or the process gets no processor time. Handlers are no
// loops: one that hangs keeps its slot, see [Timeout]. It does no I/O.
func (w *Worker) Pulses() map[string]time.Time {
	return pulsesOf(map[string]*observe.Pulse{"processor": w.processor, "heartbeat": w.heartbeat, "watch": w.watch})
}

// Pulses says when the one loop of the scheduler, "ticker", turned last, as [Worker.Pulses] does: it turns at least every 5 s, whether it
// leads or not, and counts as turning while it waits for an answer, for 30 s at most. It does no I/O.
func (s *Scheduler) Pulses() map[string]time.Time {
	return pulsesOf(map[string]*observe.Pulse{"ticker": s.ticker})
}

// Draining reports whether the worker was told to end: the ctx of Run has ended, or Run has returned. Jobs may still run. It does no I/O.
func (w *Worker) Draining() bool { return w.draining.Load() }

// Draining reports whether the scheduler was told to end: the ctx of Run has ended, or Run has returned. It does no I/O.
func (s *Scheduler) Draining() bool { return s.draining.Load() }

// drains notes in draining when ctx ends, and once end is called.
func drains(ctx context.Context, draining *atomic.Bool) (end func()) {
	noted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(noted)
		draining.Store(true)
	})
	return func() {
		if !stop() {
			<-noted // nothing of a role goes on when its Run has returned
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
