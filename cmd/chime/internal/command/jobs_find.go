package command

import (
	"context"
	"slices"
	"strings"

	"github.com/chimejobs/chime"
)

// idsAtOnce is how many IDs one call to the store has.
const idsAtOnce = 500

// findJobs finds jobs by [QUEUE/]ID. It searches all queues for an ID alone. It returns the IDs that it has not found as missing; an ID that
// several queues have is an error.
func (s *session) findJobs(ctx context.Context, refs []string) (jobs []*chime.JobInfo, missing []string, err error) {
	store, err := s.store()
	if err != nil {
		return nil, nil, err
	}
	queues, err := chime.NewQueues(store).List(ctx)
	if err != nil {
		return nil, nil, err
	}
	at := map[string][]*chime.JobInfo{} // by the argument
	for _, queue := range queues {
		refOf, ids := idsOn(queue.Name, queues, refs)
		for some := range slices.Chunk(ids, idsAtOnce) {
			for job, err := range chime.NewJobs(store).List(ctx, chime.JobFilter{Queue: queue.Name, IDs: some}) {
				if job == nil {
					return nil, nil, err
				}
				for _, ref := range refOf[job.ID] {
					at[ref] = append(at[ref], job)
				}
			}
		}
	}
	for _, ref := range distinct(refs) {
		switch found := at[ref]; len(found) {
		case 0:
			missing = append(missing, ref)
		case 1:
			jobs = append(jobs, found[0])
		default:
			names := make([]string, len(found))
			for i, job := range found {
				names[i] = nameOf(job)
			}
			return nil, nil, usage("job %q is on %d queues; want one of %s", ref, len(found), strings.Join(names, ", "))
		}
	}
	return jobs, missing, nil
}

// idsOn returns the IDs to search for on a queue, each with its argument. The part before a / is a queue if a queue has this name.
func idsOn(queue string, queues []*chime.QueueInfo, refs []string) (refOf map[string][]string, ids []string) {
	refOf = map[string][]string{}
	for _, ref := range distinct(refs) {
		name, id, slash := strings.Cut(ref, "/")
		if !slash || !slices.ContainsFunc(queues, func(q *chime.QueueInfo) bool { return q.Name == name }) {
			name, id = queue, ref
		}
		if name == queue {
			refOf[id] = append(refOf[id], ref)
			ids = append(ids, id)
		}
	}
	return refOf, ids
}

func distinct(texts []string) []string {
	var all []string
	seen := map[string]bool{}
	for _, text := range texts {
		if !seen[text] {
			seen[text] = true
			all = append(all, text)
		}
	}
	return all
}

// findJob finds one job by [QUEUE/]ID.
func (s *session) findJob(ctx context.Context, ref string) (*chime.JobInfo, error) {
	jobs, missing, err := s.findJobs(ctx, []string{ref})
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		return nil, s.noJob(ctx, ref)
	}
	return jobs[0], nil
}

// noJob is the error that a job was not found. It names the queue that was searched, or says that all were.
func (s *session) noJob(ctx context.Context, ref string) error {
	const kept = "a finished job is kept only if it was enqueued with Keep"
	store, err := s.store()
	if err != nil {
		return err
	}
	queues, err := chime.NewQueues(store).List(ctx)
	if err != nil {
		return err
	}
	names := make([]string, len(queues))
	for i, queue := range queues {
		names[i] = queue.Name
	}
	name, id, slash := strings.Cut(ref, "/")
	switch {
	case slash && slices.Contains(names, name):
		return exit(exitNotFound, "job %q: not found on queue %q; %s", id, name, kept)
	case slash:
		return exit(exitNotFound, "job %q: not found on any queue, and there is no queue %q%s", ref, name, didYouMean(name, names))
	}
	others := ""
	if len(names) == 0 {
		if others = s.otherNamespaces(ctx); others != "" {
			others = "; " + others
		}
	}
	return exit(exitNotFound, "job %q: not found on any queue (QUEUE/ID names one); %s%s", ref, kept, others)
}
