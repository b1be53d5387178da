package work

import (
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// lanes are the partitions of all queues that a worker serves.
type lanes struct {
	all       []*lane
	strict    bool // the weights of the queues are an order
	locatedAt time.Time

	// Memory that is reused each time the lanes are called.
	hungry, due, again []*lane
	stakes             []*stake
	takes              []int
}

// add adds the partitions of a queue with a weight.
func (ls *lanes) add(queue string, partitions, weight int) {
	s := &share{weight: weight}
	for i := range partitions {
		ls.all = append(ls.all, newLane(protocol.Partition{Queue: queue, Index: i}, s))
	}
}

// locateEvery is how often the lanes check on which node they are. A failover moves them.
const locateEvery = time.Second

// locate finds for each lane the caller of the node on which it is now.
func (ls *lanes) locate(callers *callers, now time.Time) {
	if !ls.locatedAt.IsZero() && now.Sub(ls.locatedAt) < locateEvery {
		return
	}
	ls.locatedAt = now
	needed := make(map[*caller]bool)
	for _, l := range ls.all {
		l.liveOn(callers.of(l.partition()))
		needed[l.via()] = true
	}
	callers.keep(needed)
}

// every returns all lanes.
func (ls *lanes) every() []*lane { return ls.all }

// markHungry notes that every lane may have jobs.
func (ls *lanes) markHungry() {
	for _, l := range ls.all {
		l.markHungry()
	}
}

// wake notes that a partition may have jobs now; the zero Partition, or one that no lane has: that every partition may. If a call to a lane's node is under
// way, its answer may be older.
func (ls *lanes) wake(p protocol.Partition) {
	all := true
	for _, l := range ls.all {
		all = all && l.partition() != p
	}
	for _, l := range ls.all {
		if all || l.partition() == p {
			l.wake()
		}
	}
}

// comeBack notes that a slot is free: queues that were empty while no slot was free are polled again.
func (ls *lanes) comeBack() {
	for _, l := range ls.all {
		l.comeBack()
	}
}

// markHungryOn notes that the lanes of a caller's node that were woken during its request may have jobs.
func (ls *lanes) markHungryOn(c *caller) {
	for _, l := range ls.all {
		if l.via() == c {
			l.wakeAgain()
		}
	}
}

// retry ends the waits after failures.
func (ls *lanes) retry() {
	for _, l := range ls.all {
		l.retry()
	}
}

// alarmDue wakes the lanes whose alarm is due, and reports whether there were any.
func (ls *lanes) alarmDue(now time.Time) (woken bool) {
	for _, l := range ls.all {
		woken = l.alarmDue(now) || woken
	}
	return woken
}

// listed reports whether the store may list the worker as sleeping, in lanes where that can be changed now.
func (ls *lanes) listed(now time.Time) bool {
	for _, l := range ls.all {
		if l.isListed() && l.open(now) {
			return true
		}
	}
	return false
}

// reserved returns how many slots are kept free for the answers under way, and how many of their jobs are taken ahead.
func (ls *lanes) reserved(now time.Time) (jobs, ahead int) {
	for _, l := range ls.all {
		j, a := l.reserved(now)
		jobs += j
		ahead += a
	}
	return jobs, ahead
}

// onlyNow reports whether a lane may have jobs from which nothing is taken ahead.
func (ls *lanes) onlyNow(now time.Time) bool {
	for _, l := range ls.all {
		if l.onlyNow() && l.mayCall(now) && (!l.isAsleep() || l.isFull() && l.outcomes() > 0) {
			return true
		}
	}
	return false
}

// choose returns three groups of lanes: those that may have jobs; those that have none and have something urgent to send; those whose last call
// is sent again.
func (ls *lanes) choose(draining bool, now time.Time) (hungry, due, again []*lane) {
	hungry, due, again = ls.hungry[:0], ls.due[:0], ls.again[:0]
	for _, l := range ls.all {
		switch {
		case !l.open(now):
		case l.unanswered() != nil:
			again = append(again, l)
		case l.hungry(now):
			l.part().called = l.urgent(now, draining)
			hungry = append(hungry, l)
		case l.urgent(now, draining):
			due = append(due, l)
		}
	}
	ls.hungry, ls.due, ls.again = hungry, due, again
	return hungry, due, again
}

// oweSuspect reports whether the outcome of a suspect may not have reached the store, other than by the next call of this lane.
func (ls *lanes) oweSuspect(but *lane) bool {
	for _, l := range ls.all {
		if owed := l.owesSuspect(); owed == suspectSent || owed == suspectKept && l != but {
			return true
		}
	}
	return false
}

// suspect returns the lane that is now called for a suspect. No other lane is called for jobs meanwhile, so that nothing begins together with
// the suspect. A job whose holders have vanished twice is a suspect. A worker gets one suspect at a time, over all partitions, and gets ordinary
// jobs in every other turn. Nil: no suspects are known to wait, or the worker may not get one now. wait: it may get one when the jobs that are
// requested of other nodes have come, and those that have come are admitted, which the caller wants with first. No more are requested until then, or
// else some node would always be about to answer.
func (ls *lanes) suspect(hungry []*lane, turn, least int, first bool, now time.Time) (l *lane, wait bool) {
	for _, l := range ls.all {
		if sent := l.unanswered(); sent != nil && sent.Suspect {
			return nil, false
		}
	}
	l = withSuspects(hungry, turn, least)
	asked, _ := ls.reserved(now)
	switch {
	case l == nil:
		return nil, ls.suspectsComing(least, now)
	case asked > 0 || first:
		return nil, true
	case ls.oweSuspect(l):
		return nil, false
	}
	return l, false
}

// suspectsWait reports whether suspects wait in a lane that is awake.
func (ls *lanes) suspectsWait() bool {
	for _, l := range ls.all {
		if l.suspectsWait() && !l.isAsleep() && !l.isAway() {
			return true
		}
	}
	return false
}

// only returns the lanes that are called if one of them alone may be asked for jobs. The others keep what they have to send.
func (ls *lanes) only(one *lane, hungry []*lane) []*lane {
	ls.hungry = append(hungry[:0], one)
	return ls.hungry
}

// suspectsComing reports whether suspects wait in a lane that cannot be called now, because its node answers soon.
func (ls *lanes) suspectsComing(least int, now time.Time) bool {
	for _, l := range ls.all {
		if l.suspectsWait() && l.weight() >= least && !l.isAsleep() && !l.isAway() && l.via().reserves(now) {
			return true
		}
	}
	return false
}

// askedForSuspect reports whether a suspect may be in the answer that a node gives soon.
func (ls *lanes) askedForSuspect(now time.Time) bool {
	for _, l := range ls.all {
		if jobs, _ := l.reserved(now); jobs > 0 && l.unanswered().Suspect {
			return true
		}
	}
	return false
}

// withSuspects returns the one of these lanes whose turn it is to be called for a suspect; nil: no suspects wait there. In a strict order the queues
// before its queue come first: least is the least weight.
func withSuspects(among []*lane, turn, least int) *lane {
	waits := func(l *lane) bool { return l.suspectsWait() && l.weight() >= least }
	n := 0
	for _, l := range among {
		if waits(l) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	for at, i := turn%n, 0; ; i++ {
		if waits(among[i]) {
			if at == 0 {
				return among[i]
			}
			at--
		}
	}
}

// least returns the smallest weight of a queue from which jobs may be taken now: if the order is strict, the largest weight of those that may
// have jobs, or whose jobs are on their way; else 0.
func (ls *lanes) least(now time.Time) (weight int) {
	if !ls.strict {
		return 0
	}
	for _, l := range ls.all {
		if jobs, _ := l.reserved(now); jobs > 0 || l.hungry(now) {
			weight = max(weight, l.weight())
		}
	}
	return weight
}

// divide divides room among lanes by the weights of their queues, with at least a grain for each lane. With only it divides among the lanes that
// are called anyway. Lanes of a queue with less than the least weight get nothing. It returns the lanes that are called, and how many jobs each
// requests.
func (ls *lanes) divide(room, grain int, only bool, least int, among []*lane) (called []*lane, takes []int) {
	ls.takes = append(ls.takes[:0], make([]int, len(among))...)
	if room > 0 {
		ls.stakes = ls.stakes[:0]
		for _, l := range among {
			if l.weight() >= least {
				ls.stakes = append(ls.stakes, l.part())
			}
		}
		divide(room, grain, only, ls.stakes, ls.takes[:len(ls.stakes)])
		at := len(ls.stakes)
		for i := len(among) - 1; at <= i; i-- { // some lanes have no stake
			n := 0
			if among[i].weight() >= least {
				at--
				n = ls.takes[at]
			}
			ls.takes[i] = n
		}
	}
	called, takes = among[:0], ls.takes[:0]
	for i, l := range among {
		if take := ls.takes[i]; take > 0 || l.part().called {
			called, takes = append(called, l), append(takes, take)
		}
	}
	return called, takes
}

// pollDue reports whether a sleeping lane has to poll, and notes that at its caller.
func (ls *lanes) pollDue(now time.Time) (due bool) {
	for _, l := range ls.all {
		if !l.via().busy() && l.pollDue(now) {
			l.via().wantPoll()
			due = true
		}
	}
	return due
}

// earliest returns the first local instant at which a lane's store clock shows the given one.
func (ls *lanes) earliest(store time.Time) (local time.Time) {
	for _, l := range ls.all {
		local = earlier(local, l.until(store))
	}
	return local
}

// of returns the lane that has this session; nil: no lane has it any more.
func (ls *lanes) of(s *session) *lane {
	for _, l := range ls.all {
		if l.holder() == s {
			return l
		}
	}
	return nil
}

// nextAt returns when the first of the lanes that can be called needs something; zero: no lane does.
func (ls *lanes) nextAt(room bool, ttl time.Duration, now time.Time) (until time.Time) {
	least := ls.least(now)
	for _, l := range ls.all {
		if !l.via().busy() {
			until = earlier(until, l.nextAt(room && l.weight() >= least, ttl, now))
		}
	}
	return until
}

// watchAt returns when the first lane that is awake polls for lapsed sessions; zero: no lane does.
func (ls *lanes) watchAt() (until time.Time) {
	for _, l := range ls.all {
		if !l.via().busy() {
			until = earlier(until, l.watchAt())
		}
	}
	return until
}

// settled reports whether no lane has an outcome or a placement to send.
func (ls *lanes) settled() bool {
	for _, l := range ls.all {
		if !l.settled() {
			return false
		}
	}
	return true
}

// unsettled returns the number of outcomes that the store has not confirmed.
func (ls *lanes) unsettled() (n int) {
	for _, l := range ls.all {
		n += l.unsettled()
	}
	return n
}
