package work

import (
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// lanes are the partitions of all queues that a worker serves.
type lanes struct {
	all []*lane

	// Memory that is used again each time the lanes are called.
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

// every returns all lanes.
func (ls *lanes) every() []*lane { return ls.all }

// markHungry notes that every lane may have jobs.
func (ls *lanes) markHungry() {
	for _, l := range ls.all {
		l.markHungry()
	}
}

// alarmDue wakes the lanes whose alarm is due, and reports whether there were any.
func (ls *lanes) alarmDue(now time.Time) (woken bool) {
	for _, l := range ls.all {
		woken = l.alarmDue(now) || woken
	}
	return woken
}

// listed reports whether the store may have the worker among its sleeping workers.
func (ls *lanes) listed() bool {
	for _, l := range ls.all {
		if l.isListed() {
			return true
		}
	}
	return false
}

// asked is how many jobs the unanswered calls ask for, and how many of them ahead.
func (ls *lanes) asked() (jobs, ahead int) {
	for _, l := range ls.all {
		if sent := l.unanswered(); sent != nil {
			jobs += sent.Take
			ahead += sent.Ahead
		}
	}
	return jobs, ahead
}

// choose returns the lanes that are asked for jobs, if that is worth a call; the lanes that have something urgent to send; and those
// whose last call is sent again.
func (ls *lanes) choose(worth, draining bool, now time.Time) (hungry, due, again []*lane) {
	hungry, due, again = ls.hungry[:0], ls.due[:0], ls.again[:0]
	for _, l := range ls.all {
		switch {
		case !l.mayCall(now):
		case l.unanswered() != nil:
			again = append(again, l)
		case worth && l.hungry(now):
			hungry = append(hungry, l)
		case l.urgent(now, draining):
			due = append(due, l)
		}
	}
	ls.hungry, ls.due, ls.again = hungry, due, again
	return hungry, due, again
}

// divide divides room among lanes by the weights of their queues.
func (ls *lanes) divide(room int, among []*lane) []int {
	ls.takes = append(ls.takes[:0], make([]int, len(among))...)
	if room > 0 {
		ls.stakes = ls.stakes[:0]
		for _, l := range among {
			ls.stakes = append(ls.stakes, l.part())
		}
		divide(room, ls.stakes, ls.takes)
	}
	return ls.takes
}

// pollDue reports whether a sleeping lane is to poll.
func (ls *lanes) pollDue(now time.Time) bool {
	for _, l := range ls.all {
		if l.pollDue(now) {
			return true
		}
	}
	return false
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

// nextAt is when the first lane needs something; zero: no lane does.
func (ls *lanes) nextAt(room bool, ttl time.Duration) (until time.Time) {
	for _, l := range ls.all {
		until = earlier(until, l.nextAt(room, ttl))
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

// unsettled is the number of outcomes that the store has not confirmed.
func (ls *lanes) unsettled() (n int) {
	for _, l := range ls.all {
		n += l.unsettled()
	}
	return n
}
