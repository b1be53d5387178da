package chime

import (
	"sync"
	"time"
)

const (
	aheadWorth = 4 * time.Millisecond  // of work is taken ahead, by the handlers' average duration; longer ones get nothing ahead
	aheadWait  = 20 * time.Millisecond // a job taken ahead that has not begun by then is given back
	maxAhead   = 2 * maxTake           // one call's jobs run while the next call's are fetched
	paceJobs   = 256                   // over so many ends the pace is measured
	paceGap    = time.Millisecond      // a longer gap between two ends is a stall, not the pace
)

// slots run handlers, never more than size at once. A slot is free exactly when its handler has returned, however its job
// was settled meanwhile. The taker hands over flights; runners, goroutines that are never more than size, take one after
// the other, so that very short handlers do not wait for the taker.
//
// A runner that begins a flight while others wait starts one more runner, but only one that has not begun yet is under way
// at a time. So handlers that block get all slots at once, each runner's start being the next one's doing, while handlers
// that are over before the new runner had its turn are run by the few that there are.
type slots struct {
	size int
	poke chan struct{} // room for one: the taker has something to look at

	mu        sync.Mutex
	busy      []*flight // one for each slot that is not free
	waiting   backlog   // handed over and not begun, the next one first
	runners   int
	launching bool      // a runner was started that has not begun
	low       bool      // the taker was told that little waits
	began     []*flight // of those taken ahead, begun since the last collect
	ended     []*flight // returned since the last collect, in the order of their ends
	quiet     bool      // the taker is waiting for an answer and will look by itself
	expiry    time.Time // no running flight's time is up before; zero: none has an end

	average time.Duration // of a handler
	known   bool          // average has been measured
	pace    time.Duration // between two ends while flights wait: what a job costs this worker, handler and all; 0: unknown
	lastEnd time.Time     // zero: nothing waited behind it
	trip    time.Duration // of a call, lately; 0: unknown
	flow    time.Duration // sum of the gaps since the pace was measured
	flowed  int           // and their number
}

// A backlog is a queue of flights that reuses its memory.
type backlog struct {
	flights []*flight
	first   int
}

func (b *backlog) len() int { return len(b.flights) - b.first }

func (b *backlog) push(f *flight) {
	if b.first > 0 && len(b.flights) == cap(b.flights) {
		n := copy(b.flights, b.flights[b.first:])
		clear(b.flights[n:])
		b.flights, b.first = b.flights[:n], 0
	}
	b.flights = append(b.flights, f)
}

func (b *backlog) head() *flight { return b.flights[b.first] }

func (b *backlog) pop() *flight {
	f := b.flights[b.first]
	b.flights[b.first] = nil
	if b.first++; b.first == len(b.flights) {
		b.flights, b.first = b.flights[:0], 0
	}
	return f
}

func (b *backlog) all() []*flight { return b.flights[b.first:] }

func newSlots(size int) *slots {
	return &slots{size: size, poke: make(chan struct{}, 1), busy: make([]*flight, 0, size)}
}

// run runs flights, each as soon as a slot is free, behind those that wait already.
func (s *slots) run(flights []*flight, now time.Time) {
	s.mu.Lock()
	s.low = false
	for _, f := range flights {
		f.queued = now
		s.waiting.push(f)
	}
	launch := s.launch()
	s.mu.Unlock()
	if launch {
		go s.work(nil)
	}
}

// launch reports whether the caller is to start a runner. The caller holds mu.
func (s *slots) launch() bool {
	if s.launching || s.runners == s.size || s.waiting.len() == 0 {
		return false
	}
	s.launching = true
	s.runners++
	return true
}

// work is a runner: it ends a flight, if there is one, and goes on with what waits.
func (s *slots) work(f *flight) {
	done := false
	defer func() {
		// A handler that calls Goexit ends this goroutine, but not its slot.
		if !done {
			go s.work(f)
		}
	}()
	for {
		if f = s.next(f); f == nil {
			done = true
			return
		}
		f.run()
	}
}

// next frees the slot of a flight whose handler has returned, if there is one, and fills it again with the first that
// waits. It returns nil where none does: then the runner ends.
func (s *slots) next(ended *flight) *flight {
	now := time.Now()
	s.mu.Lock()
	if ended != nil {
		s.end(ended, now)
	} else {
		s.launching = false
	}
	if s.waiting.len() == 0 {
		s.runners--
		s.lastEnd = time.Time{}
		switch {
		case ended == nil:
		case len(s.ended) >= settleBatch:
			s.wake() // to collect them while the store is busy
		default:
			s.nudge()
		}
		s.mu.Unlock()
		return nil
	}
	f := s.waiting.pop()
	s.begin(f, now)
	if ended != nil && s.noteworthy() {
		s.nudge()
	}
	launch := s.launch()
	s.mu.Unlock()
	if launch {
		go s.work(nil)
	}
	return f
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

// end frees the slot of a flight. The caller holds mu.
func (s *slots) end(f *flight, now time.Time) {
	f.endedAt = now
	s.measure(now.Sub(f.began), now)
	last := len(s.busy) - 1
	s.busy[f.slot] = s.busy[last]
	s.busy[f.slot].slot = f.slot
	s.busy[last] = nil
	s.busy = s.busy[:last]
	s.ended = append(s.ended, f)
}

// noteworthy reports whether the taker has something to do about the flights that have ended, although others follow in
// their slots: many outcomes to send, or room to take more. For the rest it comes by itself, when the first of what waits
// would have waited too long, and that is before an outcome has. The caller holds mu.
func (s *slots) noteworthy() bool {
	switch {
	case len(s.ended) >= settleBatch:
		return true
	case !s.low && s.waiting.len() <= s.mark(s.target()):
		s.low = true
		return true
	}
	return false
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

// measure keeps a moving average of how long handlers run, and of how fast they end while others wait. The second counts
// all that a job costs: a thousand handlers of a microsecond are more than a millisecond's work. The caller holds mu.
func (s *slots) measure(d time.Duration, now time.Time) {
	d = min(d, time.Second)
	if !s.known {
		s.average, s.known = d, true
	} else {
		s.average += (d - s.average) / 16
	}
	if !s.lastEnd.IsZero() {
		s.flow += max(0, min(now.Sub(s.lastEnd), paceGap))
		if s.flowed++; s.flowed == paceJobs {
			pace := max(s.flow/paceJobs, 1)
			if s.pace > 0 {
				pace = (s.pace + pace) / 2
			}
			s.pace, s.flow, s.flowed = pace, 0, 0
		}
	}
	s.lastEnd = now
}

// target is how many jobs are worth taking ahead. The caller holds mu.
func (s *slots) target() int {
	if !s.known || s.average > aheadWorth {
		return 0
	}
	worth := int64(aheadWorth) * int64(s.size) / max(int64(s.average), 1)
	if s.pace > 0 {
		worth = min(worth, int64(aheadWorth/s.pace))
	}
	return int(min(worth, maxAhead))
}

// room returns how many slots are free, and how many jobs may be taken for them and ahead of them; worth reports whether
// that is worth a call. coming are on their way: arrived and not handed over, or asked for by calls that are not answered,
// so many of them ahead, which occupy no slot. What is running, waiting and coming is never more than there are slots, and
// what is worth taking ahead.
func (s *slots) room(coming, ahead int) (free, take int, worth bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	load := len(s.busy) + s.waiting.len() + coming
	target := s.target()
	free = max(0, s.size-load+ahead)
	take = max(0, s.size+target-load)
	return free, take, take > 0 && (free > 0 || load <= s.size+s.mark(target))
}

// mark is how few jobs may wait before the next are asked for: half of what is worth taking ahead, or fewer if those last
// for two calls, so that a call carries many. What one call cannot bring is asked for earlier. The caller holds mu.
func (s *slots) mark(target int) int {
	if s.pace == 0 || s.trip == 0 {
		return target / 2
	}
	return min(target/2, max(int(2*s.trip/s.pace), target-maxTake, 1))
}

// travelled notes how long a call was under way.
func (s *slots) travelled(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trip == 0 {
		s.trip = d
	}
	s.trip += (d - s.trip) / 8
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
	if !quiet && len(s.ended) > 0 && (s.noteworthy() || s.waiting.len() == 0) {
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
			f.ctx.end(ErrTimeout)
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

// drop takes those flights off the queue of what waits that keep does not want, and returns them.
func (s *slots) drop(keep func(*flight) bool) (dropped []*flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range s.waiting.len() {
		if f := s.waiting.pop(); keep(f) {
			s.waiting.push(f)
		} else {
			dropped = append(dropped, f)
		}
	}
	return dropped
}

// stale returns what has waited too long, and how long the oldest of the others may still wait: zero if there is none.
// Handlers are slower than thought, so nothing is taken ahead until they are measured again.
func (s *slots) stale(now time.Time) (stale []*flight, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.waiting.len() > 0 {
		if until = s.waiting.head().queued.Add(aheadWait); until.After(now) {
			return stale, until
		}
		stale = append(stale, s.waiting.pop())
		s.average = max(s.average, aheadWait)
	}
	return stale, time.Time{}
}

// each calls visit for every flight that runs or waits, with mu held.
func (s *slots) each(visit func(*flight)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.busy {
		visit(f)
	}
	for _, f := range s.waiting.all() {
		visit(f)
	}
}
