package chime

import (
	"bytes"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/work"
)

// handedJobs has memory for what handlers are given: a job, and beside it the rest of its attempt. A handler may keep it, so it is never used
// again. handedTogether are allocated at once: what keeps one keeps all of them, a few KiB. It belongs to one goroutine.
type handedJobs struct{ spare []handed }

type handed struct {
	attempt work.Attempt
	job     Job
}

const handedTogether = 10 // what 4 KiB have room for, a size in which the allocator has nothing to spare

// next is work.Config's Attempt.
func (h *handedJobs) next(near int) *work.Attempt {
	if near < 0 {
		return new(handed).seen()
	}
	if len(h.spare) == 0 {
		h.spare = make([]handed, min(1+near, handedTogether))
	}
	first := &h.spare[0]
	h.spare = h.spare[1:]
	return first.seen()
}

func (h *handed) seen() *work.Attempt {
	h.attempt.See(&h.job)
	return &h.attempt
}

// handedJob returns the job for a handler.
func handedJob(taken *work.Job) *Job {
	job := taken.Output.Seen().(*Job)
	*job = Job{
		ID: taken.ID, Name: taken.Name, Queue: taken.Queue, Schedule: taken.Schedule, Origin: taken.Origin, Planned: taken.Planned, offset: taken.Offset, Started: taken.Started,
		Attempt: taken.Attempt, MaxAttempts: taken.MaxAttempts, Crashes: taken.Crashes, Fence: taken.Fence, Timeout: taken.Timeout,
		LastError: taken.LastError, Header: taken.Header, Payload: taken.Payload, output: taken.Output,
		Worker: taken.Worker, Partition: taken.Partition,
	}
	if died := taken.Death; died != nil {
		job.Death = newJobInfo(died.Queue, &protocol.FoundJob{
			ID: died.ID, State: protocol.JobDead, Body: bytes.Clone(died.Body), At: died.Ended, Crashes: died.Crashes, // what the handler changes stays here
		})
	}
	return job
}
