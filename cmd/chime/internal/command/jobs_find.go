package command

import (
	"context"
	"slices"
	"strings"

	"github.com/chimejobs/chime"
)

// idsAtOnce is how many IDs the store is asked for at once.
const idsAtOnce = 500

// findJobs finds jobs by [QUEUE/]ID. An ID alone is looked for in all queues. What there is not is returned as missing; an ID that several queues
// have is an error.
func (s *session) findJobs(ctx context.Context, refs []string) (jobs []*chime.JobInfo, missing []string, err error) {
	store, err := s.store()
	if err != nil {
		return nil, nil, err
	}
	queues, err := chime.NewQueues(store).List(ctx)
	if err != nil {
		return nil, nil, err
	}
	at := map[string][]*chime.JobInfo{} // by the name that was given
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
			return nil, nil, usage("job %q is on %d queues: say which of %s", ref, len(found), strings.Join(names, ", "))
		}
	}
	return jobs, missing, nil
}

// idsOn are the IDs to look for on a queue, with what they were given as. The part before a / is a queue if there is one of that name.
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
		return nil, exit(exitNotFound, "job %q: not found on any queue; a job that is done is kept only if it was enqueued so", ref)
	}
	return jobs[0], nil
}
