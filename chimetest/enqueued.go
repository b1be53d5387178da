package chimetest

import (
	"slices"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
)

// A Job is a job with its arguments.
type Job[T any] struct {
	*chime.JobInfo
	Args T
}

// Enqueued returns the jobs of a name that wait to run, on all queues. The waiting jobs are first, queue by queue, in the order in which workers
// will take them. They are followed by the delayed jobs and then the retrying jobs, both in the order in which they are due. The next occurrence of a schedule
// is a delayed job. Enqueued does not return jobs that are running, dead or ended: use chime.NewJobs for these.
func (c *Chime) Enqueued(name string) []*chime.JobInfo {
	c.t.Helper()
	if err := protocol.CheckName("job name", name); err != nil {
		c.t.Fatalf("chimetest: Enqueued: %v", err)
	}
	c.check()
	c.rest()
	ctx, jobs := c.t.Context(), chime.NewJobs(c.Store())
	queues, err := chime.NewQueues(c.Store()).List(ctx)
	if err != nil {
		c.t.Fatalf("chimetest: Enqueued(%q): %v", name, err)
	}
	all := []*chime.JobInfo{}
	for _, state := range []chime.JobState{chime.JobWaiting, chime.JobDelayed, chime.JobRetrying} {
		begin := len(all)
		for _, queue := range queues {
			for job, err := range jobs.List(ctx, chime.JobFilter{Queue: queue.Name, State: state, Name: name}) {
				if err != nil {
					c.t.Fatalf("chimetest: Enqueued(%q): %v", name, err)
				}
				all = append(all, job)
			}
		}
		slices.SortStableFunc(all[begin:], func(a, b *chime.JobInfo) int { return a.Due.Compare(b.Due) })
	}
	return all
}

// Enqueued returns the waiting jobs of a kind, with their arguments; see [Chime.Enqueued].
func Enqueued[T any](c *Chime, kind chime.Kind[T]) []Job[T] {
	c.t.Helper()
	found := c.Enqueued(kind.Name())
	jobs := make([]Job[T], len(found))
	for i, info := range found {
		jobs[i].JobInfo = info
		if err := info.Decode(&jobs[i].Args); err != nil {
			c.t.Fatalf("chimetest: Enqueued: the arguments of %v: %v", info, err)
		}
	}
	return jobs
}
