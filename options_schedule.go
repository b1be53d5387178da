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

// putOptions are ScheduleOptions as options of Put; nil remains nil.
func putOptions(options []ScheduleOption) []PutOption {
	all := make([]PutOption, len(options))
	for i, option := range options {
		if option != nil {
			all[i] = option
		}
	}
	return all
}

// putSettings are the options of Put.
type putSettings struct {
	scheduleSettings
	revision int64 // 0: any stored schedule
	absent   bool
	paused   *protocol.Note // created paused; nil: live
}

// changeSettings are the options of Pause, Resume and Delete.
type changeSettings struct {
	attemptSettings
	revision      int64 // 0: any stored schedule
	note          *protocol.Note
	skipGap       bool
	deleteWaiting bool
	has           map[string]bool // names of the options, without IfRevision
}

// newChangeSettings applies the options of an action that supports one option and IfRevision.
func newChangeSettings(action, supports string, options []ChangeOption) (changeSettings, error) {
	s := changeSettings{has: map[string]bool{}}
	for _, option := range options {
		if option == nil {
			s.refuse(errNilOption)
			continue
		}
		option.change(&s)
	}
	for _, name := range slices.Sorted(maps.Keys(s.has)) {
		if name != supports {
			s.refuse(protocol.Invalid("option of "+action, name, "IfRevision or "+supports))
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

// IfRevision makes an action depend on the revision of the schedule that the caller has read: its [Schedule.Revision], 1 or more. If the
// schedule has another revision, nothing changes and the error is a *[ConflictError]. If the schedule is already as the action would make
// it, that is no conflict, so an action may be repeated. IfRevision is a PutOption and a ChangeOption.
type IfRevision int64

func (r IfRevision) validate() error {
	if r > 0 {
		return nil
	}
	return protocol.Invalid("revision", strconv.FormatInt(int64(r), 10), "1 or more, the value of Schedule.Revision")
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

// IfAbsent makes Put create a schedule but change none: if one with that name and another definition exists, Put returns a *[ConflictError]
// that contains it.
func IfAbsent() PutOption { return putOption(func(s *putSettings) { s.absent = true }) }

// Paused makes Put create a schedule that is paused, with a note: nothing runs before it is resumed. An existing schedule remains
// live or paused, also when Put changes its definition.
func Paused(note Note) PutOption {
	return putOption(func(s *putSettings) {
		s.paused = note.stored()
		if err := note.validate(); err != nil {
			s.refuse(err)
		}
	})
}

// SkipGap makes Resume continue with the first instant after now: all occurrences that the schedule missed while it was paused count as
// missed and do not run. An occurrence that was due before the pause, and that nobody has taken yet, still runs.
func SkipGap() ChangeOption {
	return changeOption(func(s *changeSettings) { s.skipGap, s.has["SkipGap"] = true, true })
}

// DeleteWaiting makes Delete also remove the schedule's jobs that do not run: those that wait for a retry, for their turn or for a worker
// that handles them, and the dead ones. These are occurrences, manual runs, and the jobs that OnDone and OnDeath added for either. A running job
// may finish; if it fails and has another attempt, it is retried.
func DeleteWaiting() ChangeOption {
	return changeOption(func(s *changeSettings) { s.deleteWaiting, s.has["DeleteWaiting"] = true, true })
}

// Args sets the arguments of every job of the schedule, or of one manual run; see Encode. At most 1 MiB when encoded. By default the payload
// of a schedule's jobs is empty, and a manual run has the schedule's payload.
func Args(v any) ArgsOption {
	return argsOption{scheduleOption: func(s *scheduleSettings) { s.args = v }, args: v}
}

// JobName sets the name of the schedule's jobs, which selects their handler: 1 to 100 of A-Z a-z 0-9 _ . : -. The default is the
// schedule's name, which then must have that form too.
func JobName(name string) ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) {
		s.jobName = name
		if err := protocol.CheckName("job name", name); err != nil {
			s.refuse(err)
		}
	})
}

// NoImmediateRun prevents the run that a rule without a start time makes when the schedule is created, and the one of a rule without a frequency whose
// start time has passed. It sets NoImmediateRun of the rule: the two mean the same. The option matters only at the creation: a
// program that declares an existing schedule, with or without it, does not change that schedule. [Schedules.Put] stores it.
// SchedulerOptions.NoImmediateRuns sets it for all schedules of a program.
func NoImmediateRun() ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) { s.noImmediateRun = true })
}

// Overlap sets what happens if an occurrence is due while the last one still runs. The default is OverlapSkip.
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

// Misfire sets what happens to occurrences that were not run in time. The default is MisfireRunOnce.
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

// Grace sets how late an occurrence may be taken before its misfire policy applies: 1 s to 365 days, and never more than the time to
// the next occurrence. The default is 60 s. With MisfireSkip it is the deadline for the start.
func Grace(d time.Duration) ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) {
		s.grace = d
		if d < time.Second || d > 365*24*time.Hour {
			s.refuse(protocol.Invalid("grace", d.String(), "1s to 8760h"))
		}
	})
}

// KeepRuns sets how many ended attempts [Schedules.Runs] returns, 0 to 1000, including occurrences that ended without an attempt. The default is
// 20. An attempt takes about 60 bytes in Redis, plus its error and its [Job.Note]. The whole history is written again whenever an attempt ends. So
// a value of some hundreds is fine for a schedule that runs every few minutes, but not for one that runs every second.
func KeepRuns(n int) ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) {
		s.keepRuns = &n
		if n < 0 || n > schedule.MaxKeepRuns {
			s.refuse(protocol.Invalid("keep runs", strconv.Itoa(n), fmt.Sprintf("0 to %d", schedule.MaxKeepRuns)))
		}
	})
}

// Meta stores data of the application with the schedule's definition, such as the user who created it: JSON of at most 4 KiB. It
// is shown as [Schedule.Meta] and is not passed to jobs. It is a part of the definition: a schedule with other Meta has changed.
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

// Spread makes each occurrence due at its planned instant plus a part of d. The schedule's name determines the part, and [Schedule.Offset] shows
// it. So schedules with the same rule, such as "every hour" for each of a thousand tenants, do not start at the same moment. The part is whole
// milliseconds, less than d, and never changes; the run at creation has it too. The planned instant and the occurrence's ID do not change: they are
// those of the rule. Lateness and grace, missed and caught-up occurrences are measured from the instant at which the occurrence is due.
//
// d is at least 1 ms. It may not be longer than the rule's period, nor than a year. The period is the shortest time between two of its first
// hundred occurrences, in UTC, where the clock is never set forward. 0, the default, means that each is due when it is planned. [Schedules.Trigger]
// ignores Spread.
func Spread(d time.Duration) ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) { s.spread = d }) // checked with the rule
}

// MaxUnfinished limits the runs of the schedule that have not ended: those that wait after [Schedules.Trigger] or [Schedules.Backfill], that run, that wait
// for a retry or are parked, and the jobs that [OnDone] and [OnDeath] add. n is 1 to 1,000,000; 0, the default, means any number. Counting and adding are one step, so
// the limit is exact with any number of callers: see [LastRun].Unfinished. With n unfinished runs Trigger returns [ErrMaxUnfinished], and an occurrence
// of the schedule or of Backfill is skipped. It is counted in Skipped and in Full of [ScheduleCounters]. The history of the schedule has it with the reason as
// its error; a call of Backfill adds one entry for all that it has skipped.
//
// A lower limit ends no run. Jobs that OnDone and OnDeath add are counted and never refused. After a move to another queue only the runs there count. A schedule with
// a Count that has moved runs its occurrences in the old queue anyway.
func MaxUnfinished(n int) ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) {
		s.maxUnfinished = n
		if n < 0 || n > schedule.MaxUnfinished {
			s.refuse(protocol.Invalid("max unfinished", strconv.Itoa(n), fmt.Sprintf("0 to %d", schedule.MaxUnfinished)))
		}
	})
}

// PauseAfter pauses the schedule when n consecutive occurrences have become dead, 1 to 100. The step that makes the last of them dead withdraws
// the next one, as [Schedules.Pause] does. It leaves a [Note] by "chime" in [Schedule.Note] with the reason. [Schedules.Resume] continues the
// schedule. 0, the default, means never.
//
// Only occurrences whose planned instant is after the last change, pause or resume count, including the run at creation. They count in the order in
// which they end. An occurrence that is done resets the count; a missed, skipped, cancelled or superseded one does not change it. An occurrence is
// dead when its last attempt has failed, its handler has discarded it, or its worker has vanished too often. One that no worker could run for a
// week does not count, because it was never tried. Manual runs, jobs that [OnDone] and [OnDeath] add, and jobs in a queue that the schedule has left do not
// count either.
func PauseAfter(n int) ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) {
		s.pauseAfter = n
		if n < 0 || n > schedule.MaxPauseAfter {
			s.refuse(protocol.Invalid("pause after", strconv.Itoa(n), fmt.Sprintf("0 to %d", schedule.MaxPauseAfter)))
		}
	})
}
