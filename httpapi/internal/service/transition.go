package service

import (
	"context"
	"errors"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/collection"
)

// inRequest is the time that a request works on the change of a collection; Run does the rest.
const inRequest = 2 * time.Second

// carryOutForAWhile works on a transition for the time of a request, and leaves the rest to Run.
func (s *Service) carryOutForAWhile(ctx context.Context, c *collection.Record) (done bool, err error) {
	done, err = s.carryOut(ctx, c, time.Now().Add(inRequest))
	if !done {
		select {
		case s.unfinished <- struct{}{}:
		default:
		}
	}
	return done, err
}

// carryOut takes all schedules of a changed collection to their target state, and finishes its transition. It stops at an instant, unless that is zero. A
// later call begins at the front again, where nothing is left to do. Several processes may carry out the same transition.
func (s *Service) carryOut(ctx context.Context, c *collection.Record, until time.Time) (done bool, err error) {
	if c.Transition == 0 {
		return true, nil
	}
	began, err := s.deletionTime(ctx, c)
	if err != nil {
		return lostRace(err), gone(err)
	}
	if whole, err := s.alignAll(ctx, c, until); err != nil || !whole {
		return false, err
	}
	if c.State != collection.Deleted {
		return true, s.collections.Finish(ctx, c)
	}
	// The schedule of a name that was reserved maxUnderWay before the walk existed before it, and the walk deleted it. A younger name may get its schedule later.
	left, err := s.releaseLeft(ctx, c, began)
	if err != nil || left {
		return false, err
	}
	return true, s.collections.Delete(ctx, c)
}

// alignAll walks the schedules of a collection, and aligns those that are not in their target state. It returns false if it has not seen all.
func (s *Service) alignAll(ctx context.Context, c *collection.Record, until time.Time) (whole bool, err error) {
	for schedule, err := range s.schedules.List(ctx, chime.ScheduleFilter{Prefix: prefixOf(c.Name)}) {
		if schedule == nil {
			return false, err
		}
		if err != nil {
			s.log.WarnContext(ctx, "httpapi: a schedule cannot be read and remains unchanged", "event", "schedule.unreadable", "schedule", schedule.Name, "error", err)
			continue
		}
		if !until.IsZero() && time.Now().After(until) {
			return false, nil
		}
		m, ours := metaOf(schedule)
		if !ours || nextStep(schedule, m, c) == stay {
			continue
		}
		if _, err := s.align(ctx, schedule, false); err != nil {
			return false, err
		}
	}
	return true, nil
}

// releaseLeft releases the names of a deleted collection whose schedules are gone, or never came. It reports whether there are others.
func (s *Service) releaseLeft(ctx context.Context, c *collection.Record, before time.Time) (others bool, err error) {
	for after := ""; ; {
		names, _, err := s.collections.Names(ctx, c.Name, collection.NameFilter{After: after, Limit: namesPage})
		if lostRace(err) {
			return false, nil // it is gone
		}
		if err != nil || len(names) == 0 {
			return others, err
		}
		after = names[len(names)-1]
		var left []string
		for _, name := range names {
			if reservedName(name).olderThan(maxUnderWay, before) {
				left = append(left, name)
			} else {
				others = true
			}
		}
		if len(left) > 0 {
			if err := s.collections.Release(ctx, c, left...); err != nil {
				return true, err
			}
		}
	}
}

const namesPage = 1000

// deletionTime is the store's time if a collection is being deleted. Its error is [chime.ErrNotFound] if it is gone.
func (s *Service) deletionTime(ctx context.Context, c *collection.Record) (time.Time, error) {
	if c.State != collection.Deleted {
		return time.Time{}, nil
	}
	r, err := s.collections.Reserve(ctx, c.Name, probe)
	switch {
	case errors.Is(err, collection.ErrDeleting):
		return r.Now, nil
	case err == nil: // it was created again meanwhile
		return time.Time{}, errors.Join(chime.ErrNotFound, s.collections.Release(ctx, r.Collection, probe))
	case errors.Is(err, collection.ErrQuota):
		return time.Time{}, chime.ErrNotFound
	}
	return time.Time{}, err
}

// probe is a name that is reserved only to get an answer: a deleted collection refuses it.
const probe = "#"
