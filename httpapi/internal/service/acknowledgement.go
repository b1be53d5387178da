package service

import (
	"context"
	"errors"
	"strings"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// Acknowledge records that somebody knows that a job is failing.
func (s *Service) Acknowledge(ctx context.Context, n resource.JobName, by string, a resource.Acknowledgement) (*resource.AcknowledgementView, error) {
	schedule, _, _, err := s.find(ctx, n)
	if err != nil {
		return nil, err
	}
	err = s.known.AcknowledgeSchedule(ctx, schedule.Name, chime.Note{Text: a.Note, By: cutText(by, 100), Until: a.Until})
	switch {
	case errors.Is(err, chime.ErrNotFound):
		return nil, noJob(n)
	case errors.Is(err, chime.ErrConflict):
		return nil, problem.New(problem.JobNotFailing, "job %s of collection %s is not failing: its last attempt did not fail, or it is disabled or has ended", n.Job, n.Collection)
	case err != nil:
		return nil, err
	}
	all, err := s.Acknowledgements(ctx, n.Collection)
	for _, v := range all {
		if v.Job == n.Job {
			return v, nil
		}
	}
	if err == nil { // somebody has ended it meanwhile
		err = noAcknowledgement(n)
	}
	return nil, err
}

// Acknowledgements returns the acknowledgements of a collection's jobs.
func (s *Service) Acknowledgements(ctx context.Context, name string) (found []*resource.AcknowledgementView, err error) {
	c, err := s.collection(ctx, name)
	if err != nil {
		return nil, err
	}
	all, err := s.known.List(ctx)
	for _, a := range all {
		if job, ok := strings.CutPrefix(a.Schedule, prefixOf(c.Name)); ok {
			found = append(found, &resource.AcknowledgementView{Job: job, By: a.Note.By, Note: a.Note.Text, Since: a.Note.At, Until: a.Note.Until})
		}
	}
	return found, err
}

// EndAcknowledgement removes an acknowledgement, and reports whether there was one.
func (s *Service) EndAcknowledgement(ctx context.Context, n resource.JobName) (existed bool, err error) {
	if _, err := s.collection(ctx, n.Collection); err != nil {
		if p := (*problem.Problem)(nil); errors.As(err, &p) && p.Code == problem.NotFound {
			return false, nil
		}
		return false, err
	}
	err = s.known.End(ctx, chime.Acknowledgement{Schedule: n.Schedule()})
	if errors.Is(err, chime.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func noAcknowledgement(n resource.JobName) error {
	return problem.New(problem.NotFound, "job %s of collection %s is not acknowledged", n.Job, n.Collection)
}
