package work

import "github.com/chimejobs/chime/internal/observe"

// unreported is what observers will receive of a lane's outcomes. It has one entry for each outcome in the lane's outbox and its unanswered call, in
// the same order, or no entries if no observer wants any. An outcome is reported after the store has answered the call that carried it, or when
// nothing can bring it to the store any more. The reason: if an observer ends the process, a job that was done must not run again.
type unreported struct {
	jobs []observe.Job // the rest of the slice's memory is zero
	to   []receiver    // of each job
}

// A receiver is the function of an observer that receives a job.
type receiver uint8

const (
	toNobody receiver = iota
	toEnded
	toReturned
	toParked
)

// reportedTogether is the maximum number of jobs in one report.
const reportedTogether = 64

// noteOutcome adds an outcome, and returns its job to be filled in.
func (u *unreported) noteOutcome(to receiver) *observe.Job {
	u.jobs, u.to = append(u.jobs, observe.Job{}), append(u.to, to)
	return &u.jobs[len(u.jobs)-1]
}

// report reports the first n outcomes, or all if there are fewer, and removes them.
func (u *unreported) report(n int, o *observe.Observer) {
	n = min(n, len(u.jobs))
	if n == 0 {
		return
	}
	for i := 0; i < n; {
		end := i + 1
		for end < min(n, i+reportedTogether) && u.to[end] == u.to[i] {
			end++
		}
		u.to[i].receive(o, u.jobs[i:end:end])
		i = end
	}
	left := copy(u.jobs, u.jobs[n:])
	copy(u.to, u.to[n:])
	if clear(u.jobs[left:]); left == 0 && cap(u.jobs) > maxSpareOutcomes { // it has grown in an outage
		u.jobs = nil
	}
	u.jobs, u.to = u.jobs[:left], u.to[:left]
}

// reportAll reports all outcomes.
func (u *unreported) reportAll(o *observe.Observer) { u.report(len(u.jobs), o) }

// receive calls the observer's function.
func (r receiver) receive(o *observe.Observer, jobs []observe.Job) {
	switch r {
	case toEnded:
		o.Ended(jobs)
	case toReturned:
		o.Returned(jobs)
	case toParked:
		o.Parked(jobs)
	}
}
