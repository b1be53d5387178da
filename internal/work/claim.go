package work

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/chimejobs/chime/internal/observe"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/wire"
)

// A claim is a job as the store has given it to this worker. It can build every settlement in which the job may end. Once the job was admitted
// the claim does not change, so a slot and the processor may both read it.
type claim struct {
	config  *Config
	id      string
	fence   int64
	ahead   bool      // the job was taken ahead
	queue   string    // the queue or list from which it was taken
	parked  time.Time // when it was first parked; zero: never
	suspect bool      // enough workers have vanished with it that this worker takes no other such job meanwhile
	clock   *storeClock
	new     bool // an occurrence that is taken for the first time
	bodied  bool // it came with an envelope of its own
	message wire.Envelope

	schedule string // the job is an occurrence of this schedule; empty: an ordinary job
	cancels  bool   // the schedule's overlap policy is cancel

	partition int // of the queue

	handler *Handler
	timeout time.Duration
	crashes int     // how many workers have vanished while they ran it
	output  *Output // nil: it has not begun

	vanished bool // a worker has vanished that may have run it
	ordered  bool // its group runs its jobs in order
	last     bool // the limit of its group allows no other job until one of the group has ended
}

// maxUnreadable is the maximum number of bytes of an unreadable body that the dead job keeps.
const maxUnreadable = 64 << 10

// follows reports whether the job is an occurrence that did not begin when it was placed: it waited for another one, it was backfilled, or it is
// retried. Then more occurrences may wait for its end.
func (c *claim) follows() bool { return c.schedule != "" && !c.new }

// open reads the job's envelope, or the definition of an occurrence's schedule, and then returns its plan. After an error that wraps
// wire.ErrNewerVersion, schedule.ErrNotHere or protocol.ErrSealed another worker may be able to run the job; every other error is permanent.
func (c *claim) open(taken *protocol.TakenJob, names map[string]string, plans *schedule.Plans) (p *schedule.Plan, err error) {
	name, planned, err := schedule.SplitOccurrence(taken.ID)
	c.schedule, c.bodied = name, len(taken.Body) > 0
	c.message = wire.Envelope{Name: wire.NoName, Schedule: name, Planned: planned}
	if err != nil {
		return nil, err
	}
	switch {
	case len(taken.Body) > 0:
		err := c.message.Decode(taken.Body, names)
		if err != nil && !errors.Is(err, wire.ErrNewerVersion) {
			c.message = wire.Envelope{Name: wire.NoName, Schedule: name, Planned: planned, Payload: taken.Body[:min(len(taken.Body), maxUnreadable)]}
			return nil, fmt.Errorf("its body cannot be read: %w", err)
		}
		if err == nil {
			err = errors.Join(refusal(taken, c.message.Sealed), c.checkFollowers())
		}
		return nil, err
	case len(taken.Definition) > 0:
		p, err := plans.Of(name, taken.Definition)
		if err != nil {
			c.message.Name = schedule.JobNameOf(taken.Definition)
			return nil, err
		}
		c.message = p.Job(name, planned)
		c.cancels = p.Overlap == schedule.OverlapCancel
		return p, errors.Join(refusal(taken, p.Sealed), c.checkFollowers())
	}
	return nil, errors.New("its body is gone from the store")
}

// refusal returns why this program does not run a job although it can read its name: it cannot open its arguments, or refuses them. sealed are the
// arguments that are still sealed.
func refusal(taken *protocol.TakenJob, sealed []byte) error {
	switch {
	case taken.Refused != nil:
		return taken.Refused
	case sealed != nil:
		return protocol.SealedBy(sealed)
	}
	return nil
}

// checkFollowers returns an error that wraps wire.ErrNewerVersion if a newer version of chime wrote a job that is to follow this one: then this worker
// could only end the job without it.
func (c *claim) checkFollowers() error {
	if _, err := c.message.Details.Followers(); errors.Is(err, wire.ErrNewerVersion) {
		return fmt.Errorf("a job that follows it: %w", err)
	}
	return nil
}

// handleBy sets the handler of the job, and so how long an attempt may take. If the handler gets several jobs, the job gathers, so it was taken ahead.
func (c *claim) handleBy(handler *Handler) {
	c.handler, c.ahead = handler, c.ahead || handler.Many != nil
	c.timeout = cmp.Or(c.message.Timeout, handler.Timeout, c.config.Timeout)
}

// gathers reports whether the job may share a call with others. Jobs do not that may harm the others, and those that have no other attempt left: if the
// call fails as a whole, they would be dead.
func (c *claim) gathers() bool {
	many, details := c.handler.Many, c.message.Details
	switch {
	case many == nil, c.crashes > 0, c.vanished, c.suspect, c.ordered, len(c.message.Payload) > many.Bytes:
		return false
	case many.Together:
		return true
	}
	return (details == nil || !details.Alone) && c.message.Failures+1 < c.maxAttempts()
}

// fill sets the job as its handler receives it, with a copy of the payload: if the handler changes the copy, a retry still has the original.
func (c *claim) fill(job *Job) {
	*job = Job{
		ID: c.id, Name: c.message.Name, Queue: c.queue, Schedule: cmp.Or(c.schedule, c.message.Schedule), Origin: c.origin(), Planned: c.message.Planned,
		Attempt: c.message.Failures + 1, MaxAttempts: c.maxAttempts(), Crashes: c.crashes, Fence: c.fence,
		Timeout: c.timeout, LastError: c.message.LastError, Payload: bytes.Clone(c.message.Payload), Output: c.output,
		Worker: c.config.worker, Partition: c.partition,
	}
	if d := c.message.Details; d != nil {
		job.Header, job.Offset = maps.Clone(d.Header), d.Offset // an occurrence's header is its schedule's
		job.Group, job.Death, job.Prior, job.Batch, job.BatchEnd = d.Group, d.Death, d.Prior, d.Batch, d.BatchEnd
	}
}

// retry returns the job's own policy; zero: it has none.
func (c *claim) retry() wire.Retry {
	if c.message.Details == nil {
		return wire.Retry{}
	}
	return c.message.Details.Retry
}

// maxAttempts returns the number of the job; else of its handler; else of the worker.
func (c *claim) maxAttempts() int {
	last := c.config.MaxAttempts
	if c.schedule != "" || c.manual() {
		last = c.config.OccurrenceAttempts
	}
	return cmp.Or(c.message.MaxAttempts, c.handler.MaxAttempts, last)
}

// manual reports whether the job is a manual run of a schedule. A job that follows another one also names the schedule, and is not a manual run.
func (c *claim) manual() bool {
	return c.schedule == "" && c.message.Schedule != "" && !c.message.Follows()
}

func (c *claim) begunJob() protocol.BegunJob { return protocol.BegunJob{ID: c.id, Fence: c.fence} }

// done settles an ordinary job that has succeeded.
func (c *claim) done() protocol.Settlement {
	return protocol.Settlement{ID: c.id, Fence: c.fence, Kind: protocol.SettleDone, Batch: c.message.Details.MemberOf()}
}

// park parks the job under a name, for a worker that can run it.
func (c *claim) park(under string) protocol.Settlement {
	return protocol.Settlement{ID: c.id, Fence: c.fence, Kind: protocol.SettlePark, Name: under, ParkedAt: c.parked, Batch: c.message.Details.MemberOf()}
}

// missed drops an occurrence that was taken too late.
func (c *claim) missed(now time.Time) protocol.Settlement {
	return protocol.Settlement{ID: c.id, Fence: c.fence, Kind: protocol.SettleMissed, Run: c.run(runMissed, now, now)}
}

// replan drops an occurrence that was planned with time zone data that have changed since. Its schedule has the local time of the occurrence at the
// later instant named to. The same step makes the schedule owed again from before the occurrence on, so any process may place it.
func (c *claim) replan(to, now time.Time) protocol.Settlement {
	c.config.Log.Warn("chime: an occurrence was planned with other time zone data: it runs later", "event", "schedule.replanned",
		"schedule", c.schedule, "queue", c.queue, "planned", c.message.Planned, "after", to)
	s := protocol.Settlement{ID: c.id, Fence: c.fence, Kind: protocol.SettleReplan, Back: schedule.Back(c.message.Planned, to), Run: c.run(runMissed, now, now)}
	s.Run.Error = "planned with other time zone data: it runs at " + to.Format(time.RFC3339)
	return s
}

// expired reports whether the job's time was over at an instant of the store's clock, before the job has ever begun. A worker that vanished
// with the job had begun it.
func (c *claim) expired(now time.Time) bool {
	return !c.message.Expires.IsZero() && c.crashes == 0 && !now.Before(c.message.Expires)
}

// expire ends a job whose time was over before it began, and logs it.
func (c *claim) expire(now time.Time) protocol.Settlement {
	c.config.Log.Info("chime: a job expired before it began", "event", "job.expired", "job", c.message.Name, "id", c.id, "queue", c.queue)
	message := c.message
	message.LastError, message.Expires = "expired: it had not begun by "+c.message.Expires.UTC().Format(time.RFC3339Nano), time.Time{}
	s := protocol.Settlement{ID: c.id, Fence: c.fence, Kind: protocol.SettleExpired, Unbegun: true, Batch: c.message.Details.MemberOf()}
	if c.recorded() {
		s.Run = c.run(runExpired, now, now)
	}
	c.attach(&s, &message, time.Time{}, now)
	return s
}

// cancel ends a cancelled job and logs it. The handler's result does not matter.
func (c *claim) cancel(began, now time.Time) protocol.Settlement {
	text, begun := "chime: a cancelled job has ended", began
	if began.IsZero() {
		text, began = "chime: a cancelled job does not begin", now
	}
	c.config.Log.Info(text, "event", "job.cancelled", "job", c.message.Name, "id", c.id, "queue", c.queue, "took_ms", now.Sub(began).Milliseconds())
	s := protocol.Settlement{ID: c.id, Fence: c.fence, Kind: protocol.SettleCancelled, Batch: c.message.Details.MemberOf()}
	if c.recorded() {
		s.Run = c.run(runCancelled, began, now)
		if !begun.IsZero() {
			c.describeRun(s.Run, nil)
		}
	}
	c.attach(&s, &c.message, begun, now)
	return s
}

// kill ends a job that no worker can run or that has crashed too often, and logs it.
func (c *claim) kill(reason string, now time.Time) protocol.Settlement {
	c.config.Log.Error("chime: job is dead", "event", "job.dead", "job", c.message.Name, "id", c.id, "queue", c.queue, "reason", reason)
	message := c.message
	message.Expires = time.Time{}
	c.noteFailure(&message, Outcome{Err: errors.New(reason)}, now)
	s := protocol.Settlement{ID: c.id, Fence: c.fence, Kind: protocol.SettleDead, Body: message.Encode(), Failed: true, Unbegun: true, Batch: c.message.Details.MemberOf()}
	if c.recorded() {
		s.Run = c.run(runDead, now, now)
		c.describeRun(s.Run, errors.New(reason))
	}
	c.attach(&s, &message, time.Time{}, now)
	return s
}

// settle ends an attempt with an outcome: the job is removed, due again later, or dead. A failure is logged.
func (c *claim) settle(outcome Outcome, began, now time.Time) protocol.Settlement {
	s := protocol.Settlement{ID: c.id, Fence: c.fence, Kind: protocol.SettleDone, Batch: c.message.Details.MemberOf()}
	word, message := runDone, c.message
	message.Expires = time.Time{} // it has begun
	switch outcome.Action {
	case Succeeded:
	case Snoozed:
		c.dueAgain(&message, outcome.Delay, now)
		s.Kind, s.Delay, s.Body, word = protocol.SettleLater, outcome.Delay, message.Encode(), runSnoozed
	default:
		message.Failures++
		c.noteFailure(&message, outcome, now)
		s.Failed = true
		if outcome.Action == Discarded || message.Failures >= c.maxAttempts() {
			s.Kind, word = protocol.SettleDead, runDead
		} else {
			s.Kind, s.Delay, word = protocol.SettleLater, outcome.Delay, runFailed
			if !outcome.Delayed {
				s.Delay = c.handler.delay(c.retry(), message.Failures, c.config.Log)
			}
			c.dueAgain(&message, s.Delay, now)
		}
		s.Body = message.Encode()
		c.logFailure(&s, message.Failures, outcome.Err)
	}
	if c.recorded() {
		s.Run = c.run(word, began, now)
		if s.Failed {
			c.describeRun(s.Run, outcome.Err)
		} else {
			c.describeRun(s.Run, nil)
		}
	}
	c.attach(&s, &message, began, now)
	return s
}

// attach adds to a settlement what few of them have: the job that follows, the result to keep, and the note that progress was reported.
// message is the envelope after the settlement; began is zero if the job did not begin here.
func (c *claim) attach(s *protocol.Settlement, message *wire.Envelope, began, now time.Time) {
	s.Reported = c.output.reported()
	details := c.message.Details
	if details == nil {
		return
	}
	s.Follower = c.follower(s.Kind, message, began, now)
	if details.Keep > 0 {
		s.Result = &protocol.Result{Keep: details.Keep, Body: c.result(message, began, now).Encode()}
	}
}

// follower returns the job that follows the end of this one; message is the job's envelope after its end. Nil: nothing follows, or the job that
// follows cannot be read, which is logged.
func (c *claim) follower(kind protocol.SettleKind, message *wire.Envelope, began, now time.Time) (f *protocol.Follower) {
	var err error
	schedule := cmp.Or(c.schedule, message.Schedule)
	switch details := c.message.Details; {
	case kind == protocol.SettleDone && len(details.OnDone) > 0:
		f, err = wire.FollowDone(message, wire.Prior{Queue: c.queue, ID: c.id, Crashes: c.crashes}, c.result(message, began, now), schedule)
	case (kind == protocol.SettleDead || kind == protocol.SettleExpired) && len(details.OnDeath) > 0:
		f, err = wire.FollowDeath(message, wire.Death{Queue: c.queue, ID: c.id, Crashes: c.crashes, Ended: c.clock.at(now)}, schedule)
	}
	if err != nil {
		c.config.Log.Error("chime: the job that follows the end of another one cannot be read", "event", "job.unfollowed", "job", c.message.Name, "id", c.id,
			"queue", c.queue, "error", err)
	}
	return f
}

// result returns the result of the job, which is kept or passed to the job that follows.
func (c *claim) result(message *wire.Envelope, began, now time.Time) *wire.Result {
	r := &wire.Result{
		Name: message.Name, Schedule: cmp.Or(c.schedule, message.Schedule), Planned: message.Planned, Ended: c.clock.at(now),
		Attempt: c.message.Failures + 1, Worker: c.config.worker,
	}
	if !began.IsZero() {
		r.Started = c.clock.at(began)
	}
	if message.Failures > c.message.Failures || began.IsZero() && message.LastError != c.message.LastError {
		r.Error = message.LastError
	}
	r.Value, _, r.Note = c.output.Said()
	return r
}

// special reports whether the job's success needs more than its removal.
func (c *claim) special() bool {
	details := c.message.Details
	return c.recorded() || c.output.reported() || details != nil && (details.Keep > 0 || len(details.OnDone) > 0)
}

// recorded reports whether a schedule's history contains the attempts of the job: an occurrence, a manual run, or the job that follows one.
func (c *claim) recorded() bool { return c.schedule != "" || c.message.Schedule != "" }

// run returns the entry of an attempt in the history of its schedule.
func (c *claim) run(outcome string, began, ended time.Time) *protocol.RunRecord {
	return &protocol.RunRecord{
		Schedule: cmp.Or(c.schedule, c.message.Schedule),
		Planned:  c.message.Planned,
		Started:  c.clock.at(began),
		Ended:    c.clock.at(ended),
		Outcome:  outcome,
		Fence:    c.fence,
		Worker:   c.config.worker,
	}
}

// describeRun adds details to the entry of an attempt in its schedule's history.
func (c *claim) describeRun(run *protocol.RunRecord, err error) {
	run.Attempt = c.message.Failures + 1
	run.Backfilled = c.origin() == observe.Backfill
	_, _, run.Note = c.output.Said()
	if err != nil {
		run.Error = wire.PrintableLines(fmt.Sprint(err), protocol.MaxRunError)
	}
}

// noteFailure adds to an envelope how, when and in which worker an attempt failed, and where if it was a panic. The last few failures are kept,
// so that a dead job shows what led to its death.
func (c *claim) noteFailure(message *wire.Envelope, outcome Outcome, now time.Time) {
	message.LastError = fmt.Sprint(outcome.Err) // fmt recovers if the Error method panics
	message.Stack = string(c.config.StackOf(outcome.Err))
	var details wire.Details
	if message.Details != nil {
		details = *message.Details // the claim's own do not change
	}
	details.Due, details.Alone = time.Time{}, details.Alone || outcome.Alone
	details.AddFailure(wire.Failure{At: c.clock.at(now), Worker: c.config.worker, Error: message.LastError})
	message.Details = &details
}

// dueAgain sets in an envelope when the job is due again.
func (c *claim) dueAgain(message *wire.Envelope, delay time.Duration, now time.Time) {
	var details wire.Details
	if message.Details != nil {
		details = *message.Details // the claim's own do not change
	}
	details.Due = c.clock.at(now).Add(delay)
	message.Details = &details
}

// waitsSince returns when the job was due or enqueued. Zero: not known, as after a crash or for a parked job.
func (c *claim) waitsSince() time.Time {
	details := c.message.Details
	switch {
	case c.crashes > 0, !c.parked.IsZero():
		return time.Time{}
	case details != nil && c.message.Failures == 0 && len(details.Failures) > 0: // it was dead
		return time.Time{}
	case details != nil && !details.Due.IsZero():
		return details.Due
	case c.message.Follows():
		return details.Enqueued.Add(details.In)
	case c.message.Failures > 0, c.schedule != "" && !c.new:
		return time.Time{}
	case details != nil:
		return c.message.Planned.Add(details.Offset)
	}
	return c.message.Planned
}

// first reports whether no attempt has begun before, as far as the job's data show.
func (c *claim) first() bool {
	if c.schedule != "" && !c.bodied {
		return c.new
	}
	details := c.message.Details
	return c.crashes == 0 && c.message.Failures == 0 && (details == nil || details.Due.IsZero() && len(details.Failures) == 0)
}

// origin returns what created the job, if it is a schedule's. Of the occurrences only backfilled ones have been enqueued, and their bodies
// contain the instant: a schedule's own occurrences are placed.
func (c *claim) origin() string {
	switch {
	case c.schedule != "" && c.message.Details != nil && !c.message.Details.Enqueued.IsZero():
		return observe.Backfill
	case c.schedule != "":
		return observe.Occurrence
	case c.message.Schedule == "":
		return ""
	case c.manual():
		return observe.Manual
	}
	if details := c.message.Details; details.Death == nil {
		return observe.Done
	}
	return observe.Death
}

// maxLogged is the maximum number of bytes of a handler's error in a log line. The error may contain a server's answer, which can be arbitrarily
// long.
const maxLogged = 2 << 10

// logFailure logs a failed attempt, without the job's payload.
func (c *claim) logFailure(s *protocol.Settlement, attempt int, err error) {
	level, text, event := slog.LevelWarn, "chime: job failed, will be retried", "job.retrying"
	if s.Kind == protocol.SettleDead {
		level, text, event = slog.LevelError, "chime: job is dead", "job.dead"
	}
	c.config.Log.Log(context.Background(), level, text, "event", event, "job", c.message.Name, "id", c.id, "queue", c.queue,
		"attempt", attempt, "max_attempts", c.maxAttempts(), "after_ms", s.Delay.Milliseconds(),
		"error", c.config.logged(err))
}
