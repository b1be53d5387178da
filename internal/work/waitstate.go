package work

import (
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
)

const (
	lapsesEvery  = time.Second     // a busy worker asks for lapsed sessions at most this often
	watchEvery   = 8 * time.Second // and at least this often, even if it has no free slot
	lookEvery    = time.Second     // a busy worker looks for parked jobs at most this often
	pollTogether = 2 * time.Second // polls that are due within this time go together
	maxServe     = 100             // lists of parked jobs that a call serves
	maxEmpty     = 3               // empty answers in a row, after which a lane that claims to have jobs is asked less often
)

// A waitState is how long a partition need not be asked for anything.
type waitState struct {
	asleep   bool                // the last answer left nothing to take and no wake-up has come since
	away     bool                // it was empty when this worker left its sleeping workers, because no slot was free, and none was since
	listed   bool                // the store may have this worker among the sleeping workers; false: it certainly has not
	since    time.Time           // when it was registered there, by the store's clock; zero: not known
	askAt    time.Time           // a lane that is awake is not asked before, because the last answers were empty
	empty    int                 // empty answers in a row
	limit    protocol.LimitState // of the queue, as of the last answer
	next     time.Time           // alarm: when the next delayed job is due; zero: there is none, or other workers keep the alarm
	lapse    time.Time           // when a session lapses: a poll is due then; zero: no session does
	lapsesAt time.Time           // when lapses were reported last
	pollAt   time.Time           // the safety poll
	passes   bool                // a wake-up that this worker cannot use is to be passed on

	found    []string  // what is parked under names that this worker handles
	parked   []string  // of these, what it asks for
	seen     int64     // the mark of what was parked when that was looked up
	lookedAt time.Time // zero: the next call is to look
}

func (w *waitState) isAsleep() bool { return w.asleep }

func (w *waitState) isListed() bool { return w.listed }

// hungry reports whether there may be jobs to take: the lane is awake and may be asked.
func (w *waitState) hungry(now time.Time) bool { return !w.asleep && !w.away && !now.Before(w.askAt) }

// isFull reports whether as many jobs run as the queue's limit lets.
func (w *waitState) isFull() bool { return w.limit == protocol.LimitFull }

// isLimited reports whether the queue has a limit.
func (w *waitState) isLimited() bool { return w.limit != protocol.Unlimited }

// nearLimit reports whether the queue has a limit that is not far from being reached: then nothing is taken ahead.
func (w *waitState) nearLimit() bool { return w.isLimited() && w.limit != protocol.LimitFar }

// noteLimit notes how the queue's limit stands.
func (w *waitState) noteLimit(s protocol.LimitState) { w.limit = s }

// markHungry notes that there may be jobs to take after all.
func (w *waitState) markHungry() {
	w.asleep, w.away = false, false
	w.askAt, w.empty = time.Time{}, 0
	w.lookedAt = time.Time{}
}

// stayAwake ends the sleep without a sign of a job.
func (w *waitState) stayAwake() { w.asleep = false }

// stayAway ends the sleep because no slot is free. Until one is nothing is taken ahead either: the worker would go to sleep and leave in turn, a
// thousand times a second for as long as its handlers run.
func (w *waitState) stayAway() { w.asleep, w.away = false, true }

// isAway reports whether it has left so.
func (w *waitState) isAway() bool { return w.away }

// comeBack notes that a slot is free.
func (w *waitState) comeBack() { w.away = false }

// passOn notes that a wake-up is to be passed on by a LeaveCall; passesOn reports whether it is.
func (w *waitState) passOn()        { w.passes = true }
func (w *waitState) passesOn() bool { return w.passes }

// left notes that the store has removed this worker from its sleeping workers.
func (w *waitState) left() { w.listed, w.passes = false, false }

// alarmDue wakes a sleeping lane whose alarm is due, and reports whether it did.
func (w *waitState) alarmDue(now time.Time) bool {
	if !w.asleep || w.next.IsZero() || now.Before(w.next) {
		return false
	}
	w.next = time.Time{}
	w.asleep = false
	return true
}

// wantsLapses reports whether the next call is to report lapsed sessions.
func (w *waitState) wantsLapses(now time.Time) bool {
	return now.Sub(w.lapsesAt) >= lapsesEvery || !w.lapse.IsZero() && !now.Before(w.lapse)
}

// pollDue reports whether the lane is to poll: a sleeping one if the safety poll is due or a session lapses; another one, which makes
// no call that reports lapsed sessions because no slot is free, if it is to watch.
func (w *waitState) pollDue(now time.Time) bool {
	if !w.asleep {
		return !now.Before(w.watchAt())
	}
	return !now.Before(w.pollAt) || !w.lapse.IsZero() && !now.Before(w.lapse)
}

// watchAt is when a lane that is awake is to poll for lapsed sessions. So a worker whose slots are all taken sees that another one has
// vanished as soon as a sleeping one does. Zero: it sleeps.
func (w *waitState) watchAt() time.Time {
	if w.asleep {
		return time.Time{}
	}
	return later(earlier(w.lapse, w.lapsesAt.Add(watchEvery)), w.lapsesAt.Add(lapsesEvery))
}

// beginWatch notes that a lane that is awake polls for lapsed sessions.
func (w *waitState) beginWatch(now time.Time) { w.lapse, w.lapsesAt = time.Time{}, now }

// watched notes the answer: when the next session lapses.
func (w *waitState) watched(h *protocol.WaitHint, clock *storeClock, now time.Time) {
	if !h.Lapse.IsZero() {
		if w.lapse = clock.until(h.Lapse); !w.lapse.After(now) {
			w.lapse = time.Time{}
		}
	}
}

// pollSoon reports whether the lane polls along with a lane whose poll is due.
func (w *waitState) pollSoon(now time.Time) bool {
	return w.pollDue(now) || w.asleep && !now.Before(w.pollAt.Add(-pollTogether))
}

// beginPoll returns since when the worker is registered as asleep.
func (w *waitState) beginPoll() (since time.Time) {
	w.lapse = time.Time{}
	w.listed = true
	return w.since
}

// pollFailed notes that a poll has failed, and when it is repeated.
func (w *waitState) pollFailed(again time.Time) { w.pollAt = again }

// polled notes since when the worker is registered as asleep.
func (w *waitState) polled(a *protocol.PollAnswer) { w.since = a.Since }

// wakeIfMore wakes the lane if a poll has found something to take.
func (w *waitState) wakeIfMore(a *protocol.PollAnswer) {
	if a.More || w.mayServe(&a.WaitHint) {
		w.asleep = false
	}
}

// mayServe reports whether there are parked jobs that may be taken.
func (w *waitState) mayServe(h *protocol.WaitHint) bool {
	return len(w.parked) > 0 && !h.Paused && !h.Limit.Reached()
}

// worked notes the answer to a call: whether the worker sleeps now, and when it asks again.
func (w *waitState) worked(call *protocol.WorkCall, a *protocol.WorkAnswer, now time.Time) {
	left := a.More || w.mayServe(&a.WaitHint)
	asked := call.Take
	if w.isLimited() {
		asked -= call.Ahead
	}
	w.listed = call.Sleep && !left && len(a.Taken) < asked
	if w.asleep = w.listed; w.asleep {
		w.since = a.Now
	}
	switch {
	case asked == 0:
	case w.asleep || len(a.Taken) > 0 || len(a.Owed) > 0:
		w.empty = 0
	default:
		// The answer says that more is there, yet none of it came.
		if w.empty++; w.empty > maxEmpty {
			w.askAt = now.Add(retry.Delay(w.empty - maxEmpty))
		}
	}
}

// hint notes what an answer says about waiting. lapses says that the answer reports on sessions.
func (w *waitState) hint(h *protocol.WaitHint, lapses bool, clock *storeClock, ttl time.Duration, now time.Time) {
	w.next = time.Time{}
	w.limit = h.Limit
	if lapses {
		w.lapse, w.lapsesAt = time.Time{}, now
	}
	if h.Next > 0 {
		w.next = now.Add(h.Next)
		if h.Second {
			w.next = w.next.Add(protocol.SecondAlarm)
		}
	}
	if !h.Lapse.IsZero() {
		if w.lapse = clock.until(h.Lapse); !w.lapse.After(now) {
			w.lapse = time.Time{} // it is among the lapsed ones
		}
	}
	w.pollAt = now.Add(min(safetyPoll(), ttl))
}

// lookParked is the look-up of parked jobs that a call carries; at most one a second, but one for each time the lane wakes.
func (w *waitState) lookParked(handled []string, now time.Time) protocol.ParkedLook {
	if !w.lookedAt.IsZero() && !now.IsZero() && now.Sub(w.lookedAt) < lookEvery {
		return protocol.ParkedLook{}
	}
	return protocol.ParkedLook{Handled: handled, Seen: w.seen}
}

// findParked notes what is parked: all that was looked up, or what is left of what was served. serves reports whether this worker asks
// for an entry.
func (w *waitState) findParked(h *protocol.WaitHint, served []string, serves func(entry string) bool, now time.Time) {
	switch {
	case h.Looked:
		w.found, w.seen, w.lookedAt = h.Parked, h.ParkedMark, now
	case h.ParkedMark == 0:
		w.found = nil
	case len(served) > 0:
		left := w.found[:0:0]
		for _, entry := range w.found {
			if !slices.Contains(served, entry) || slices.Contains(h.Parked, entry) {
				left = append(left, entry)
			}
		}
		w.found = left
	}
	w.parked = w.parked[:0:0]
	for _, entry := range w.found {
		if serves(entry) {
			w.parked = append(w.parked, entry)
		}
	}
}

// serve is what the next call asks for of the parked jobs.
func (w *waitState) serve() []string { return w.parked[:min(len(w.parked), maxServe)] }

// nextAt is when the lane needs a call or a poll; zero: not before something happens. room says that there is a free slot.
func (w *waitState) nextAt(room bool) time.Time {
	switch {
	case w.asleep:
		return earlier(earlier(w.next, w.lapse), w.pollAt)
	case room && !w.away:
		return w.askAt
	}
	return time.Time{}
}
