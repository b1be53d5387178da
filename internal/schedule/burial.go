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

// Bury returns how an expired job of a queue is given up at an instant: saying why, and with the job that follows its death, if it has an
// OnDeath. An error says why none follows although one may have to; if it wraps ErrNotHere another program may know what follows. The job
// can be given up all the same.
func Bury(queue string, job *protocol.ExpiredJob, at time.Time) (protocol.Burial, error) {
	burial := protocol.Burial{ExpiredJob: *job}
	name, dead, err := expired(job)
	switch {
	case errors.Is(err, ErrNotHere):
		return burial, err
	case err != nil:
		return burial, nil // who cannot read the job does not know of any OnDeath
	}
	if dead.Details == nil {
		dead.Details = new(wire.Details)
	}
	dead.LastError, dead.Stack, dead.Details.Due = NoWorker, "", time.Time{}
	dead.Details.AddFailure(wire.Failure{At: at, Error: NoWorker})
	if len(dead.Details.OnDeath) == 0 {
		burial.Dead = dead.Encode()
		return burial, nil
	}
	of := wire.Death{Queue: queue, ID: job.ID, Crashes: job.Crashes, Ended: at}
	burial.OnDeath, err = wire.Follow(&dead, of, cmp.Or(name, dead.Schedule))
	if errors.Is(err, wire.ErrNewerVersion) {
		err = fmt.Errorf("%w: %w", ErrNotHere, err)
	}
	burial.Dead = dead.Encode()
	return burial, err
}

// expired reads an expired job; schedule is the one whose occurrence it is, empty: it is none.
func expired(job *protocol.ExpiredJob) (schedule string, e wire.Envelope, err error) {
	schedule, planned, err := SplitOccurrence(job.ID)
	if err != nil {
		return schedule, e, err
	}
	if len(job.Body) == 0 {
		d, err := Read(job.Definition)
		if err != nil {
			return schedule, e, err
		}
		return schedule, d.Job(schedule, planned), nil
	}
	if e, err = wire.DecodeEnvelope(job.Body); errors.Is(err, wire.ErrNewerVersion) {
		err = fmt.Errorf("%w: %w", ErrNotHere, err)
	}
	return schedule, e, err
}
