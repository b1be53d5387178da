package chime

import (
	"cmp"
	"errors"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/recurrence"
)

// declaration checks a schedule and puts it into the form in which it is declared. All that is wrong comes back, joined.
func declaration(name string, rec recurrence.Recurrence, options []PutOption) (protocol.Declaration, error) {
	settings := putSettings{scheduleSettings: scheduleSettings{overlap: OverlapSkip, misfire: MisfireRunOnce, grace: defaultGrace}}
	if err := protocol.CheckID("name", name); err != nil {
		settings.refuse(err)
	}
	for _, option := range options {
		if option == nil {
			settings.refuse(errNilOption)
			continue
		}
		option.put(&settings)
	}
	if settings.absent && settings.revision != 0 {
		settings.refuse(protocol.Because(protocol.Invalid("option", "IfAbsent", "IfAbsent or IfRevision"), "is given beside IfRevision"))
	}
	if settings.jobName == "" {
		settings.jobName = name
		bad := (*InvalidError)(nil)
		if protocol.CheckID("name", name) == nil && errors.As(protocol.CheckName("job name", name), &bad) {
			settings.refuse(protocol.Because(bad, "is the schedule's name, as the option JobName gives no other"))
		}
	}
	payload, err := wire.EncodeStable(settings.args)
	if err == nil && len(payload) > defaultMaxPayload {
		err = wire.TooLarge(len(payload), defaultMaxPayload)
	}
	job := settings.jobSettings.or(settings.kind)
	spec := schedule.Spec{
		JobName: settings.jobName, Recurrence: rec, Payload: payload,
		Overlap: string(settings.overlap), Misfire: string(settings.misfire), Grace: settings.grace,
		Spread: settings.spread, NoImmediateRun: settings.noImmediateRun, Meta: settings.meta, KeepRuns: settings.keepRuns, PauseAfter: settings.pauseAfter,
		MaxAttempts: job.maxAttempts,
		Timeout:     job.timeout,
		Details:     job.details(),
	}
	if problem := spec.Validate(); problem != nil {
		settings.refuse(problem)
	}
	if err != nil {
		settings.refuse(err)
	}
	if err := checkHeaderSize(job.header); err != nil && checkHeaderSize(settings.header) == nil { // else the option has said so
		settings.refuse(err)
	}
	if err := settings.err(); err != nil {
		return protocol.Declaration{}, err
	}
	declared, err := spec.Declare(name, cmp.Or(job.queue, defaultQueue))
	declared.Revision, declared.Absent, declared.Paused = settings.revision, settings.absent, settings.paused
	return declared, err
}
