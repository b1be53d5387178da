package work

import (
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
)

const (
	lapsesEvery  = time.Second     // a busy worker requests lapsed sessions at most this often
	watchEvery   = 8 * time.Second // and at least this often, even if it has no free slot
	lookUpEvery  = time.Second     // a busy worker looks up parked jobs at most this often
	pollTogether = 2 * time.Second // lanes whose polls are due within this time poll together
	maxServe     = 100             // number of lists of parked jobs that a call serves
	maxEmpty     = 3               // after this many consecutive empty answers, a lane that claims to have jobs is called less often
)

// A waitState is how long a partition needs no call.
type waitState struct {
	asleep   bool                // the last answer left nothing to take, and no wake-up has come since
	away     bool                // the lane was empty when this worker left its sleeping workers because no slot was free; no slot was free since
	listed   bool                // the store may have this worker among the sleeping workers; false: the store certainly does not
	since    time.Time           // when the worker was registered there, by the store's clock; zero: not known
	callAt   time.Time           // a lane that is awake is not called before this instant, because the last answers were empty
	empty    int                 // consecutive empty answers
	limit    protocol.LimitState // of the queue, from the last answer
	notAhead bool                // a job waits that is not taken ahead, by the last answer
	suspects bool                // suspects wait, by the last answer
	next     time.Time           // alarm: when the next delayed job is due; zero: there is no delayed job, or other workers keep the alarm
	lapse    time.Time           // when a session lapses: a poll is due then; zero: no session does
	lapsesAt time.Time           // when lapses were reported last
	pollAt   time.Time           // the safety poll
	passes   bool                // this worker has to leave even if it is not listed, because that passes a wake-up on that it cannot use

	found      []string  // lists of jobs that are parked under names that this worker handles
	parked     []string  // those of found that it requests
	seen       int64     // the mark of the parked jobs at the last look-up
	lookedUpAt time.Time // zero: the next call looks up parked jobs
}

func (w *waitState) isAsleep() bool { return w.asleep }

func (w *waitState) isListed() bool { return w.listed }

// hungry reports whether there may be jobs to take: the lane is awake and may be called.
func (w *waitState) hungry(now time.Time) bool { return !w.asleep && !w.away && !now.Before(w.callAt) }

// isFull reports whether the queue's limit is reached.
func (w *waitState) isFull() bool { return w.limit == protocol.LimitFull }

// limitReached reports whether no job may start now because of the queue's limit.
func (w *waitState) limitReached() bool { return w.limit.Reached() }

// isLimited reports whether the queue has a limit.
func (w *waitState) isLimited() bool { return w.limit != protocol.Unlimited }

// onlyNow reports whether nothing is taken ahead: the queue has a limit that is nearly reached, or jobs wait that may make their worker vanish.
func (w *waitState) onlyNow() bool {
	return w.isLimited() && w.limit != protocol.LimitFar || w.notAhead || w.suspects
}

// suspectsWait reports whether suspects wait.
func (w *waitState) suspectsWait() bool { return w.suspects }

// noteLimit notes the state of the queue's limit.
func (w *waitState) noteLimit(s protocol.LimitState) { w.limit = s }

// markHungry notes that there may be jobs to take after all.
func (w *waitState) markHungry() {
	w.asleep, w.away = false, false
	w.callAt, w.empty = time.Time{}, 0
	w.lookedUpAt = time.Time{}
}

// stayAwake ends the sleep without a sign of a job.
func (w *waitState) stayAwake() { w.asleep = false }

// stayAway ends the sleep because no slot is free. Until a slot is free nothing is taken ahead either. Otherwise the worker would alternate
// between sleep and leaving, a thousand times a second while its handlers run.
func (w *waitState) stayAway() { w.asleep, w.away = false, true }

// isAway reports whether stayAway has ended the sleep.
func (w *waitState) isAway() bool { return w.away }

// comeBack notes that a slot is free.
func (w *waitState) comeBack() { w.away = false }

// passOn notes that a LeaveCall has to pass on a wake-up; passesOn reports whether one has to. Every LeaveCall does so where a job may start, so a
// lane that a wake-up has made hungry, and that no slot was left for, does so when the worker leaves it.
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

// wantsLapses reports whether the next call should request lapsed sessions.
func (w *waitState) wantsLapses(now time.Time) bool {
	return now.Sub(w.lapsesAt) >= lapsesEvery || !w.lapse.IsZero() && !now.Before(w.lapse)
}

// pollDue reports whether the lane has to poll. A sleeping lane has to if the safety poll is due or a session lapses. An awake lane makes no call
// that requests lapsed sessions while no slot is free, so it polls when its watch is due.
func (w *waitState) pollDue(now time.Time) bool {
	if !w.asleep {
		return !now.Before(w.watchAt())
	}
	return !now.Before(w.pollAt) || !w.lapse.IsZero() && !now.Before(w.lapse)
}

// watchAt returns when a lane that is awake has to poll for lapsed sessions. So a worker whose slots are all taken finds a vanished worker as
// soon as a sleeping worker does. Zero: it sleeps.
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

// pollSoon reports whether the lane polls together with a lane whose poll is due.
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
	return len(w.parked) > 0 && !h.Paused && !h.Full && !h.Limit.Reached()
}

// worked notes the answer to a call: whether the worker sleeps now, and when it calls again.
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
	if call.Take > 0 {
		w.notAhead, w.suspects = a.NotAhead, a.Suspects
	}
	if w.suspects && w.asleep && !call.HoldsSuspect { // they are due soon; others may keep that alarm
		again := protocol.SuspectStep
		if slices.ContainsFunc(a.Taken, func(j protocol.TakenJob) bool { return j.Suspect() }) {
			again = suspectWatch + 2*time.Millisecond
		}
		w.next = earlier(w.next, now.Add(again))
	}
	switch {
	case asked == 0 && call.Take > 0 && len(a.Taken) == 0:
		w.stayAway() // no slot is free, and nothing is taken ahead: else it would call again at once, as long as its handlers run
	case asked == 0, a.NotAhead:
	case w.asleep || len(a.Taken) > 0 || len(a.Owed) > 0:
		w.empty = 0
	default:
		// The answer announces more jobs, but contains none.
		if w.empty++; w.empty > maxEmpty {
			w.callAt = now.Add(retry.Delay(w.empty - maxEmpty))
		}
	}
}

// hint notes what an answer contains about waiting. lapses means that the answer reports lapsed sessions.
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
			w.lapse = time.Time{} // the answer lists it as lapsed
		}
	}
	w.pollAt = now.Add(min(safetyPoll(), ttl))
}

// lookUpParked returns the look-up of parked jobs that a call carries. There is at most one a second, and one more each time the lane wakes.
func (w *waitState) lookUpParked(handled []string, now time.Time) protocol.ParkedLook {
	if !w.lookedUpAt.IsZero() && !now.IsZero() && now.Sub(w.lookedUpAt) < lookUpEvery {
		return protocol.ParkedLook{}
	}
	return protocol.ParkedLook{Handled: handled, Seen: w.seen}
}

// findParked notes which jobs are parked: everything that was looked up, or what is left of the served lists. serves reports whether this worker
// requests an entry.
func (w *waitState) findParked(h *protocol.WaitHint, served []string, serves func(entry string) bool, now time.Time) {
	switch {
	case h.Looked:
		w.found, w.seen, w.lookedUpAt = h.Parked, h.ParkedMark, now
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

// serve returns the parked jobs that the next call requests.
func (w *waitState) serve() []string { return w.parked[:min(len(w.parked), maxServe)] }

// nextAt returns when the lane needs a call or a poll; zero: not before an event. room means that there is a free slot.
func (w *waitState) nextAt(room bool) time.Time {
	switch {
	case w.asleep:
		return earlier(earlier(w.next, w.lapse), w.pollAt)
	case room && !w.away:
		return w.callAt
	}
	return time.Time{}
}
