package schedule

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// NoWorker is the last error of a job that was parked for too long.
const NoWorker = "no worker came that can run it"

// Bury returns how an expired job of a queue becomes dead at an instant: with the reason, and with the job that follows its death, if it has an
// OnDeath. An error means that no job follows although one may have to; if the error wraps ErrNotHere, another program may be able to read that
// job. The expired job can become dead nevertheless.
func Bury(queue string, job *protocol.ExpiredJob, at time.Time) (protocol.Burial, error) {
	burial := protocol.Burial{ExpiredJob: *job}
	name, dead, err := expired(job)
	switch {
	case errors.Is(err, ErrNotHere):
		return burial, err
	case err != nil:
		return burial, nil // a program that cannot read the job does not know of any OnDeath
	}
	if dead.Details == nil {
		dead.Details = new(wire.Details)
	}
	dead.LastError, dead.Stack, dead.Details.Due, dead.Expires = NoWorker, "", time.Time{}, time.Time{}
	dead.Details.AddFailure(wire.Failure{At: at, Error: NoWorker})
	if len(dead.Details.OnDeath) == 0 {
		burial.Dead = dead.Encode()
		return burial, nil
	}
	of := wire.Death{Queue: queue, ID: job.ID, Crashes: job.Crashes, Ended: at}
	burial.Follower, err = wire.FollowDeath(&dead, of, cmp.Or(name, dead.Schedule))
	if errors.Is(err, wire.ErrNewerVersion) {
		err = fmt.Errorf("%w: %w", ErrNotHere, err)
	}
	burial.Dead = dead.Encode()
	return burial, err
}

// expired reads an expired job; schedule is set if the job is an occurrence of a schedule.
func expired(job *protocol.ExpiredJob) (schedule string, e wire.Envelope, err error) {
	schedule, planned, err := SplitOccurrence(job.ID)
	if err != nil {
		return schedule, e, err
	}
	if len(job.Body) == 0 {
		text := job.Definition
		if len(job.Opened) > 0 {
			text = job.Opened
		}
		d, err := Read(text)
		if err != nil {
			return schedule, e, err
		}
		if d.Sealed != nil { // its arguments are bound to the schedule, and have to be sealed for the job
			return schedule, e, fmt.Errorf("%w: %w", ErrNotHere, protocol.SealedBy(d.Sealed))
		}
		return schedule, d.Job(schedule, planned), nil
	}
	if e, err = wire.DecodeEnvelope(job.Body); errors.Is(err, wire.ErrNewerVersion) {
		err = fmt.Errorf("%w: %w", ErrNotHere, err)
	}
	return schedule, e, err
}
