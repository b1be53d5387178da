package observe

import "slices"

// together is how many jobs are told of at once where there are many: so few that they stay in the processor's nearest cache from when
// they are noted until they were heard.
const together = 64

// A Batch is jobs that are told of together. Its memory is used again. The zero value is an empty one, and has no memory.
type Batch struct {
	jobs []Job // what lies behind them, in their memory, is zero
}

// Add adds a job, and returns it to be filled in.
func (b *Batch) Add() *Job {
	n := len(b.jobs)
	if n == cap(b.jobs) {
		b.jobs = slices.Grow(b.jobs, max(n, together))
	}
	b.jobs = b.jobs[:n+1]
	return &b.jobs[n]
}

// Full reports whether there are as many as are told of at once.
func (b *Batch) Full() bool { return len(b.jobs) >= together }

// Tell tells of the jobs, if there are any, and forgets them: no observer may keep them.
func (b *Batch) Tell(heard func([]Job)) {
	if len(b.jobs) > 0 {
		heard(b.jobs)
		clear(b.jobs)
		b.jobs = b.jobs[:0]
	}
}
