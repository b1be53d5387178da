package service

import (
	"context"
	"errors"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/collection"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// A Job is a job as it is stored. The ID of its view is empty: the handler sets it.
type Job struct {
	Revision int64
	resource.JobView
}

// GetJob returns a job.
func (s *Service) GetJob(ctx context.Context, n resource.JobName) (*Job, error) {
	schedule, _, _, err := s.find(ctx, n)
	if err != nil {
		return nil, err
	}
	return s.view(ctx, schedule)
}

// find reads the schedule of a job, its Meta, and its collection. A job of an earlier collection of that name is not found.
func (s *Service) find(ctx context.Context, n resource.JobName) (*chime.Schedule, meta, *collection.Record, error) {
	schedule, err := s.schedules.Get(ctx, n.Schedule())
	if err != nil && !errors.Is(err, chime.ErrNotFound) {
		return nil, meta{}, nil, err
	}
	c, missing := s.collection(ctx, n.Collection)
	if missing != nil {
		return nil, meta{}, nil, missing
	}
	if err == nil {
		if m, ours := metaOf(schedule); ours && m.Collection == c.Creation {
			return schedule, m, c, nil
		}
	}
	return nil, meta{}, nil, noJob(n)
}

func noJob(n resource.JobName) error {
	return problem.New(problem.NotFound, "there is no job %s in collection %s", n.Job, n.Collection)
}

// view is a job in an answer.
func (s *Service) view(ctx context.Context, schedule *chime.Schedule) (*Job, error) {
	m, _ := metaOf(schedule)
	d, err := readDefinition(schedule, m)
	if err != nil {
		return nil, err
	}
	d.job.Now = m.StartTime == startMade
	c := schedule.Counters
	j := &Job{Revision: schedule.Revision, JobView: resource.JobView{
		Name: jobOf(schedule.Name), State: stateOf(schedule), Held: holderOf(schedule), Group: schedule.Group, Job: &d.job,
		Executions: c.Started, Failures: c.Failed, Faults: c.Dead, Last: schedule.Last.Ended,
	}}
	if j.State == resource.Disabled {
		j.HeldUntil = schedule.Note.Until
	}
	if j.State == resource.Enabled {
		j.Next, err = s.next(ctx, schedule)
	}
	return j, err
}

// next is the next run of a schedule: the placed one, or, for a moment after it was taken, a computed one.
func (s *Service) next(ctx context.Context, schedule *chime.Schedule) (time.Time, error) {
	if !schedule.Next.IsZero() || schedule.State != chime.StateLive {
		return schedule.Next, nil
	}
	next, err := s.schedules.Upcoming(ctx, schedule.Name, 1)
	if errors.Is(err, chime.ErrNotFound) || err == nil && len(next) == 0 {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return next[0], nil
}

// stateOf is the state in an answer. A job is final when none of its runs is placed or in progress, including error actions.
func stateOf(s *chime.Schedule) resource.State {
	switch {
	case s.State == chime.StatePaused:
		return resource.Disabled
	case s.State != chime.StateCompleted || s.Last.Unfinished > 0 || !s.Next.IsZero():
		return resource.Enabled
	case s.Last.Outcome == chime.RunDead:
		return resource.Faulted
	}
	return resource.Completed
}

func final(state resource.State) bool {
	return state == resource.Completed || state == resource.Faulted
}

// holderOf is the reason why a job is disabled.
func holderOf(s *chime.Schedule) string {
	switch {
	case s.State != chime.StatePaused:
		return ""
	case s.Note.By == byClient:
		return "client"
	case s.Note.By == byCollection:
		return "collection"
	case s.Note.By == byDeaths:
		return "failures"
	}
	return "operator"
}
