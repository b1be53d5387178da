package chime

import "github.com/chimejobs/chime/internal/protocol"

// A TriggerOption changes one manual run of a schedule, see [Schedules.Trigger]: Args, and every EnqueueOption; Queue is refused.
type TriggerOption interface{ trigger(*triggerSettings) }

// An ArgsOption is both a ScheduleOption and a TriggerOption: Args.
type ArgsOption interface {
	ScheduleOption
	TriggerOption
}

// triggerSettings are what an application says about one manual run.
type triggerSettings struct {
	enqueueSettings
	args  any
	other bool // args were given
}

// queueOption is jobOption for Queue: a manual run has its schedule's.
type queueOption struct{ jobOption }

func (o queueOption) trigger(s *triggerSettings) {
	s.refuse(protocol.Invalid("option of Trigger", "Queue", "Args, or an option of one job: a manual run goes to its schedule's queue"))
}

// idOption is ownOption for ID: that of a manual run is checked when its schedule is known.
type idOption struct {
	ownOption
	id string
}

func (o idOption) trigger(s *triggerSettings) { s.id, s.own = o.id, true }

// argsOption is scheduleOption for Args.
type argsOption struct {
	scheduleOption
	args any
}

func (o argsOption) trigger(s *triggerSettings) { s.args, s.other = o.args, true }
