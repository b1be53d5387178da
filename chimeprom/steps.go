package chimeprom

import (
	"context"
	"sync"
	"time"
)

const (
	stepPause = 500 * time.Millisecond
	keepSums  = 2 * time.Minute // without newer sums, old ones are used for this time plus the time of their walk
)

// A walk reads what may be too much for one scrape, in steps. A read waits for the first step. The walk takes the other steps by itself, with pauses,
// so that it does not use Redis most of the time. At the end it stops: the next read begins the next walk. T is what a walk finds.
type walk[T any] struct {
	failed func() // called for a failure that no read waits for

	mu           sync.Mutex
	underWay     bool
	last         *T // of the last complete walk
	begun, ended time.Time
}

// A footstep is the result of the first step of a walk.
type footstep struct {
	complete bool // the walk has ended with it
	err      error
}

// begin takes the first step of a walk that fills found, unless a walk is running. It reports whether the walk ended with that step.
func (w *walk[T]) begin(ctx context.Context, found *T, step func() (more bool, err error)) (complete bool, err error) {
	w.mu.Lock()
	busy := w.underWay
	w.underWay = true
	w.mu.Unlock()
	if busy {
		return false, nil
	}
	first := make(chan footstep, 1)
	go w.run(found, step, first)
	select {
	case f := <-first:
		return f.complete, f.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// run takes all steps of a walk.
func (w *walk[T]) run(found *T, step func() (more bool, err error), first chan<- footstep) {
	begun := time.Now()
	more, err := step()
	if err != nil || !more {
		w.end(found, begun, err)
		first <- footstep{err == nil, err}
		return
	}
	first <- footstep{}
	for more && err == nil {
		time.Sleep(stepPause)
		more, err = step()
	}
	if w.end(found, begun, err); err != nil {
		w.failed()
	}
}

// end ends a walk.
func (w *walk[T]) end(found *T, begun time.Time, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.underWay = false; err == nil {
		w.last, w.begun, w.ended = found, begun, time.Now()
	}
}

// sums are what the last walk found; nil: no walk has ended, or it is too long ago.
func (w *walk[T]) sums() *T {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil || time.Since(w.ended) > keepSums+w.ended.Sub(w.begun) {
		return nil
	}
	return w.last
}
