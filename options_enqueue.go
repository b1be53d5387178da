package chime

import (
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
)

// ID gives the job an ID of the caller's own. It is data, an e-mail address as well as a word: 1 to 200 bytes of UTF-8 without control
// or format characters and without space at either end, which does not end like the ID of an occurrence, "@2026-03-08T09:00:00Z".
// What belongs to a job is best named after it, with the job's ID in front: job.ID+"/mail".
//
// As long as a job with that ID exists in its queue (waiting, delayed, running, or in the dead set) another one is not added: the
// [Receipt] says Existing, and where the job is. [Once] bars another one for a while besides. Of several ID and ArgsID the last one counts.
func ID(id string) EnqueueOption {
	return idOption{id: id, ownOption: ownOption{name: "ID", enqueueOption: func(s *enqueueSettings) {
		s.id, s.own, s.argsID = id, true, false
		if err := protocol.CheckID("ID", id); err != nil {
			s.refuse(err)
		}
	}}}
}

// ArgsID makes the ID of the job's name and its arguments, as ID has it: while a job with the same name and equal arguments exists in its
// queue, another one is not added. As a default of a kind it holds for each of its jobs that has no ID.
//
// The ID is 27 characters of A-Z a-z 0-9 - _, a part of the SHA-256 of the name and of the encoded arguments with the keys of all maps
// sorted. It is the same in every process and every version of chime. Arguments that are encoded in another way, because a field was added or
// renamed or fields were put in another order, have another ID. Arguments of type []byte and json.RawMessage count as they are.
func ArgsID() EnqueueOption {
	return enqueueOption(func(s *enqueueSettings) { s.id, s.own, s.argsID = "", true, true })
}

// Once adds the job only if none of its ID was accepted within the last d, 1 s to 365 days, whatever has become of that one; and as with
// ID alone, if none exists. Else the [Receipt] says Existing. It needs ID or ArgsID.
//
// Only jobs with Once count, each for the d that it was enqueued with, by the store's clock. [Jobs.Cancel] of a job that has not ended, and
// [Jobs.Delete], let its ID be enqueued again at once. Each such ID costs about 100 bytes of Redis until d is over.
func Once(d time.Duration) EnqueueOption {
	return enqueueOption(func(s *enqueueSettings) {
		s.once = d
		if d < time.Second || d > schedule.MaxTimeout {
			s.refuse(protocol.Invalid("once", d.String(), "1s to "+schedule.MaxTimeout.String()))
		}
	})
}

// Replace puts the job in the place of the one that has its ID, so that the newest arguments and options count. It needs ID or ArgsID.
// Where that one is decides:
//   - delayed or retrying: it goes, and this one is due when its own In or At says. So with In(d) each call moves the job on: a debounce.
//   - waiting: this one has its place in the queue, whatever In and At say.
//   - parked or dead: it goes, and this one begins anew.
//   - running, or taken ahead: it goes on. When it ends, in whatever way, this one follows it, not before its In or At; of several the newest
//     alone. A failed one is not tried again then, and one that is given up is not kept and has no OnDeath.
//   - running and cancelled: it stays, and this one is not added: the [Receipt] says Existing. [Jobs.Cancel] drops what was to follow, too.
//
// If there is none it is added. With [Once] besides, as long as Once bars the ID, only what is delayed, retrying, waiting or parked is replaced.
//
// Each such job is sent to the store by itself, in two round trips; in EnqueueMany after all the others. The user of Redis needs the rights of a
// worker or of a scheduler (docs/access.md).
func Replace() EnqueueOption {
	return enqueueOption(func(s *enqueueSettings) { s.replace = true })
}

// In delays the job by d, at most 100 years; 0 or less means now. The store's clock measures it, so the caller's clock may be wrong.
// Of several In and At the last one counts.
func In(d time.Duration) EnqueueOption {
	return enqueueOption(func(s *enqueueSettings) {
		s.in, s.at, s.timed = max(d, 0), time.Time{}, true
		if d > protocol.MaxDelay {
			s.refuse(protocol.Invalid("in", d.String(), "at most 100 years"))
		}
	})
}

// At delays the job until an instant, at most 100 years from now, rounded up to milliseconds. An instant in the past means now; one more
// than 100 years ago, such as the zero time, is refused as a mistake.
func At(t time.Time) EnqueueOption {
	return ownOption{name: "At", enqueueOption: func(s *enqueueSettings) {
		s.at, s.in, s.timed = t, 0, true
		if d := time.Until(t); d > protocol.MaxDelay || d < -protocol.MaxDelay {
			s.refuse(protocol.Invalid("at", t.UTC().Format(time.RFC3339), "at most 100 years from now or ago"))
		}
	}}
}

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
