package change

import (
	"context"
	"fmt"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
)

// RequeueJob puts a job to the front of its queue.
func RequeueJob(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	answer := onJob(f)
	done, err := c.jobs.Requeue(ctx, chime.JobFilter{Queue: answer.Queue, IDs: []string{answer.Target}}, nil)
	answer.Count = int64(done.Changed)
	answer.Said = "The job runs as soon as a worker is free."
	if done.Changed == 0 {
		answer.Said = "The job was not moved: it is running or already waiting, it has ended, or it is the next occurrence of a schedule."
	}
	return answer, err
}

// CancelJob cancels a job in any state.
func CancelJob(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	answer := onJob(f)
	if !f.sure() {
		answer.Ask = &render.Ask{
			Title: "Cancel this job?", Text: fmt.Sprintf("Job %s on queue %s will not start. If it is running, its handler is cancelled, and the job is not tried again.", answer.Target, answer.Queue),
			Warning: "This cannot be undone.", Post: f.Frame.Action(answer.Back, "cancel"), Do: "Cancel the job", Destroys: true, Cancel: f.Frame.Href(answer.Back),
		}
		return answer, nil
	}
	result, err := c.jobs.Cancel(ctx, answer.Queue, answer.Target)
	switch result {
	case chime.CancelDone:
		answer.Said, answer.Count, answer.Back = "Job "+answer.Target+" is cancelled.", 1, "jobs"
	case chime.CancelAsked:
		answer.Said, answer.Count = "Its cancellation was requested. It ends when its handler returns.", 1
	case chime.CancelTooLate:
		answer.Said = "It had already ended."
	}
	return answer, err
}

// DeleteJob removes a job and all its data.
func DeleteJob(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	answer := onJob(f)
	if !f.sure() {
		answer.Ask = &render.Ask{
			Title: "Delete this job?", Text: fmt.Sprintf("Job %s is removed from queue %s.", answer.Target, answer.Queue),
			Warning: "This cannot be undone: the job is removed with all its data.", Post: f.Frame.Action(answer.Back, "delete"), Do: "Delete", Destroys: true, Cancel: f.Frame.Href(answer.Back),
		}
		return answer, nil
	}
	done, err := c.jobs.Delete(ctx, chime.JobFilter{Queue: answer.Queue, IDs: []string{answer.Target}}, nil)
	answer.Count = int64(done.Changed)
	answer.Said = "It was not deleted: a worker has it, it has ended, or it is the next occurrence of a schedule. Cancel it instead."
	if done.Changed > 0 {
		answer.Said, answer.Back = "Job "+answer.Target+" is deleted.", "jobs"
	}
	return answer, err
}

// onJob returns an answer about a job that redirects to its page.
func onJob(f *Form) Answer {
	queue, id := f.Values["queue"], f.Values["id"]
	return Answer{Queue: queue, Target: id, Back: render.Path("jobs", queue, id)}
}
