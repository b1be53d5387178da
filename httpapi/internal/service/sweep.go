package service

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/collection"
)

// A pace is what a sweep does after each page of schedules: it waits, so that a sweep costs others nothing. Its error ends the sweep.
type pace func() error

const sweptAtOnce = 100 // schedules are a page

// sweep mends what crashes have left in a collection: schedules that do not stand as they are to stand, or whose name is not reserved; names without a
// schedule; and it deletes jobs that have ended long ago. A schedule that cannot be mended holds up no other: the next sweep is a day away.
func (s *Service) sweep(ctx context.Context, c *collection.Record, rest pace) error {
	seen := map[reservedName]bool{}
	walked := 0
	var failed error // the first; the others of many would say the same
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
		if err := s.mend(ctx, schedule); err != nil && failed == nil {
			failed = err
		}
	}
	return cmp.Or(failed, s.releaseStrays(ctx, c, seen))
}

// mend aligns a schedule, and deletes one whose job has ended long ago.
func (s *Service) mend(ctx context.Context, schedule *chime.Schedule) error {
	stands, err := s.align(ctx, schedule, true)
	if errors.Is(err, collection.ErrQuota) {
		// Its name was lost, and others have taken its place. That is no reason to lose the job too.
		s.log.WarnContext(ctx, "httpapi: a job is in no list of its collection, which is full", "event", "collection.overfull", "schedule", schedule.Name)
		stands, err = s.align(ctx, schedule, false)
	}
	if err != nil || stands.schedule == nil {
		return err
	}
	schedule = stands.schedule
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

// releaseStrays releases names without a schedule that no writer can be about to put. Seen are names that have one.
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

// releaseStray releases a name if it is old and its schedule is not there, and takes it back if the schedule came meanwhile: its writer was slower than
// any should be.
func (s *Service) releaseStray(ctx context.Context, c *collection.Record, stray reservedName) error {
	r, err := s.collections.Reserve(ctx, c.Name, string(stray)) // it is there: the answer has the store's time
	if errors.Is(err, collection.ErrDeleting) || errors.Is(err, chime.ErrNotFound) || errors.Is(err, collection.ErrQuota) {
		return nil // it is gone meanwhile, or goes with its collection
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
	if err := s.collections.Release(ctx, r.Collection, string(stray)); err != nil { // of c, or of a later one, which has got it from the call above
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

// makeRoom releases the strays of a collection that is full, once a minute at most, and reports whether it has looked for some.
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
		err = nil // what was released is room
	}
	return true, err
}

// mayMakeRoom reports whether this process has looked for room in a collection long enough ago, and notes that it does now.
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
