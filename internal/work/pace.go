package work

import (
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	aheadWorth = 4 * time.Millisecond  // this much work is taken ahead, by the handlers' average duration
	aheadCalls = 4                     // or as much work as the slots do during this many calls, if that is more
	aheadWait  = 20 * time.Millisecond // a job taken ahead that has not begun after this time is given back
	aheadStall = 32                    // after a job was given back, this many handlers end before another job is taken ahead
	grainWorth = aheadWorth / 40       // a call requests at least this much work of a queue if there is enough room: each call costs part of that
	maxGrain   = protocol.MaxTake / 2
	maxAhead   = 2 * protocol.MaxTake // the jobs of one call run while those of the next are fetched
	paceJobs   = 256                  // the pace is measured over this many ends
	paceGap    = time.Millisecond     // a gap between two ends counts as at most this: a longer one is a stall and does not show the pace
)

// A pace measures how fast handlers are and how long a call to the store takes. From both it computes how many jobs are worth taking
// ahead. The slots' mutex guards it.
type pace struct {
	average time.Duration // of a handler
	per     float64       // average number of jobs that a handler gets
	known   bool          // average was measured
	each    time.Duration // average time between two ends while flights wait: the cost of a job for this worker, with its handler; 0: not known
	lastEnd time.Time     // zero: nothing waited behind it
	call    time.Duration // average of the last round trips; 0: not known
	stall   int           // nothing is taken ahead until this many handlers have ended

	flow   time.Duration // sum of the gaps since the last computation of each
	flowed int           // and the number of jobs that ended at the ends of these gaps
}

// ended notes how long a handler ran for this number of jobs, and how fast jobs end while others wait. The second value includes everything that a
// job costs: a thousand handlers of a microsecond take more than a millisecond.
func (p *pace) ended(d time.Duration, jobs int, now time.Time) {
	d = min(d, time.Second)
	p.stall = max(0, p.stall-1)
	if !p.known {
		p.average, p.per, p.known = d, float64(jobs), true
	} else {
		p.average += (d - p.average) / 16
		p.per += (float64(jobs) - p.per) / 16
	}
	if !p.lastEnd.IsZero() {
		p.flow += max(0, min(now.Sub(p.lastEnd), paceGap))
		if p.flowed += jobs; p.flowed >= paceJobs {
			each := max(p.flow/time.Duration(p.flowed), 1)
			if p.each > 0 {
				each = (p.each + each) / 2
			}
			p.each, p.flow, p.flowed = each, 0, 0
		}
	}
	p.lastEnd = now
}

// paused notes that no flight waits behind the last end.
func (p *pace) paused() { p.lastEnd = time.Time{} }

// stalled notes that a job taken ahead has waited too long.
func (p *pace) stalled() { p.stall = aheadStall }

// roundTrip notes how long a call was under way.
func (p *pace) roundTrip(d time.Duration) {
	if p.call == 0 {
		p.call = d
	}
	p.call += (d - p.call) / 8
}

// target returns how many jobs are worth taking ahead for this number of slots: enough to keep the slots busy while the next jobs are fetched.
func (p *pace) target(slots int) int {
	if !p.known || p.stall > 0 {
		return 0
	}
	lead := p.lead()
	worth := int64(float64(int64(lead)*int64(slots)) * p.per / float64(max(p.average, 1)))
	if p.each > 0 {
		worth = min(worth, int64(lead/p.each))
	}
	return int(min(worth, maxAhead))
}

// lead is how long the jobs taken ahead should last.
func (p *pace) lead() time.Duration { return min(max(aheadWorth, aheadCalls*p.call), aheadWait/2) }

// endingSince returns since when a handler has run that ends within the lead, if it takes the average time.
func (p *pace) endingSince(now time.Time) time.Time { return now.Add(p.lead() - p.average) }

// jobsOf returns how many jobs this number of handlers get.
func (p *pace) jobsOf(handlers int) int { return int(float64(handlers) * p.per) }

// long reports whether handlers take so long that a job taken ahead may have to be given back: if all end at the same time, no slot becomes free
// within the time that the job may wait.
func (p *pace) long() bool { return p.average > aheadWait/2 }

// grain returns how many jobs a call requests of a queue at least, if there is enough room: as many as the worker runs in grainWorth, and at most
// maxGrain, so that each of many queues has its turn soon.
func (p *pace) grain() int {
	if p.each == 0 {
		return 1
	}
	return max(1, min(int(grainWorth/p.each), maxGrain))
}

// lowMark returns the number of waiting jobs at which the next ones are requested: half of the target, or fewer if they last for two calls, so
// that a call carries many. If the target is more than one call brings, the mark is higher.
func (p *pace) lowMark(target int) int {
	if p.each == 0 || p.call == 0 {
		return target / 2
	}
	return min(target/2, max(int(2*p.call/p.each), target-protocol.MaxTake, 1))
}
