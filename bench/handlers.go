package main

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// handlersAtOnce is the concurrency of the measures whose handlers take time.
const handlersAtOnce = 100

// shortFormHandler is the only duration of handlers in the short form.
const shortFormHandler = 5 * time.Millisecond

// handlersMeasure works off a backlog with handlers that wait, as most handlers do: for a database, another service, a disk.
func handlersMeasure(each time.Duration) measure {
	return measure{
		name: fmt.Sprintf("handlers %v", each), group: "handlers", slow: true, long: each != shortFormHandler,
		about: fmt.Sprintf("a backlog of jobs worked off by one process with handlers that wait %v (time.Sleep), %d at once; jobs/s are those that "+
			"have ended, the busy share is jobs/s × %v ÷ %d slots, and the share in handlers has how long they took in place of how long they asked for", each, handlersAtOnce, each, handlersAtOnce),
		run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
			lib, err := p.open(ctx, r)
			if err != nil {
				return nil, err
			}
			defer lib.Close()
			own := *r
			own.sizes = r.sizes.forHandlers(each, handlersAtOnce)
			if err := fillBulk(ctx, lib, own.sizes.backlog); err != nil {
				return nil, err
			}
			var handler waiting
			e, err := workOff(ctx, &own, p, lib, handlersAtOnce, func() { handler.wait(each) })
			if err != nil {
				return nil, err
			}
			rate := e.rate()
			return append([]figure{rate, busyShare(rate.value, each, handlersAtOnce), handler.share(rate.value, handlersAtOnce)}, e.each().cpu()...), nil
		},
	}
}

// shortestRuns is how many handlers one after the other a slot has time for at least. The last of each slot does not count when the time
// is over before it has ended.
const shortestRuns = 40

// forHandlers returns the sizes for handlers of a duration in a number of slots: time for shortestRuns of them, and at most a fifth more jobs than
// the slots can run in that time.
func (s sizes) forHandlers(each time.Duration, slots int) sizes {
	s.workOff = max(s.workOff, shortestRuns*each)
	s.backlog = min(s.backlog, int(math.Ceil(1.2*float64(slots)*s.workOff.Seconds()/each.Seconds())))
	return s
}

// busyShare is the part of the slots' time that was spent in handlers.
func busyShare(perSecond float64, each time.Duration, slots int) figure {
	return figure{name: "busy share", unit: "%", value: 100 * perSecond * each.Seconds() / float64(slots)}
}

// A waiting is a handler that waits, with the sum of its waits.
type waiting struct{ ended, spent atomic.Int64 }

func (w *waiting) wait(each time.Duration) {
	if each == 0 {
		return
	}
	began := time.Now()
	time.Sleep(each) // the measured work
	w.spent.Add(int64(time.Since(began)))
	w.ended.Add(1)
}

// share is the part of the slots' time that was spent in the handler. A sleep takes longer than it was asked for, so this, and not the
// busy share, is what a library can bring to 100 %.
func (w *waiting) share(perSecond float64, slots int) figure {
	mean := time.Duration(w.spent.Load() / max(1, w.ended.Load()))
	return figure{name: "share in handlers", unit: "%", value: busyShare(perSecond, mean, slots).value}
}
