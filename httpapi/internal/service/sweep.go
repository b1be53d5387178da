package service

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/collection"
)

// A pace is called by a sweep after each page of schedules: it waits, so that a sweep does not slow down others. Its error ends the sweep.
type pace func() error

const sweptAtOnce = 100 // schedules in a page

// sweep repairs what crashes have left in a collection: schedules that are not in their target state, or whose name is not reserved, and names without a
// schedule. It also deletes jobs that ended long ago. If one schedule cannot be repaired, the sweep continues with the others: the next one is a day away.
func (s *Service) sweep(ctx context.Context, c *collection.Record, rest pace) error {
	seen := map[reservedName]bool{}
	walked := 0
	var failed error // the first error; more errors would repeat it
	for schedule, err := range s.schedules.List(ctx, chime.ScheduleFilter{Prefix: prefixOf(c.Name)}) {
		if schedule == nil {
			return cmp.Or(failed, err)
		}
		if walked++; walked%sweptAtOnce == 0 {
			if err := rest(); err != nil {
				return err
			}
		}
		m, ours := metaOf(schedule)
		seen[m.Name] = true
		if err != nil || !ours {
			continue
		}
		if err := s.repair(ctx, schedule); err != nil && failed == nil {
			failed = err
		}
	}
	return cmp.Or(failed, s.releaseStrays(ctx, c, seen))
}

// repair aligns a schedule, and deletes it if its job ended long ago.
func (s *Service) repair(ctx context.Context, schedule *chime.Schedule) error {
	result, err := s.align(ctx, schedule, true)
	if errors.Is(err, collection.ErrQuota) {
		// Its name was lost, and others have used its room. That is not a reason to lose the job too.
		s.log.WarnContext(ctx, "httpapi: the name of a job is missing in its collection, which is full", "event", "collection.overfull", "schedule", schedule.Name)
		result, err = s.align(ctx, schedule, false)
	}
	if err != nil || result.schedule == nil {
		return err
	}
	schedule = result.schedule
	ended := schedule.Created
	if schedule.Last.Ended.After(ended) {
		ended = schedule.Last.Ended
	}
	if !final(stateOf(schedule)) || time.Since(ended) < s.options.Retention {
		return nil
	}
	m, _ := metaOf(schedule)
	if err = s.deleteSchedule(ctx, schedule, m); lostRace(err) {
		return nil // it was changed, or deleted
	}
	return err
}

// releaseStrays releases names without a schedule, if no writer can still put one. seen has the names with a schedule.
func (s *Service) releaseStrays(ctx context.Context, c *collection.Record, seen map[reservedName]bool) error {
	for after := ""; ; {
		names, _, err := s.collections.Names(ctx, c.Name, collection.NameFilter{After: after, Limit: namesPage})
		if lostRace(err) {
			return nil // the collection is gone
		}
		if err != nil || len(names) == 0 {
			return err
		}
		after = names[len(names)-1]
		for _, name := range names {
			if seen[reservedName(name)] {
				continue
			}
			if err := s.releaseStray(ctx, c, reservedName(name)); err != nil {
				return err
			}
		}
	}
}

// releaseStray releases a name if it is old and has no schedule. If the schedule came meanwhile, it reserves the name again: the writer was slower than
// expected.
func (s *Service) releaseStray(ctx context.Context, c *collection.Record, stray reservedName) error {
	r, err := s.collections.Reserve(ctx, c.Name, string(stray)) // the name exists: the answer has the store's time
	if errors.Is(err, collection.ErrDeleting) || errors.Is(err, chime.ErrNotFound) || errors.Is(err, collection.ErrQuota) {
		return nil // it is gone, or will be deleted with its collection
	}
	if err != nil {
		return err
	}
	if r.Known && !stray.olderThan(strayAge, r.Now) {
		return nil
	}
	there, err := s.isThere(ctx, c, stray)
	if err != nil || there {
		return err
	}
	if err := s.collections.Release(ctx, r.Collection, string(stray)); err != nil { // of c, or of a later collection, which got the name from the call above
		return err
	}
	if there, err = s.isThere(ctx, c, stray); err != nil || !there {
		return err
	}
	_, err = s.collections.Reserve(ctx, c.Name, string(stray))
	return err
}

// isThere reports whether the schedule of a reserved name is stored.
func (s *Service) isThere(ctx context.Context, c *collection.Record, name reservedName) (bool, error) {
	schedule, err := s.schedules.Get(ctx, prefixOf(c.Name)+name.job())
	if errors.Is(err, chime.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	m, _ := metaOf(schedule)
	return m.Name == name, nil
}

const (
	roomInterval = time.Minute
	roomTime     = 2 * time.Second
)

// makeRoom releases the strays of a full collection, at most once a minute, and reports whether it did that now.
func (s *Service) makeRoom(ctx context.Context, c *collection.Record) (bool, error) {
	if !s.mayMakeRoom(c.Name, time.Now()) {
		return false, nil
	}
	within, stop := context.WithTimeout(ctx, roomTime)
	defer stop()
	seen := map[reservedName]bool{}
	var err error
	for schedule, failed := range s.schedules.List(within, chime.ScheduleFilter{Prefix: prefixOf(c.Name)}) {
		if schedule == nil {
			err = failed
			break
		}
		m, _ := metaOf(schedule)
		seen[m.Name] = true
	}
	if err == nil {
		err = s.releaseStrays(within, c, seen)
	}
	if within.Err() != nil && ctx.Err() == nil {
		err = nil // the released names are room
	}
	return true, err
}

// mayMakeRoom reports whether the last search for room in a collection by this process is long enough ago, and records the new search.
func (s *Service) mayMakeRoom(collection string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, at := range s.searched {
		if now.Sub(at) >= roomInterval {
			delete(s.searched, name)
		}
	}
	if _, lately := s.searched[collection]; lately {
		return false
	}
	s.searched[collection] = now
	return true
}
