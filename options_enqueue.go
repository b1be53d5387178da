package chime

import (
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
)

// ID gives the job your own ID. It is any text, such as an e-mail address: 1 to 200 bytes of UTF-8 without control or format characters and
// without space at either end. It must not end like the ID of an occurrence, "@2026-03-08T09:00:00Z". For a job that belongs to another job,
// begin with that job's ID: job.ID+"/mail".
//
// As long as a job with that ID exists in its queue (waiting, delayed, running, or dead), another one is not added: the [Receipt] has
// Existing, and that job's State. So a handler cannot enqueue the successor of its job under the job's own ID, because the job exists until the
// handler has returned: use [Snooze] to run the same job again, [Replace] for a successor with other arguments, or another ID. [Once] also prevents
// another one for some time. If ID and ArgsID are repeated, the last one counts.
//
// If a call fails with an unknown outcome, the enqueuer takes the next call with that ID within an hour for its repetition, see
// [Enqueuer.Enqueue]: if the first call was carried out, nothing is added, and the receipt has Existing. This happens once for each such call,
// and not if [Jobs.Cancel] or [Jobs.Delete] has removed the job through the same [Store]. The enqueuer does not notice that another process has
// removed the job, nor that [Queues.Purge] has.
func ID(id string) EnqueueOption {
	return idOption{id: id, ownOption: ownOption{name: "ID", enqueueOption: func(s *enqueueSettings) {
		s.id, s.own, s.argsID = id, true, false
		if err := protocol.CheckID("ID", id); err != nil {
			s.refuse(err)
		}
	}}}
}

// ArgsID creates the ID from the job's name and its arguments: while a job with the same name and equal arguments exists in its queue, another
// one is not added, as with ID. As a default of a kind it applies to each job of the kind that has no ID.
//
// The ID is 27 characters of A-Z a-z 0-9 - _, a part of the SHA-256 of the name and of the encoded arguments with the keys of all maps
// sorted. It is the same in every process and every version of chime. If the encoding of the arguments changes, because a field was added or
// renamed or fields were reordered, the ID changes too. Arguments of type []byte and json.RawMessage are used as [Encode] stores them. The method
// MarshalJSON of a type must write equal values equally.
func ArgsID() EnqueueOption {
	return enqueueOption(func(s *enqueueSettings) { s.id, s.own, s.argsID = "", true, true })
}

// Once does not add the job if another one with its ID was accepted with Once within the last d (1 s to 365 days), even if that one has ended. As with
// ID alone, it also does not add the job while another one with its ID exists. In both cases the [Receipt] has Existing. Once needs ID or ArgsID.
//
// Both calls need Once: it neither prevents a later call without it, nor is it prevented by a job that was enqueued without it and has ended. A job
// prevents others for its own d, measured by the store's clock; a call with a shorter d shortens what is left of it to its own d, so a clock that
// was wrong for a moment prevents nothing for longer. [Jobs.Cancel] of a job that has not ended frees its ID immediately. [Jobs.Delete]
// does so too, even for the ID of a job that has ended. For an ID whose call has failed with an unknown outcome see [ID]. Each such ID takes about
// 100 bytes of Redis until d is over.
func Once(d time.Duration) EnqueueOption {
	return enqueueOption(func(s *enqueueSettings) {
		s.once = d
		if d < time.Second || d > schedule.MaxTimeout {
			s.refuse(protocol.Invalid("once", d.String(), "1s to "+schedule.MaxTimeout.String()))
		}
	})
}

// Replace replaces an existing job with the same ID, so that the newest arguments and options count. It needs ID or ArgsID.
// The effect depends on the existing job:
//   - delayed or retrying: it is removed, and the new job is due at its own In or At. So with In(d) each call postpones the job: a debounce.
//   - waiting: the new job gets its place in the queue; In and At are ignored.
//   - parked or dead: it is removed, and the new job starts with its first attempt.
//   - running, or taken ahead: it continues. When it ends, with any result, the new job follows, not before its In or At. If several would
//     follow, only the newest does. If a new job is to follow, the running job is not retried when it fails; and if it becomes dead, it is
//     not kept and its OnDeath is ignored.
//   - running and cancelled: it continues, and the new job is not added: the [Receipt] has Existing. [Jobs.Cancel] also drops a job that
//     was to follow.
//
// If no job with the ID exists, the new job is added, or refused with [ErrGroupFull] as without Replace. If [Once] is given too, and still bars
// the ID, only a delayed, retrying, waiting or parked job is replaced.
//
// Each such job is sent to the store separately, in two round trips; in EnqueueMany after all others. The Redis user needs the rights of a
// worker or of a scheduler (docs/access.md).
func Replace() EnqueueOption {
	return enqueueOption(func(s *enqueueSettings) { s.replace = true })
}

// InBatch makes the job a member of the batch of which another job is a member: the one whose handler calls Enqueue. So a batch grows while it runs. The
// member that is running has not ended, so the batch does not end before the new job is a member. An item whose ID exists is not added, and becomes no member.
//
// job is the one that the handler has received. It is refused if it belongs to no batch, as the jobs Done and Ended of a batch. If the batch has ended
// meanwhile, was cancelled or is unknown, the error is an *InvalidError that wraps ErrConflict or ErrNotFound. That happens only if the worker has lost its session.
//
// A handler that fails after it has enqueued members enqueues them again in its next attempt: give them an [ID]. Each call makes three round trips, and
// EnqueueMany makes them once for each batch, queue and 500 items.
func InBatch(job *Job) EnqueueOption {
	return batchOption{ownOption{name: "InBatch", enqueueOption: func(s *enqueueSettings) {
		switch {
		case job == nil:
			s.refuse(protocol.Because(protocol.Invalid("InBatch", "", "the job of a handler, a member of a batch"), "is nil"))
		case job.Batch == "" && job.BatchInfo != nil:
			s.refuse(protocol.Because(protocol.Invalid("InBatch", job.ID, "a member of a batch that runs"), "was added at the end of its batch"))
		case job.Batch == "":
			s.refuse(protocol.Because(protocol.Invalid("InBatch", job.ID, "a member of a batch"), "belongs to no batch"))
		default:
			s.inBatch = job.Batch
		}
	}}}
}

// SameBatch makes a job that follows another one, with [OnDone] or [OnDeath], a member of the batch to which that job belongs. It is a member from the end of the
// job before it on, so the batch does not end between them. It has no effect if the job before it belongs to no batch. It is an option of the items of OnDone
// and OnDeath only.
func SameBatch() EnqueueOption {
	return batchOption{ownOption{name: "SameBatch", enqueueOption: func(s *enqueueSettings) { s.sameBatch = true }}}
}

// In delays the job by d, at most 100 years; 0 or less means now. The store's clock measures it, so the caller's clock may be wrong.
// If In and At are repeated, the last one counts.
func In(d time.Duration) EnqueueOption {
	return enqueueOption(func(s *enqueueSettings) {
		s.in, s.at, s.timed = max(d, 0), time.Time{}, true
		if d > protocol.MaxDelay {
			s.refuse(protocol.Invalid("in", d.String(), "at most 100 years"))
		}
	})
}

// At delays the job until an instant, at most 100 years from now, rounded up to milliseconds. An instant in the past means now. An instant
// more than 100 years ago, such as the zero time, is refused as a mistake.
func At(t time.Time) EnqueueOption {
	return ownOption{name: "At", enqueueOption: func(s *enqueueSettings) {
		s.at, s.in, s.timed = t, 0, true
		if d := time.Until(t); d > protocol.MaxDelay || d < -protocol.MaxDelay {
			s.refuse(protocol.Invalid("at", t.UTC().Format(time.RFC3339), "at most 100 years from now or ago"))
		}
	}}
}

// Expire ends the job if it has not begun within d (1 ms to 365 days) after it was accepted; with [In] or [At], after it is due, if that is
// later. Such a job has had no attempt, is not dead, and is not kept. It ends as expired: [Jobs.Wait] and the result of [Keep] show this, and its
// [OnDeath] job is added. Once the first attempt has begun, Expire has no effect: the job may fail, snooze and be retried as usual.
//
// The store's clock measures d. The job ends when a worker takes it: while its queue is paused, or no worker serves it, it continues to wait.
// [Jobs.Requeue] of a delayed or parked job removes its Expire; Replace sets it again. As a default of a kind, Expire applies to enqueued jobs
// only; for occurrences of schedules use [MisfireSkip] and [Grace]. Versions of chime without Expire do not run such a job: they
// park it for a worker that knows it.
func Expire(d time.Duration) EnqueueOption {
	return enqueueOption(func(s *enqueueSettings) {
		s.expire = d
		if d < time.Millisecond || d > schedule.MaxTimeout {
			s.refuse(protocol.Invalid("expire", d.String(), "1ms to "+schedule.MaxTimeout.String()))
		}
	})
}

// A TriggerOption changes one manual run of a schedule, see [Schedules.Trigger]: Args, and every EnqueueOption; Queue is refused.
type TriggerOption interface{ trigger(*triggerSettings) }

// An ArgsOption is both a ScheduleOption and a TriggerOption. The only one is Args.
type ArgsOption interface {
	ScheduleOption
	TriggerOption
}

// triggerSettings are the options of one manual run.
type triggerSettings struct {
	enqueueSettings
	args  any
	other bool // args were given
}

// queueOption is jobOption for Queue: a manual run uses its schedule's queue.
type queueOption struct{ jobOption }

func (o queueOption) trigger(s *triggerSettings) {
	s.refuse(protocol.Invalid("option of Trigger", "Queue", "Args, or an option of one job: a manual run goes to its schedule's queue"))
}

// idOption is ownOption for ID: the ID of a manual run is checked when its schedule is known.
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
