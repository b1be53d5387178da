package chime

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
)

// A PutOption is an option of [Schedules.Put]: IfRevision, IfAbsent, Paused, and every ScheduleOption.
type PutOption interface{ put(*putSettings) }

// A ChangeOption is an option of [Schedules.Pause], Resume and Delete: IfRevision for each of them, a Note for Pause, SkipGap for Resume,
// DeleteWaiting for Delete.
type ChangeOption interface{ change(*changeSettings) }

// putOptions are ScheduleOptions as options of Put; nil stays nil.
func putOptions(options []ScheduleOption) []PutOption {
	all := make([]PutOption, len(options))
	for i, option := range options {
		if option != nil {
			all[i] = option
		}
	}
	return all
}

// putSettings are what an application says when it puts a schedule.
type putSettings struct {
	scheduleSettings
	revision int64 // 0: whatever is stored
	absent   bool
	paused   *protocol.Note // created paused; nil: live
}

// changeSettings are what an application says when it pauses, resumes or deletes a schedule.
type changeSettings struct {
	attemptSettings
	revision      int64 // 0: whatever is stored
	note          *protocol.Note
	skipGap       bool
	deleteWaiting bool
	has           map[string]bool // names of the options but IfRevision
}

// newChangeSettings applies the options of an act that knows one of them besides IfRevision.
func newChangeSettings(act, knows string, options []ChangeOption) (changeSettings, error) {
	s := changeSettings{has: map[string]bool{}}
	for _, option := range options {
		if option == nil {
			s.refuse(errNilOption)
			continue
		}
		option.change(&s)
	}
	for _, name := range slices.Sorted(maps.Keys(s.has)) {
		if name != knows {
			s.refuse(protocol.Invalid("option of "+act, name, "IfRevision or "+knows))
		}
	}
	return s, s.err()
}

// putOption is a PutOption.
type putOption func(*putSettings)

func (o putOption) put(s *putSettings) { o(s) }

// changeOption is a ChangeOption.
type changeOption func(*changeSettings)

func (o changeOption) change(s *changeSettings) { o(s) }

// IfRevision has an act done only to the schedule as the caller has seen it: its [Schedule.Revision], 1 or more. Otherwise the act changes
// nothing and returns a *[ConflictError]. What an act finds as it would make it is no conflict, so an act may be repeated. It is a
// PutOption and a ChangeOption.
type IfRevision int64

func (r IfRevision) validate() error {
	if r > 0 {
		return nil
	}
	return protocol.Invalid("revision", strconv.FormatInt(int64(r), 10), "1 or more, as Schedule.Revision says")
}

func (r IfRevision) put(s *putSettings) {
	s.revision = int64(r)
	if err := r.validate(); err != nil {
		s.refuse(err)
	}
}

func (r IfRevision) change(s *changeSettings) {
	s.revision = int64(r)
	if err := r.validate(); err != nil {
		s.refuse(err)
	}
}

// IfAbsent has Put create a schedule and change none: if there is one of that name with another definition, Put returns a *[ConflictError]
// with that one.
func IfAbsent() PutOption { return putOption(func(s *putSettings) { s.absent = true }) }

// Paused has Put create a schedule that is paused, with a note: nothing runs before it is resumed. One that exists already stays as it is,
// live or paused, also when Put changes its definition.
func Paused(note Note) PutOption {
	return putOption(func(s *putSettings) {
		s.paused = note.stored()
		if err := note.validate(); err != nil {
			s.refuse(err)
		}
	})
}

// SkipGap has Resume go on with the first instant after now: what the schedule has missed while it was paused counts as missed, and none of
// it runs. An occurrence that was due before the pause, and that nobody has taken yet, still runs.
func SkipGap() ChangeOption {
	return changeOption(func(s *changeSettings) { s.skipGap, s.has["SkipGap"] = true, true })
}

// DeleteWaiting has Delete remove the schedule's jobs as well, as far as they do not run: those that wait for a retry, for their turn or for
// a worker that handles them, and the dead ones; occurrences, manual runs, and what follows the death of either (see OnDeath). A job that runs may finish; if it fails and is to be retried after that, it is.
func DeleteWaiting() ChangeOption {
	return changeOption(func(s *changeSettings) { s.deleteWaiting, s.has["DeleteWaiting"] = true, true })
}

// Args are the arguments of every job of the schedule, or of one manual run; see Encode. At most 1 MiB when encoded. Without it the payload
// of a schedule's jobs is empty, and a manual run has the schedule's.
func Args(v any) ArgsOption {
	return argsOption{scheduleOption: func(s *scheduleSettings) { s.args = v }, args: v}
}

// JobName is the name of the schedule's jobs, which says who handles them: 1 to 100 of A-Z a-z 0-9 _ . : -. Without it: the
// schedule's name, which then has to be such a name too.
func JobName(name string) ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) {
		s.jobName = name
		if err := protocol.CheckName("job name", name); err != nil {
			s.refuse(err)
		}
	})
}

// NoImmediateRun leaves out the run that a rule without a start time makes when the schedule is created.
func NoImmediateRun() ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) { s.noImmediateRun = true })
}

// Overlap says what happens if an occurrence is due while the last one still runs. Without it: OverlapSkip.
func Overlap(policy OverlapPolicy) ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) {
		s.overlap = policy
		switch policy {
		case OverlapSkip, OverlapWait, OverlapCancel, OverlapAllow:
		default:
			s.refuse(protocol.Invalid("overlap policy", string(policy), "skip, wait, cancel or allow"))
		}
	})
}

// Misfire says what becomes of occurrences that were not run in time. Without it: MisfireRunOnce.
func Misfire(policy MisfirePolicy) ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) {
		s.misfire = policy
		switch policy {
		case MisfireRunOnce, MisfireSkip, MisfireCatchUp:
		default:
			s.refuse(protocol.Invalid("misfire policy", string(policy), "run_once, skip or catch_up"))
		}
	})
}

// Grace is how late an occurrence may be taken before its misfire policy applies: 1 s to 365 days, and never more than the time to
// the next occurrence. Without it: 60 s. With MisfireSkip it is the deadline for the start.
func Grace(d time.Duration) ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) {
		s.grace = d
		if d < time.Second || d > 365*24*time.Hour {
			s.refuse(protocol.Invalid("grace", d.String(), "1s to 8760h"))
		}
	})
}

// KeepRuns is of how many attempts that have ended [Schedules.Runs] tells, 0 to 1000: occurrences that ended without one are among them.
// Without it: 20. An attempt takes about 60 bytes in Redis, and what its error and its [Job.Note] take; and each that ends writes the
// schedule's history anew, so hundreds are for schedules that run every few minutes, not every second.
func KeepRuns(n int) ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) {
		s.keepRuns = &n
		if n < 0 || n > schedule.MaxKeepRuns {
			s.refuse(protocol.Invalid("keep runs", strconv.Itoa(n), fmt.Sprintf("0 to %d", schedule.MaxKeepRuns)))
		}
	})
}

// Meta keeps what the application wants to know of the schedule with its definition, such as who asked for it: JSON of at most 4 KiB. It
// is shown as [Schedule.Meta], goes to no job, and is a part of the definition: a schedule with another one has changed.
func Meta(value json.RawMessage) ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) {
		s.meta = value
		switch {
		case len(value) > maxMeta:
			s.refuse(protocol.Invalid("meta", fmt.Sprintf("%d bytes", len(value)), fmt.Sprintf("at most %d bytes", maxMeta)))
		case !json.Valid(value):
			s.refuse(protocol.Invalid("meta", string(value), "JSON"))
		}
	})
}

const maxMeta = 4096 // bytes

// Spread makes each occurrence due at its planned instant plus a part of d, which the schedule's name decides and [Schedule.Offset] shows:
// so schedules of one rule, "every hour" for each of a thousand tenants, do not begin at the same moment. The part is whole milliseconds, less
// than d, and the same for ever; the run at creation has it too. Planned, and with it the occurrence's ID, stays the instant of the rule;
// lateness and grace, and what is missed or caught up, count from the instant at which it is due.
//
// d is 1 ms to the rule's period: the shortest time between two occurrences, of its first hundred and by UTC, where no clock is set
// forward; and a year at most. 0, as without the option: each is due when it is planned. What [Schedules.Trigger] runs is not spread.
func Spread(d time.Duration) ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) { s.spread = d }) // checked with the rule
}

// PauseAfter pauses the schedule once n occurrences in a row have ended dead, 1 to 100: the step that gives up the last of them withdraws the
// next one, as [Schedules.Pause] does, and leaves a [Note] by "chime" in [Schedule.Note] that says so. [Schedules.Resume] lets it go on. 0, as
// without the option: never.
//
// Those count that were planned after the last change, pause or resume, in the order in which they end; the run at creation counts too. One that
// is done begins the count anew; one that was missed, skipped, cancelled or superseded changes nothing. An occurrence is dead when its last
// attempt has failed, its handler has discarded it, or its worker has vanished too often; one that no worker could run for a week counts
// for nothing, for none has tried it. Manual runs and what [OnDeath] adds do not count, nor does what ends in a queue that the schedule has left.
func PauseAfter(n int) ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) {
		s.pauseAfter = n
		if n < 0 || n > schedule.MaxPauseAfter {
			s.refuse(protocol.Invalid("pause after", strconv.Itoa(n), fmt.Sprintf("0 to %d", schedule.MaxPauseAfter)))
		}
	})
}
