package work

import "github.com/chimejobs/chime/internal/protocol"

// maxCancellations is how many of them are kept in memory. One that was dropped comes again with the next heartbeat.
const maxCancellations = 1000

// cancellations are the cancelled jobs that this worker does not have: the message has come before the answer with the job, or after the job's
// end. It belongs to the processor's goroutine.
type cancellations struct {
	jobs map[protocol.HeldJob]bool
}

// add notes a job.
func (c *cancellations) add(job protocol.HeldJob) {
	if c.jobs == nil || len(c.jobs) >= maxCancellations {
		c.jobs = make(map[protocol.HeldJob]bool)
	}
	c.jobs[job] = true
}

// take reports whether a job that has arrived was cancelled, and removes the note.
func (c *cancellations) take(job protocol.HeldJob) bool {
	if !c.jobs[job] {
		return false
	}
	delete(c.jobs, job)
	return true
}
