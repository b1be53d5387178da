package chime

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// OnDeath adds a job when this one becomes dead, or expires ([Expire]). A job becomes dead after its last attempt, by [Discard], because its
// workers kept vanishing, or because it was parked for longer than redisstore.Options.ParkedRetention and no worker came that can run it. The new
// job is added in the same step, exactly once, to the front of the same queue. It has the item's own arguments (at most 64 KiB when encoded), and
// the dead job in [Job.Death]. Its ID is the dead job's ID, "#dead-" and a fence: the fence under which the job died, or a fresh one if it died parked.
//
// Create the item with [Kind.Item], or use an [Item] with a job name. Its options may be those of an attempt, Header and Keep. Queue, In,
// At, Expire, ID, ArgsID, Once, Replace and OnDeath are refused; if the item's kind has them as defaults, they are ignored. So the new job has no
// OnDeath of its own.
func OnDeath(item Item) JobOption {
	body, err := deathBody(item)
	return jobOption(func(s *jobSettings) {
		s.onDeath = body
		if err != nil {
			s.refuse(fmt.Errorf("OnDeath: %w", err))
		}
	})
}

// onDeathName is the name of the job that is added at a death. It is empty if none is added.
func onDeathName(of *wire.Details) string {
	if of.OnDeath == nil {
		return ""
	}
	job, _ := wire.DecodeEnvelope(of.OnDeath) // the name is returned even if the rest cannot be read
	return job.Name
}

// OnDeathJob is the job that is added when one of the schedule's jobs becomes dead, as set by [OnDeath]: Name, Queue, Payload, MaxAttempts,
// Timeout, Header, Keep and Retry. It is nil if no job is added. If a newer version of chime wrote this job, only its Name is set, and the error is
// also its Err.
func (s *Schedule) OnDeathJob() (*JobInfo, error) {
	if s.onDeath == nil {
		return nil, nil
	}
	job := &JobInfo{Name: s.OnDeath, Queue: s.Queue}
	message, err := wire.DecodeEnvelope(s.onDeath)
	if err != nil {
		job.Err = fmt.Errorf("chime: OnDeath of schedule %q: %w", s.Name, err)
		return job, job.Err
	}
	details := cmp.Or(message.Details, &wire.Details{})
	job.Payload, job.MaxAttempts, job.Timeout = message.Payload, message.MaxAttempts, message.Timeout
	job.Header, job.Keep, job.Retry = details.Header, details.Keep, RetryPolicy{details.Retry}
	return job, nil
}

const maxDeathArgs = 64 << 10 // bytes: it is stored with every job

// deathBody returns the body of the job that an item describes.
func deathBody(item Item) ([]byte, error) {
	var of, own enqueueSettings // of the kind, and of the item itself
	for _, option := range item.Options {
		switch option := option.(type) {
		case nil:
			own.refuse(errNilOption)
		case *kindDefaults:
			option.enqueue(&of)
		case groupedOption: // a job that follows a death has no group
		default:
			option.enqueue(&own)
		}
	}
	for name, given := range map[string]bool{
		"Queue": own.queue != "", "In or At": own.timed, "ID": own.own, "Once": own.once != 0, "Replace": own.replace, "Expire": own.expire != 0, "Group": own.group != "", "OnDeath": own.onDeath != nil,
	} {
		if given {
			own.refuse(protocol.Invalid("option", name, "an option of an attempt, or Header"))
		}
	}
	if err := protocol.CheckName("job name", item.Name); err != nil {
		own.refuse(err)
	}
	payload, err := wire.EncodeStable(item.Args)
	if err == nil && len(payload) > maxDeathArgs {
		err = wire.TooLarge(len(payload), maxDeathArgs)
	}
	of.onDeath = nil
	job := own.jobSettings.or(of.jobSettings)
	if err := checkHeaderSize(job.header); err != nil && checkHeaderSize(own.header) == nil { // else the option has reported it
		own.refuse(err)
	}
	if err := errors.Join(append(own.problems, err)...); err != nil {
		return nil, err
	}
	e := wire.Envelope{Name: item.Name, Payload: payload, MaxAttempts: job.maxAttempts, Timeout: job.timeout, Details: job.details()}
	return e.Encode(), nil
}
