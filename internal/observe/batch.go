package observe

import "slices"

// together is the maximum number of jobs in one report. It is small, so that the jobs remain in the processor's nearest cache from their creation
// until they are reported.
const together = 64

// A Batch is jobs that are reported together. Its memory is reused. The zero value is empty, and has no memory.
type Batch struct {
	jobs []Job // the rest of the slice's memory is zero
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

// Full reports whether the batch has the maximum number of jobs for one report.
func (b *Batch) Full() bool { return len(b.jobs) >= together }

// Report passes the jobs to the observer, if there are any, and removes them: no observer may keep them.
func (b *Batch) Report(observe func([]Job)) {
	if len(b.jobs) > 0 {
		observe(b.jobs)
		clear(b.jobs)
		b.jobs = b.jobs[:0]
	}
}
