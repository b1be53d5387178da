package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/problem"
)

// A Rekeyed is the result of [Service.Rekey].
type Rekeyed struct {
	Changed int // jobs whose secrets were sealed again
	Waiting int // waiting, delayed, running and parked runs with a secret that has another key or an older version, or may have one; they keep it
	Dead    int // dead ones, which fail if they are requeued after the old key is gone
}

// Rekey seals the secrets of all jobs with the first key of the ring, in the newest version. It returns the number of jobs that it has changed, and the runs
// that still have old seals. If a job cannot be read, or no key opens its secrets, the others are still changed, and the error lists all such jobs.
func (s *Service) Rekey(ctx context.Context) (done Rekeyed, err error) {
	if s.options.Secrets == nil {
		return done, noKeys()
	}
	if err := s.collections.RaiseSecretsVersion(ctx, newestSeal); err != nil {
		return done, err
	}
	ring := s.options.Secrets.Sealing(newestSeal, s.options.Sealed)
	var failed []error
	for c, err := range s.collections.List(ctx, "") {
		if c == nil {
			return done, errors.Join(append(failed, err)...)
		}
		for schedule, err := range s.schedules.List(ctx, chime.ScheduleFilter{Prefix: prefixOf(c.Name)}) {
			if schedule == nil {
				return done, errors.Join(append(failed, err)...)
			}
			changed := false
			if err == nil {
				changed, err = s.rekey(ctx, ring, schedule)
			}
			if err != nil {
				failed = append(failed, err)
			}
			if changed {
				done.Changed++
			}
		}
	}
	done.Waiting, done.Dead, err = s.outdated(ctx, ring)
	return done, errors.Join(append(failed, err)...)
}

// rekey seals the secrets of one job with the new key.
func (s *Service) rekey(ctx context.Context, ring *action.Ring, schedule *chime.Schedule) (changed bool, err error) {
	name := schedule.Name
	for range maxTries {
		m, ours := metaOf(schedule)
		if !ours {
			return false, nil
		}
		d, err := readDefinition(schedule, m)
		if err != nil || !d.job.Action.HasSecrets() {
			return false, err
		}
		again, err := d.job.Action.Rekey(ring, action.PlaceOf(name))
		if err != nil || !again {
			return false, joined(name, err)
		}
		options, err := d.options()
		if err != nil {
			return false, joined(name, err)
		}
		_, err = s.schedules.Put(ctx, name, d.job.Rule, append(options, chime.IfRevision(schedule.Revision))...)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, chime.ErrConflict) {
			return false, gone(err)
		}
		if schedule, err = s.schedules.Get(ctx, name); err != nil {
			return false, gone(err)
		}
	}
	return false, problem.New(problem.Busy, "other requests keep changing job %s: rekey again", name)
}

func joined(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("httpapi: rekey job %q: %w", name, err)
}

// gone returns an error, or nil if the error means that there is nothing to change any more.
func gone(err error) error {
	if errors.Is(err, chime.ErrNotFound) {
		return nil
	}
	return err
}
