package chime

import (
	"slices"
	"sync"
	"time"
)

const (
	aheadWorth = 4 * time.Millisecond  // of work is taken ahead, by the handlers' average duration; longer ones get nothing ahead
	aheadWait  = 20 * time.Millisecond // a job taken ahead that has not begun by then is given back
	maxAhead   = maxTake
)

// slots run handlers, never more than size at once. A slot is free exactly when its handler has returned, however its job
// was settled meanwhile. The taker starts flights in free slots; a slot whose handler has returned goes on by itself with
// what was taken ahead, so that very short handlers do not wait for the taker.
type slots struct {
	size int
	poke chan struct{} // room for one: the taker has something to look at

	mu      sync.Mutex
	busy    []*flight // one for each slot that is not free
	ahead   []*flight // taken ahead, oldest first
	began   []*flight // of those, begun since the last collect
	ended   []*flight // returned since the last collect, in the order of their ends
	quiet   bool      // the taker is waiting for an answer and will look by itself
	expiry  time.Time // no running flight's time is up before; zero: none has an end
	average time.Duration
	known   bool // average has been measured
}

func newSlots(size int) *slots {
	return &slots{size: size, poke: make(chan struct{}, 1), busy: make([]*flight, 0, size)}
}

// start runs a flight in a free slot. Where a slot promised to an unanswered call has gone to another job meanwhile, the
// flight is the next to get one.
func (s *slots) start(f *flight, now time.Time) {
	s.mu.Lock()
	if len(s.busy) == s.size {
		f.queued = now
		s.ahead = slices.Insert(s.ahead, 0, f)
		s.mu.Unlock()
		return
	}
	s.begin(f, now)
	s.mu.Unlock()
	go s.work(f)
}

// begin takes a slot for a flight. The caller holds mu.
func (s *slots) begin(f *flight, now time.Time) {
	f.slot = len(s.busy)
	s.busy = append(s.busy, f)
	f.begin(now)
	if f.ahead {
		s.began = append(s.began, f)
	}
	if !f.deadline.IsZero() && (s.expiry.IsZero() || f.deadline.Before(s.expiry)) {
		s.expiry = f.deadline
		s.wake()
	}
}

// queue keeps a flight that was taken ahead until a slot is free, which may be now.
func (s *slots) queue(f *flight, now time.Time) {
	s.mu.Lock()
	if len(s.busy) < s.size && len(s.ahead) == 0 {
		s.begin(f, now)
		s.mu.Unlock()
		go s.work(f)
		return
	}
	f.queued = now
	s.ahead = append(s.ahead, f)
	s.mu.Unlock()
}

// work runs a flight and then, in the same slot, what was taken ahead.
func (s *slots) work(f *flight) {
	defer func() {
		// Only a handler that calls Goexit leaves a flight here: this goroutine ends, its slot goes on.
		if f == nil {
			return
		}
		if f = s.end(f); f != nil {
			go s.work(f)
		}
	}()
	for f != nil {
		f.run()
		f = s.end(f)
	}
}

// end frees the slot of a flight whose handler has returned and fills it again with the oldest that was taken ahead.
func (s *slots) end(f *flight) *flight {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	f.endedAt = now
	s.measure(now.Sub(f.began))
	last := len(s.busy) - 1
	s.busy[f.slot] = s.busy[last]
	s.busy[f.slot].slot = f.slot
	s.busy[last] = nil
	s.busy = s.busy[:last]
	s.ended = append(s.ended, f)

	if len(s.ahead) == 0 {
		s.nudge()
		return nil
	}
	next := s.ahead[0]
	s.ahead[0] = nil
	s.ahead = s.ahead[1:]
	s.begin(next, now)
	if len(s.ended) == 1 || len(s.ended) >= settleBatch || len(s.ahead) == s.target()/2 {
		s.nudge()
	}
	return next
}

// nudge makes the taker look, unless it does so soon anyway. The caller holds mu.
func (s *slots) nudge() {
	if !s.quiet {
		s.wake()
	}
}

func (s *slots) wake() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// measure keeps a moving average of how long handlers run. The caller holds mu.
func (s *slots) measure(d time.Duration) {
	d = min(d, time.Second)
	if !s.known {
		s.average, s.known = d, true
		return
	}
	s.average += (d - s.average) / 16
}

// target is how many jobs are worth taking ahead. The caller holds mu.
func (s *slots) target() int {
	if !s.known || s.average > aheadWorth {
		return 0
	}
	worth := int64(aheadWorth) * int64(s.size) / max(int64(s.average), 1)
	return int(min(worth, maxAhead))
}

// room returns the number of free slots, and of jobs worth taking ahead of them; worth reports whether those alone are
// worth a call. reserved slots are promised to calls under way.
func (s *slots) room(reserved int) (free, ahead int, worth bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	free = max(0, s.size-len(s.busy)-reserved)
	target := s.target()
	ahead = max(0, target-len(s.ahead))
	return free, ahead, target > 0 && len(s.ahead) <= target/2
}

// collected is what has happened in the slots since the taker looked last.
type collected struct {
	ended, began []*flight
}

// collect moves what has happened into c, whose slices are used again.
func (s *slots) collect(c *collected) {
	s.mu.Lock()
	c.ended, s.ended = s.ended, c.ended[:0]
	c.began, s.began = s.began, c.began[:0]
	s.mu.Unlock()
}

// rest says whether the taker looks by itself soon, so that nobody needs to nudge it.
func (s *slots) rest(quiet bool) {
	s.mu.Lock()
	s.quiet = quiet
	if !quiet && len(s.ended) > 0 {
		s.wake()
	}
	s.mu.Unlock()
}

// unread reports whether there is something to collect.
func (s *slots) unread() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ended) > 0
}

// expire ends the ctx of handlers whose time is up and adds to overdue what has been over time for the grace. It returns
// when to come again: zero, not before another flight begins.
func (s *slots) expire(now time.Time, overdue *[]*flight) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.expiry.IsZero() || now.Before(s.expiry) {
		return s.expiry
	}
	s.expiry = time.Time{}
	for _, f := range s.busy {
		if f.deadline.IsZero() || f.settled {
			continue
		}
		due := f.deadline
		if !now.Before(due) {
			f.cancel(ErrTimeout)
			due = due.Add(timeoutPatience)
		}
		if now.Before(due) {
			s.expiry = earlier(s.expiry, due)
		} else {
			*overdue = append(*overdue, f)
		}
	}
	return s.expiry
}

// drop takes those flights off the queue of what was taken ahead that keep does not want, and returns them.
func (s *slots) drop(keep func(*flight) bool) (dropped []*flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ahead) == 0 {
		return nil
	}
	var kept []*flight
	for _, f := range s.ahead {
		if keep(f) {
			kept = append(kept, f)
		} else {
			dropped = append(dropped, f)
		}
	}
	s.ahead = kept
	return dropped
}

// stale returns what was taken ahead and has waited too long, and how long the oldest of the others may still wait: zero
// if there is none. Handlers are slower than thought, so nothing is taken ahead until they are measured again.
func (s *slots) stale(now time.Time) (stale []*flight, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.ahead) > 0 {
		f := s.ahead[0]
		if until = f.queued.Add(aheadWait); until.After(now) {
			return stale, until
		}
		stale = append(stale, f)
		s.ahead[0] = nil
		s.ahead = s.ahead[1:]
		s.average = max(s.average, aheadWait)
	}
	return stale, time.Time{}
}

// each calls visit for every flight in a slot, with mu held.
func (s *slots) each(visit func(*flight)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.busy {
		visit(f)
	}
}
