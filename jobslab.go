package chime

import (
	"bytes"
	"sync"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/work"
)

// jobSlabs has memory for the jobs that handlers are given. A handler may keep its job, so the memory is never used again; jobsTogether
// of them are allocated at once.
type jobSlabs struct{ spare sync.Pool }

type jobSlab struct{ jobs []Job }

const jobsTogether = 18 // what 4 KiB have room for, a size in which the allocator has nothing to spare

// of returns the job for a handler.
func (s *jobSlabs) of(taken *work.Job) *Job {
	slab, _ := s.spare.Get().(*jobSlab)
	if slab == nil {
		slab = new(jobSlab)
	}
	if len(slab.jobs) == 0 {
		slab.jobs = make([]Job, jobsTogether)
	}
	job := &slab.jobs[0]
	slab.jobs = slab.jobs[1:]
	s.spare.Put(slab)
	*job = Job{
		ID: taken.ID, Name: taken.Name, Queue: taken.Queue, Schedule: taken.Schedule, Planned: taken.Planned, offset: taken.Offset, Started: taken.Started,
		Attempt: taken.Attempt, MaxAttempts: taken.MaxAttempts, Crashes: taken.Crashes, Fence: taken.Fence, Timeout: taken.Timeout,
		LastError: taken.LastError, Header: taken.Header, Payload: taken.Payload, output: taken.Output,
	}
	if died := taken.Death; died != nil { // a copy, as the payload is: what a handler writes to it stays with its attempt
		job.Death = newJobInfo(died.Queue, &protocol.FoundJob{
			ID: died.ID, State: protocol.JobDead, Body: bytes.Clone(died.Body), At: died.Ended, Crashes: died.Crashes,
		})
	}
	taken.Output.See(job)
	return job
}
