package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/collection"
	"github.com/chimejobs/chime/httpapi/internal/problem"
)

// maxSteps is the maximum number of steps of align. A schedule needs at most two, unless others write it meanwhile.
const maxSteps = 20

// An aligned is a schedule in its target state.
type aligned struct {
	schedule   *chime.Schedule    // nil: it is gone
	collection *collection.Record // the collection that decided, read after the schedule; nil: it is gone
}

// align takes one of our schedules, which the caller has just read or written, to its target state. named means that the collection has to contain its
// name too; if there is no room for the name, the error is [collection.ErrQuota].
func (s *Service) align(ctx context.Context, schedule *chime.Schedule, named bool) (aligned, error) {
	name := schedule.Name
	for range maxSteps {
		m, ours := metaOf(schedule)
		if !ours {
			return aligned{}, nil
		}
		collection, known, err := s.collectionOf(ctx, schedule, m, named)
		if err != nil {
			return aligned{schedule, collection}, err
		}
		next := nextStep(schedule, m, collection)
		if next == stay && known {
			return aligned{schedule, collection}, nil
		}
		if err := s.take(ctx, next, schedule, m); err != nil && !lostRace(err) {
			return aligned{schedule, collection}, fmt.Errorf("httpapi: align job %q with its collection: %w", name, err)
		}
		again, err := s.schedules.Get(ctx, name)
		if errors.Is(err, chime.ErrNotFound) {
			return aligned{nil, collection}, s.release(ctx, name, m)
		}
		if err != nil {
			return aligned{schedule, collection}, err
		}
		if _, ours := metaOf(again); !ours {
			return aligned{nil, collection}, s.release(ctx, name, m)
		}
		if now, _ := metaOf(again); now.Name != m.Name {
			if err := s.release(ctx, name, m); err != nil {
				return aligned{again, collection}, err
			}
		}
		schedule = again
	}
	return aligned{}, problem.New(problem.Busy, "other requests keep changing job %s: try again", name)
}

// collectionOf reads the collection of a schedule; nil: it is gone. known is false if the schedule's name was not in the collection and was added now: then
// the schedule may have been deleted meanwhile, and has to be read again.
func (s *Service) collectionOf(ctx context.Context, schedule *chime.Schedule, m meta, named bool) (c *collection.Record, known bool, err error) {
	name := jobOf(schedule.Name).Collection
	if !named {
		c, err = s.collections.Get(ctx, name)
		if errors.Is(err, chime.ErrNotFound) {
			return nil, true, nil
		}
		return c, true, err
	}
	r, err := s.collections.Reserve(ctx, name, string(m.Name))
	switch {
	case errors.Is(err, chime.ErrNotFound):
		return nil, true, nil
	case errors.Is(err, collection.ErrDeleting):
		return r.Collection, true, nil
	case errors.Is(err, collection.ErrQuota) && r.Collection.Creation != m.Collection:
		return r.Collection, true, nil
	case errors.Is(err, collection.ErrQuota):
		return r.Collection, false, err
	case err != nil:
		return nil, false, err
	case r.Collection.Creation != m.Collection: // a later collection, which does not contain names of an earlier one
		return r.Collection, true, s.collections.Release(ctx, r.Collection, string(m.Name))
	}
	return r.Collection, r.Known, nil
}

// take takes one step.
func (s *Service) take(ctx context.Context, next step, schedule *chime.Schedule, m meta) error {
	seen := chime.IfRevision(schedule.Revision)
	switch next {
	case remove:
		return s.schedules.Delete(ctx, schedule.Name, seen, chime.DeleteWaiting())
	case pauseByClient:
		return s.schedules.Pause(ctx, schedule.Name, seen, clientNote())
	case pauseByCollection:
		return s.schedules.Pause(ctx, schedule.Name, seen, collectionNote())
	case resume:
		return s.resume(ctx, schedule)
	}
	return nil
}

// resume lets a schedule continue with the first instant after now, unless its only run has not happened yet.
func (s *Service) resume(ctx context.Context, schedule *chime.Schedule) error {
	options := []chime.ChangeOption{chime.IfRevision(schedule.Revision)}
	if !waitsForItsOnlyRun(schedule) {
		options = append(options, chime.SkipGap())
	}
	return s.schedules.Resume(ctx, schedule.Name, options...)
}

// release removes the name of a schedule that is gone. Nobody puts a schedule with that name again.
func (s *Service) release(ctx context.Context, schedule string, m meta) error {
	of := &collection.Record{Name: jobOf(schedule).Collection, Creation: m.Collection}
	return s.collections.Release(ctx, of, string(m.Name))
}
