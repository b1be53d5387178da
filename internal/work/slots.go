package work

import (
	"sync"
	"time"
)

// slots run handlers, never more than size at once. A slot is free exactly when its handler has returned, however its jobs were settled meanwhile.
// The processor hands over flights. Of the flights of a call, only its lead waits or is in a slot. At most size goroutines, the runners, run one flight after the other, so that very short handlers do not wait
// for the processor.
//
// A runner that begins a flight while others wait starts one more runner, unless a started runner has not begun yet. So handlers that block get
// all slots at once, because each runner starts the next one. Few runners are enough for handlers that return before the new runner has begun.
type slots struct {
	size     int
	observed bool          // observers want to know which flights begin, or how many run
	counts   bool          // observers want to know how many run
	notify   chan struct{} // room for one: the processor has something to collect

	mu        sync.Mutex
	busy      []*flight // one for each slot that is not free
	stuck     int       // number of busy slots whose handlers run past their timeout
	waiting   backlog   // handed over and not begun
	runners   int
	launching bool      // a started runner has not begun yet
	low       bool      // the processor was notified that few flights wait
	began     []*flight // flights taken ahead that have begun since the last collect
	started   []*flight // flights that have begun since the last collect, if observers want to know
	ended     []*flight // flights that have returned since the last collect, in the order of their ends
	quiet     bool      // the processor waits for an answer and will collect without a notification
	startedAt time.Time // instant of the last collect that had started flights
	again     bool      // the processor collects without a notification within reportWithin of it
	expiry    time.Time // no running flight's time is up before this instant; zero: no flight has a deadline
	pace      pace
	endings   int       // see ending
	endingAt  time.Time // and when it was counted
}

// reportWithin is the maximum delay until an observer learns that a handler has begun soon after others.
const reportWithin = 5 * time.Millisecond

func newSlots(size int, observed, counts bool) *slots {
	return &slots{size: size, observed: observed, counts: counts, notify: make(chan struct{}, 1), busy: make([]*flight, 0, size)}
}

// notified delivers a value when there is something to collect.
func (s *slots) notified() <-chan struct{} { return s.notify }

// run runs flights, each as soon as a slot is free, after those that wait already.
func (s *slots) run(flights []*flight, now time.Time) {
	s.mu.Lock()
	s.low = false
	for _, f := range flights {
		if c := f.shared(); c != nil {
			c.each(func(f *flight) { f.waitFrom(now) })
		} else {
			f.waitFrom(now)
		}
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

// work is a runner: it ends a flight, if there is one, and continues with the waiting ones.
func (s *slots) work(f *flight) {
	done := false
	job := new(Job) // reused for each handler that it calls
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
		f.run(job)
	}
}

// next frees the slot of a flight whose handler has returned, if there is one, and gives it to the first waiting flight. It returns nil if no
// flight waits: then the runner ends.
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
		s.pace.paused()
		switch {
		case ended == nil:
		case len(s.ended) >= settleBatch:
			s.notifyNow() // the processor collects them while the store is busy
		default:
			s.notifyUnlessQuiet()
		}
		s.mu.Unlock()
		return nil
	}
	f := s.waiting.pop()
	s.begin(f, now)
	if ended != nil && s.noteworthy() {
		s.notifyUnlessQuiet()
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
	slot := len(s.busy)
	s.busy = append(s.busy, f)
	if c := f.shared(); c != nil {
		c.begin(slot, now)
		c.each(s.noteBegun)
	} else {
		f.begin(slot, now)
		s.noteBegun(f)
	}
	if s.observed && !s.again {
		s.notifyNow()
	}
	if at := f.expires(); !at.IsZero() && (s.expiry.IsZero() || at.Before(s.expiry)) {
		s.expiry = at
		s.notifyNow()
	}
}

// noteBegun notes for the next collect that a flight has begun. The caller holds mu.
func (s *slots) noteBegun(f *flight) {
	if f.wasTakenAhead() {
		s.began = append(s.began, f)
	}
	if s.observed {
		s.started = append(s.started, f)
	}
}

// end frees the slot of a flight. The caller holds mu.
func (s *slots) end(f *flight, now time.Time) {
	if c := f.shared(); c != nil {
		c.each(func(f *flight) {
			f.end(now)
			s.ended = append(s.ended, f)
		})
	} else {
		f.end(now)
		s.ended = append(s.ended, f)
	}
	s.pace.ended(f.duration(), f.jobs(), now)
	last := len(s.busy) - 1
	slot := f.inSlot()
	s.busy[slot] = s.busy[last]
	s.busy[slot].moveTo(slot)
	s.busy[last] = nil
	s.busy = s.busy[:last]
	if f.isLate() {
		s.stuck--
	}
	s.endings = max(0, s.endings-1)
}

// noteworthy reports whether the processor has something to do although other flights follow in the slots: there are many outcomes to send, or
// there is room to take more jobs. Otherwise the processor collects without a notification when the first waiting flight has waited too long;
// that is early enough for the outcomes. The caller holds mu.
func (s *slots) noteworthy() bool {
	switch {
	case len(s.ended) >= settleBatch:
		return true
	case !s.low && s.waiting.jobs() <= s.pace.lowMark(s.pace.target(s.size)):
		s.low = true
		return true
	}
	return false
}

// notifyUnlessQuiet notifies the processor, unless it collects soon anyway. The caller holds mu.
func (s *slots) notifyUnlessQuiet() {
	if !s.quiet {
		s.notifyNow()
	}
}

func (s *slots) notifyNow() {
	select {
	case s.notify <- struct{}{}:
	default:
	}
}

// room returns how many slots are free, and how many jobs may be taken for them and ahead of them; worth reports whether that is worth a call.
// coming counts the jobs that have arrived and are not handed over, and those that unanswered calls request; ahead of them are taken ahead and
// occupy no slot. gathering counts the jobs that gather for a call: they occupy no slot either, and leave less room ahead. The number of calls and of
// other jobs that run, wait or come is at most the number of slots plus the target of jobs ahead.
func (s *slots) room(coming, ahead, gathering int, now time.Time) (free, take int, worth bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	load := len(s.busy) + s.waiting.len() + coming
	target := s.pace.target(s.size)
	if target > 0 && s.pace.long() {
		target = min(target, s.pace.jobsOf(s.ending(now)))
	}
	extra := s.waiting.jobs() - s.waiting.len() + gathering
	free = max(0, s.size-load+ahead)
	take = max(0, min(free, s.size-load), s.size+target-load-extra)
	return free, take, take > 0 && (free > 0 || load+extra <= s.size+s.pace.lowMark(target))
}

// free returns how many slots no flight is in or waits for.
func (s *slots) free() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, s.size-len(s.busy)-s.waiting.len())
}

// fills reports whether this many flights take the last free slots.
func (s *slots) fills(flights int) bool {
	free := s.free()
	return free > 0 && flights >= free
}

// ending returns how many handlers end within the lead, if each takes the average time. The count is made once a millisecond; handlers that begin
// meanwhile do not end so soon. The caller holds mu.
func (s *slots) ending(now time.Time) int {
	if d := now.Sub(s.endingAt); d < 0 || d >= time.Millisecond {
		s.endingAt, s.endings = now, 0
		since := s.pace.endingSince(now)
		for _, f := range s.busy {
			if !f.begunAt().After(since) {
				s.endings++
			}
		}
	}
	return s.endings
}

// grain returns how many jobs a call requests of a queue at least, if there is enough room.
func (s *slots) grain() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pace.grain()
}

// roundTrip notes how long a call was under way.
func (s *slots) roundTrip(d time.Duration) {
	s.mu.Lock()
	s.pace.roundTrip(d)
	s.mu.Unlock()
}

// collected is what has happened in the slots since the processor collected last.
type collected struct{ ended, began, started []*flight }

// collect moves what has happened into c, whose slices are reused. again is when to call collect again, at the latest, so that observers learn in
// time which flights have begun; zero: the next flight that begins notifies the processor.
func (s *slots) collect(c *collected, now time.Time) (again time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.ended, s.ended = s.ended, c.ended[:0]
	c.began, s.began = s.began, c.began[:0]
	c.started, s.started = s.started, c.started[:0]
	return s.reportNext(len(c.started) > 0, now)
}

// reportNext returns when the processor has to collect again for observers, at the latest; zero: as soon as a flight begins. A notification for
// each flight would cost more than a short handler: if flights begin soon after each other, the processor collects without one. The caller holds
// mu.
func (s *slots) reportNext(started bool, now time.Time) time.Time {
	if started {
		s.again = now.Sub(s.startedAt) < 2*reportWithin
		s.startedAt = now
	}
	next := s.startedAt.Add(reportWithin)
	if s.again = s.again && now.Before(next); !s.again {
		return time.Time{}
	}
	return next
}

// A load is how many slots there are, how many of them are busy, and how many of these past the timeout.
type load struct{ size, busy, stuck int }

// since returns the difference to an earlier load.
func (l load) since(before load) load {
	return load{l.size - before.size, l.busy - before.busy, l.stuck - before.stuck}
}

// report reports a load, or the change of a load.
func (l load) report(observe func(size, busy, stuck int)) { observe(l.size, l.busy, l.stuck) }

// load returns how busy the slots are, for observers; zero: no observer wants to know.
func (s *slots) load() load {
	if !s.counts {
		return load{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return load{s.size, len(s.busy), s.stuck}
}

// rest sets whether the processor collects soon without a notification.
func (s *slots) rest(quiet bool) {
	s.mu.Lock()
	s.quiet = quiet
	if !quiet && len(s.ended) > 0 && (s.noteworthy() || s.waiting.len() == 0) {
		s.notifyNow()
	}
	s.mu.Unlock()
}

// unread reports whether there is something to collect.
func (s *slots) unread() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ended) > 0
}

// expire ends the ctx of handlers whose time is up and adds to overdue those whose time has been up for the grace. It returns when to call it
// again; zero: not before another flight begins.
func (s *slots) expire(now time.Time, overdue *[]*flight) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.expiry.IsZero() || now.Before(s.expiry) {
		return s.expiry
	}
	s.expiry = time.Time{}
	for _, f := range s.busy {
		due := f.expires()
		if due.IsZero() || f.isSettled() {
			continue
		}
		if !now.Before(due) {
			f.endContext(ErrTimeout)
			if f.nowLate() {
				s.stuck++
			}
			due = due.Add(timeoutGrace)
		}
		switch c := f.shared(); {
		case now.Before(due):
			s.expiry = earlier(s.expiry, due)
		case c != nil:
			c.each(func(f *flight) { *overdue = append(*overdue, f) })
		default:
			*overdue = append(*overdue, f)
		}
	}
	return s.expiry
}

// drop removes the waiting flights for which keep returns false, and returns them.
func (s *slots) drop(keep func(*flight) bool) (dropped []*flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range s.waiting.len() {
		f := s.waiting.pop()
		if c := f.shared(); c != nil {
			f, dropped = c.drop(keep, dropped)
		} else if !keep(f) {
			f, dropped = nil, append(dropped, f)
		}
		if f != nil {
			s.waiting.push(f)
		}
	}
	return dropped
}

// stale removes and returns the flights that have waited too long, with all flights of their calls. until is how long the oldest of the others may wait; zero: no other waits.
func (s *slots) stale(now time.Time) (stale []*flight, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.waiting.len() > 0 {
		if until = s.waiting.head().waitsUntil(); until.After(now) {
			return stale, until
		}
		f := s.waiting.pop()
		if c := f.shared(); c != nil {
			_, stale = c.drop(func(*flight) bool { return false }, stale)
		} else {
			stale = append(stale, f)
		}
		s.pace.stalled()
	}
	return stale, time.Time{}
}

// eachUncollected calls visit, with mu held, for every flight that runs or waits, or has ended and is not collected.
func (s *slots) eachUncollected(visit func(*flight)) {
	s.each(visit)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.ended {
		visit(f)
	}
}

// each calls visit for every flight that runs or waits, with mu held.
func (s *slots) each(visit func(*flight)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, leads := range [][]*flight{s.busy, s.waiting.all()} {
		for _, f := range leads {
			if c := f.shared(); c != nil {
				c.each(visit)
			} else {
				visit(f)
			}
		}
	}
}
