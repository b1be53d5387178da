package chime

import (
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/recurrence"
)

// declaration checks a schedule and puts it into the form in which it is declared. All that is wrong comes back, joined.
func declaration(name string, rec recurrence.Recurrence, options []ScheduleOption) (protocol.Declaration, error) {
	settings := scheduleSettings{overlap: OverlapSkip, misfire: MisfireRunOnce, grace: defaultGrace, jobName: name}
	settings.queue = DefaultQueue
	if err := protocol.CheckName("name", name); err != nil {
		settings.problems = append(settings.problems, err)
	}
	for _, option := range options {
		if option == nil {
			settings.refuse("an option is nil")
			continue
		}
		option.schedule(&settings)
	}
	payload, err := wire.EncodeStable(settings.args)
	if err == nil && len(payload) > defaultMaxPayload {
		err = wire.TooLarge(len(payload), defaultMaxPayload)
	}
	spec := schedule.Spec{
		JobName: settings.jobName, Recurrence: rec, Payload: payload,
		Overlap: string(settings.overlap), Misfire: string(settings.misfire), Grace: settings.grace,
		NoImmediateRun: settings.noImmediateRun, MaxAttempts: settings.maxAttempts, Timeout: settings.timeout,
	}
	if problem := spec.Validate(); problem != nil {
		settings.problems = append(settings.problems, problem)
	}
	if err != nil {
		settings.refuse("args: %w", err)
	}
	if err := settings.err(); err != nil {
		return protocol.Declaration{}, err
	}
	return spec.Declare(name, settings.queue)
}
