package chime

import (
	"maps"
	"slices"
	"strconv"

	"github.com/chimejobs/chime/internal/protocol"
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

func (r IfRevision) check() error {
	if r > 0 {
		return nil
	}
	return protocol.Invalid("revision", strconv.FormatInt(int64(r), 10), "1 or more, as Schedule.Revision says")
}

func (r IfRevision) put(s *putSettings) {
	s.revision = int64(r)
	if err := r.check(); err != nil {
		s.refuse(err)
	}
}

func (r IfRevision) change(s *changeSettings) {
	s.revision = int64(r)
	if err := r.check(); err != nil {
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
