package service

import (
	"context"
	"errors"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// DeleteJob deletes a job with all of its waiting occurrences.
func (s *Service) DeleteJob(ctx context.Context, n resource.JobName, when Condition) (existed bool, err error) {
	for range maxTries {
		schedule, err := s.schedules.Get(ctx, n.Schedule())
		if err != nil && !errors.Is(err, chime.ErrNotFound) {
			return false, err
		}
		var m meta
		ours := false
		if err == nil {
			m, ours = metaOf(schedule)
		}
		if !ours {
			return false, when.check(0)
		}
		if err := when.check(schedule.Revision); err != nil {
			return false, err
		}
		if err = s.deleteSchedule(ctx, schedule, m); err == nil || !lostRace(err) {
			return err == nil, err
		}
	}
	return false, problem.New(problem.Busy, "other requests keep changing job %s: try again", n.Schedule())
}

// deleteSchedule deletes a schedule at the revision that was read, and then releases its name. If it was changed meanwhile the error is [chime.ErrConflict].
func (s *Service) deleteSchedule(ctx context.Context, schedule *chime.Schedule, m meta) error {
	if err := s.schedules.Delete(ctx, schedule.Name, chime.IfRevision(schedule.Revision), chime.DeleteWaiting()); err != nil {
		return err
	}
	return s.release(ctx, schedule.Name, m)
}

// takeBack deletes a schedule that was just created, also if it was changed meanwhile.
func (s *Service) takeBack(ctx context.Context, schedule *chime.Schedule) error {
	m, _ := metaOf(schedule)
	for range maxTries {
		err := s.deleteSchedule(ctx, schedule, m)
		if errors.Is(err, chime.ErrNotFound) {
			return nil
		}
		if !errors.Is(err, chime.ErrConflict) {
			return err
		}
		if schedule, err = s.schedules.Get(ctx, schedule.Name); errors.Is(err, chime.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if now, _ := metaOf(schedule); now.Name != m.Name {
			return nil
		}
	}
	return problem.New(problem.Busy, "other requests keep changing job %s: try again", schedule.Name)
}
