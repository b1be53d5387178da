package service

import (
	"context"
	"errors"
	"strings"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/runs"
	"github.com/chimejobs/chime/internal/wire"
)

// Seals have two versions, see [action.Ring]. Programs of the release before know version 1 only, and their workers must not get version 2. So the store
// has the version that is written, and only Rekey raises it, which an operator runs when all processes are of this release:
//
//	process              before rekey           after rekey
//	release before       opens 1, writes 1      opens 1: it must be gone
//	this release         opens both, writes 1   opens both, writes 2
//	with Sealed 2        opens 2, writes 2      opens 2, writes 2
//
// Rekey raises the version and reads the schedules afterwards. A writer that has sealed version 1 writes its schedule and reads the version afterwards.
// So either Rekey finds the schedule, or its writer sees that the version was raised, and seals it again. If the store loses the version (a failover
// without the last writes), version 1 is written again for other secrets: all processes open it, and the next Rekey finds it.
//
// Tasks always have the newest version: a release before cannot open their secrets in any version, because it does not know their place.
//
// A store without a collection has no secret that a release before would have to open: Run raises its version at once.
const (
	oldestSeal = 1
	newestSeal = 2
)

// sealing returns the ring for writing, and the version that it seals.
func (s *Service) sealing(ctx context.Context) (*action.Ring, int, error) {
	version, err := s.sealVersion(ctx)
	if err != nil {
		return nil, 0, err
	}
	return s.options.Secrets.Sealing(version, s.options.Sealed), version, nil
}

// sealVersion is the version to seal. The newest one is never lowered, so it is read only once.
func (s *Service) sealVersion(ctx context.Context) (int, error) {
	if s.options.Sealed >= newestSeal || s.sealed.Load() {
		return newestSeal, nil
	}
	version, err := s.collections.SecretsVersion(ctx)
	if err != nil {
		return 0, err
	}
	if version >= newestSeal {
		s.sealed.Store(true)
		return newestSeal, nil
	}
	return oldestSeal, nil
}

// beginSeals raises the version of a store that has no collection yet.
func (s *Service) beginSeals(ctx context.Context) error {
	if version, err := s.sealVersion(ctx); err != nil || version >= newestSeal {
		return err
	}
	for _, err := range s.collections.List(ctx, "") {
		return err // there is a collection, or the store has failed
	}
	return s.collections.RaiseSecretsVersion(ctx, newestSeal)
}

// renewSeals seals a job again that was written with secrets of a version, if the version was raised meanwhile.
func (s *Service) renewSeals(ctx context.Context, written *chime.Schedule, version int) (*chime.Schedule, error) {
	if version != oldestSeal {
		return written, nil
	}
	ring, now, err := s.sealing(ctx)
	if err != nil || now == version {
		return written, err
	}
	changed, err := s.rekey(ctx, ring, written)
	if err != nil || !changed {
		return written, err
	}
	again, err := s.schedules.Get(ctx, written.Name)
	if err != nil {
		return written, gone(err)
	}
	return again, nil
}

// outdated counts the runs with secrets that have, or may have, another key than the first one or an older version than the ring seals.
func (s *Service) outdated(ctx context.Context, ring *action.Ring) (waiting, dead int, err error) {
	seen := map[[2]string]bool{}
	for run, err := range runs.All(ctx, s.options.Store) {
		if err != nil {
			return 0, 0, err
		}
		id := [2]string{run.Queue, run.ID}
		if seen[id] {
			continue
		}
		old := false
		if run.Body != nil {
			old = outdatedBody(ring, run.Body)
		} else if old, err = s.beganBefore(ctx, run); err != nil {
			return 0, 0, err
		}
		if !old {
			continue
		}
		if seen[id] = true; run.Dead {
			dead++
		} else {
			waiting++
		}
	}
	return waiting, dead, nil
}

// beganBefore reports whether a run in its first attempt began before the last change of its schedule. Such a run has the definition from before the change,
// and keeps it if the attempt fails. The definition is stored nowhere, so it may have an outdated secret, also if the schedule has none now or is gone. The
// revision of a schedule is larger than the fences of the runs that were taken before.
func (s *Service) beganBefore(ctx context.Context, run runs.Run) (bool, error) {
	at := strings.LastIndexByte(run.ID, '@')
	if at < 0 {
		return false, nil
	}
	name := run.ID[:at]
	schedule, err := s.schedules.Get(ctx, name)
	switch {
	case errors.Is(err, chime.ErrNotFound):
		return action.PlaceOf(name).Collection != "", nil // or a program's schedule with such a name; it is counted until this attempt has ended
	case schedule == nil:
		return false, err
	}
	_, ours := metaOf(schedule)
	return ours && run.Fence < schedule.Revision, nil
}

// outdatedBody reports whether a stored job, or the job that is added when it becomes dead, is an action with an outdated secret.
func outdatedBody(ring *action.Ring, body []byte) bool {
	for len(body) > 0 {
		job, err := wire.DecodeEnvelope(body)
		if err != nil {
			return false
		}
		if job.Name == action.JobName {
			if a, err := action.Decode(job.Payload); err == nil && a.Outdated(ring) {
				return true
			}
		}
		body = nil
		if job.Details != nil {
			body = job.Details.OnDeath
		}
	}
	return false
}
